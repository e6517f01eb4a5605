//! Converts each shed task to a message and groups messages into batches.

use aws::batch::{self, MAX_BYTES};
use aws_sdk_sqs::error::BuildError;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use serde_json::{Value, json};

use crate::shed::{ShedReason, ShedTask};

pub(super) struct Message<'a> {
    /// The task's index in the list to send.
    pub(super) index: usize,
    task: &'a ShedTask,
    body: String,
    has_payload: bool,
}

impl<'a> Message<'a> {
    /// A message with the payload, or without it if the message would be too large for SQS.
    fn new(index: usize, task: &'a ShedTask) -> Self {
        let whole = Self::with(index, task, true);
        if whole.bytes() <= MAX_BYTES {
            return whole;
        }
        Self::with(index, task, false)
    }

    fn with(index: usize, task: &'a ShedTask, payload: bool) -> Self {
        Self {
            index,
            task,
            body: body(task, payload),
            has_payload: payload && !task.payload.is_null(),
        }
    }

    /// Size in bytes, as SQS counts it.
    pub(super) fn bytes(&self) -> usize {
        self.body.len()
    }

    /// The message without its payload; `None` if it has no payload.
    pub(super) fn without_payload(self) -> Option<Self> {
        self.has_payload
            .then(|| Self::with(self.index, self.task, false))
    }

    pub(super) fn entry(&self, id: usize) -> Result<SendMessageBatchRequestEntry, BuildError> {
        SendMessageBatchRequestEntry::builder()
            .id(id.to_string())
            .message_body(&self.body)
            .build()
    }
}

/// The tasks as messages, in order, in batches within SQS's limits.
pub(super) fn batches(tasks: &[ShedTask]) -> impl Iterator<Item = Vec<Message<'_>>> {
    let messages = tasks.iter().enumerate();
    let messages = messages.map(|(index, task)| Message::new(index, task));
    batch::batches(messages, Message::bytes)
}

/// Returns the document that [`super`] describes.
///
/// SQS accepts only the characters of XML 1.0. Of the characters that JSON does not always escape,
/// it rejects U+FFFE and U+FFFF. These occur only in strings, where JSON allows escaping them.
fn body(task: &ShedTask, payload: bool) -> String {
    let mut document = json!({
        "taskId": task.task_id,
        "taskStatus": task.task_status,
        "taskCreated": task.task_created,
        "expiresAt": task.expires_at,
        "attempts": task.attempts,
        "totalAttempts": task.total_attempts,
        "lastError": task.last_error,
        "payload": if payload { &task.payload } else { &Value::Null },
        "payloadOmitted": !payload,
        "unreadable": task.unreadable,
    });
    if task.reason == ShedReason::NotAdmitted {
        document["reason"] = json!("not-admitted");
    }
    let text = document.to_string();
    text.replace('\u{fffe}', "\\ufffe")
        .replace('\u{ffff}', "\\uffff")
}
