//! Parses the content of a message.

use serde_json::Value;
use serde_json::value::RawValue;

use super::{DeadLetter, Delivery};
use crate::create::spec::{self, InvalidTask, Origin};
use crate::create::{BYTE_ORDER_MARK, CreateSettings, MAX_TASKS};
use crate::task::{NewTask, TaskId};
use crate::time::Millis;

/// Maximum length of a reason in the dead-letter queue, in bytes. Such a reason fits into a message
/// with any body except the largest, and is short enough for an operator to read.
const MAX_REASON_BYTES: usize = 1_024;

/// The content of a message. Every element is in exactly one of the two lists.
#[derive(Debug, Default)]
pub(super) struct Contents<'a> {
    /// The valid tasks, including expired ones, each with its place in the message.
    pub(super) tasks: Vec<(Element<'a>, NewTask)>,
    pub(super) wrong: Vec<Wrong<'a>>,
}

/// A part of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Element<'a> {
    /// Index in the message's array; `None` for the whole body.
    pub(super) index: Option<usize>,
    /// Original text of the element or body.
    pub(super) text: &'a str,
}

#[derive(Debug, PartialEq)]
pub(super) struct Wrong<'a> {
    pub(super) element: Element<'a>,
    pub(super) reason: String,
}

#[derive(Debug, thiserror::Error)]
enum NoTask {
    #[error("the body is not valid JSON: {0}; send one task or an array of tasks")]
    NoJson(serde_json::Error),
    #[error("the array has {0} tasks; send at most {MAX_TASKS} in one message")]
    TooMany(usize),
    #[error(
        "the body is an Amazon SNS notification envelope; enable raw message delivery for the subscription"
    )]
    Envelope,
    #[error(transparent)]
    Task(#[from] InvalidTask),
}

/// Parses a message's tasks. An invalid element does not affect the others.
pub(super) fn read<'a>(
    delivery: &'a Delivery,
    settings: &CreateSettings,
    now: Millis,
) -> Contents<'a> {
    let body = delivery.body.as_str();
    let origin = |place| Origin {
        sent: delivery.sent,
        now,
        group: delivery.group.as_deref(),
        request: &delivery.id,
        place,
    };
    let mut contents = Contents::default();
    let json = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body);
    if !json.trim_ascii_start().starts_with('[') {
        let id = || TaskId::from_stored(delivery.id.as_str());
        contents.add(task(json, settings, origin(0), id), None, body);
        return contents;
    }
    match serde_json::from_str::<Vec<&RawValue>>(json) {
        Err(error) => contents.add(Err(NoTask::NoJson(error)), None, body),
        Ok(elements) if elements.len() > MAX_TASKS => {
            contents.add(Err(NoTask::TooMany(elements.len())), None, body);
        }
        Ok(elements) => {
            for (index, element) in elements.into_iter().enumerate() {
                let id = || TaskId::from_stored(format!("{}#{index}", delivery.id));
                let read = task(element.get(), settings, origin(index), id);
                contents.add(read, Some(index), element.get());
            }
        }
    }
    contents
}

fn task(
    text: &str,
    settings: &CreateSettings,
    origin: Origin<'_>,
    id: impl FnOnce() -> TaskId,
) -> Result<NewTask, NoTask> {
    spec::parse(text, settings, origin, id).map_err(|error| match error {
        InvalidTask::Json(error) => NoTask::NoJson(error),
        // The most likely invalid body is an SNS envelope, sent without raw message delivery.
        InvalidTask::UnknownField(_) if is_envelope(text) => NoTask::Envelope,
        error => error.into(),
    })
}

fn is_envelope(text: &str) -> bool {
    let fields: Value = serde_json::from_str(text).unwrap_or_default();
    fields.get("TopicArn").is_some() && fields.get("Message").is_some()
}

impl<'a> Contents<'a> {
    fn add(&mut self, read: Result<NewTask, NoTask>, index: Option<usize>, text: &'a str) {
        let element = Element { index, text };
        match read {
            Ok(task) => self.tasks.push((element, task)),
            Err(error) => self.wrong.push(Wrong {
                element,
                reason: error.to_string(),
            }),
        }
    }
}

/// Returns the single dead-letter message for all invalid parts of a message.
pub(super) fn dead_letter(delivery: &Delivery, wrong: &[Wrong<'_>]) -> DeadLetter {
    let (body, mut reason) = match wrong {
        [whole] if whole.element.index.is_none() => {
            (whole.element.text.to_owned(), whole.reason.clone())
        }
        _ => {
            let texts: Vec<_> = wrong.iter().map(|one| one.element.text).collect();
            (format!("[{}]", texts.join(",")), reasons(wrong))
        }
    };
    // A message attribute must not contain control characters.
    reason.retain(|c| !c.is_control());
    DeadLetter {
        message_id: delivery.id.clone(),
        group: delivery.group.clone(),
        body,
        reason: shorten(reason),
    }
}

fn reasons(wrong: &[Wrong<'_>]) -> String {
    let mut text = String::new();
    for one in wrong {
        if !text.is_empty() {
            text.push_str("; ");
        }
        if let Some(index) = one.element.index {
            text.push_str(&format!("element {index}: "));
        }
        text.push_str(&one.reason);
        if text.len() > MAX_REASON_BYTES {
            break;
        }
    }
    text
}

/// Truncates a long reason at a character boundary and appends `…`.
fn shorten(mut reason: String) -> String {
    if reason.len() > MAX_REASON_BYTES {
        let end = (0..=MAX_REASON_BYTES - 3).rfind(|end| reason.is_char_boundary(*end));
        reason.truncate(end.unwrap_or_default());
        reason.push('…');
    }
    reason
}

#[cfg(test)]
mod tests;
