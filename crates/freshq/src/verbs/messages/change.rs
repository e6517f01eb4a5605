//! Deletes a message, or resends it to the function or queue where it failed.

use std::time::Duration;

use lifo_queue::time::Millis;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::failure_queues;
use crate::deployed::{Deployed, Message, Resource, Stack};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::report::Report;

/// Period during which SQS drops a second message with the same deduplication id
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/using-messagededuplicationid-property.html>).
const DEDUPLICATION: Duration = Duration::from_secs(5 * 60);

/// The attribute in which a function explains why it rejected a message.
const REASON: &str = "reason";

/// The destination to which a message is resent.
pub(super) enum Target<'a> {
    /// The function whose invocation failed, and the event to send, as JSON text.
    Function(String, String),
    /// The queue from which SQS moved the message.
    Queue(&'a Resource),
}

/// The record of a failed asynchronous invocation
/// (<https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html>).
#[derive(Deserialize)]
struct FailedInvocation<'a> {
    #[serde(rename = "requestContext")]
    context: RequestContext,
    /// The text, because a parsed number may have other digits.
    #[serde(rename = "requestPayload", borrow)]
    event: &'a RawValue,
}

#[derive(Deserialize)]
struct RequestContext {
    #[serde(rename = "functionArn")]
    function: String,
}

/// The change made to a message.
#[derive(Debug)]
pub(super) struct Changed {
    id: String,
    /// The URL of the queue that contained the message; `None` if no queue did.
    queue: Option<String>,
    /// The function or the queue to which the message was resent.
    target: Option<String>,
}

/// Deletes the message with this id from the queue that contains it.
pub(super) async fn delete(deployed: &dyn Deployed, id: &str) -> Result<Changed> {
    let stack = deployed.stack().await?;
    let found = find(deployed, &stack, id).await?;
    if let Some((queue, message)) = &found {
        deployed.delete_message(&queue.id, message).await?;
    }
    Ok(Changed {
        id: id.to_owned(),
        queue: found.map(|(queue, _)| queue.id.clone()),
        target: None,
    })
}

/// Resends the message with this id, then deletes it. If the deletion fails, the message is in both
/// places.
pub(super) async fn retry(deployed: &dyn Deployed, id: &str, now: Millis) -> Result<Changed> {
    let stack = deployed.stack().await?;
    let mut changed = Changed {
        id: id.to_owned(),
        queue: None,
        target: None,
    };
    let Some((queue, message)) = find(deployed, &stack, id).await? else {
        return Ok(changed);
    };
    changed.target = Some(match target(&stack, queue, &message, now)? {
        Target::Function(name, event) => {
            deployed.invoke(&name, &event).await?;
            name
        }
        Target::Queue(source) => {
            deployed.send_message(&source.id, &message).await?;
            source.id.clone()
        }
    });
    deployed.delete_message(&queue.id, &message).await?;
    changed.queue = Some(queue.id.clone());
    Ok(changed)
}

async fn find<'a>(
    deployed: &dyn Deployed,
    stack: &'a Stack,
    id: &str,
) -> Result<Option<(&'a Resource, Message)>> {
    for queue in failure_queues(stack) {
        if let Some(message) = deployed.message(&queue.id, id).await? {
            return Ok(Some((queue, message)));
        }
    }
    Ok(None)
}

pub(super) fn target<'a>(
    stack: &'a Stack,
    queue: &Resource,
    message: &Message,
    now: Millis,
) -> Result<Target<'a>> {
    let fault = |fault: String| Failure::input(format!("message {}", message.id), fault);
    if let Some(reason) = message.attributes.get(REASON) {
        let fix = "send a corrected message, then delete this one with --delete";
        return Err(fault(format!(
            "it would be rejected again ({reason}): {fix}"
        )));
    }
    if let Some(source) = stack.source(&queue.logical) {
        let is_young = |sent| now.since(sent) < DEDUPLICATION;
        return match message.deduplication.is_some() && message.sent.is_some_and(is_young) {
            true => Err(fault(
                "it is younger than 5 minutes, and SQS would drop it as a duplicate: repeat the command later"
                    .to_owned(),
            )),
            false => Ok(Target::Queue(source)),
        };
    }
    match serde_json::from_str::<FailedInvocation<'_>>(&message.body) {
        Ok(failed) => {
            let event = failed.event.get().to_owned();
            Ok(Target::Function(failed.context.function, event))
        }
        Err(_) => Err(fault(
            "it is neither a failed invocation nor a message of a queue: the runbook, \"Messages in a failure queue\", says what to do"
                .to_owned(),
        )),
    }
}

impl Changed {
    pub(super) fn report(&self) -> Report {
        let exit = match self.queue {
            Some(_) => Exit::Done,
            None => Exit::NotAll,
        };
        let id = &self.id;
        let text = match (&self.queue, &self.target) {
            (None, _) => format!(
                "no queue has the message {id}, or it is invisible: repeat the command after 20 s"
            ),
            (Some(queue), None) => format!("message {id} deleted from {queue}"),
            (Some(queue), Some(target)) => {
                format!("message {id} sent again to {target}, and deleted from {queue}")
            }
        };
        let json = json!({
            "deleted": self.queue.is_some(),
            "messageId": id,
            "queue": self.queue,
            "sentTo": self.target,
        });
        Report::new(exit, text, json)
    }
}
