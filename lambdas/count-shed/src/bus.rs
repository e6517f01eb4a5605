//! Publishes events of finished tasks to an Amazon EventBridge bus, one event per task.
//! `docs/how-to/task-events.md` describes the fields of an event.

use aws::{batch, error_chain};
use aws_sdk_eventbridge::Client;
use aws_sdk_eventbridge::operation::put_events::PutEventsOutput;
use aws_sdk_eventbridge::types::PutEventsRequestEntry;
use backon::BackoffBuilder;
use lifo_queue::ended::EndedTask;
use lifo_queue::task::TaskStatus;
use serde::Serialize;

const SOURCE: &str = "freshq";

/// Maximum number of events per PutEvents request. Each event is at most about 20 KB, so a full
/// request stays below the limit of 256 KB
/// (<https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html>).
const MAX_ENTRIES: usize = 10;

pub(crate) struct Bus {
    client: Client,
    arn: String,
    queue: String,
}

#[derive(Serialize)]
struct Detail<'a> {
    queue: &'a str,
    #[serde(flatten)]
    task: &'a EndedTask,
}

#[derive(Debug, thiserror::Error)]
enum NotPublished {
    #[error("the event is not JSON")]
    Detail(#[from] serde_json::Error),
    #[error("EventBridge did not accept the request")]
    Call(#[source] Box<aws_sdk_eventbridge::Error>),
    #[error("EventBridge rejected the event: {0}")]
    Entry(String),
}

impl Bus {
    pub(crate) fn new(client: Client, arn: String, queue: String) -> Self {
        Self { client, arn, queue }
    }

    /// Publishes one event per task, in order, up to the first that the bus does not accept.
    /// Returns the number of published events.
    ///
    /// The client retries failed requests. This function retries events that the bus rejected in a
    /// successful request.
    pub(crate) async fn publish(&self, tasks: &[EndedTask]) -> usize {
        let mut published = 0;
        let mut delays = batch::delays().build();
        while let Some(task) = tasks.get(published) {
            let rest = &tasks[published..];
            let (taken, error) = self.put(&rest[..rest.len().min(MAX_ENTRIES)]).await;
            published += taken;
            let Some(error) = error else { continue };
            let delay = delays
                .next()
                .filter(|_| matches!(error, NotPublished::Entry(_)));
            let Some(delay) = delay else {
                let (error, events) = (error_chain::chain(&error), tasks.len() - published);
                let task_id = tasks.get(published).unwrap_or(task).task_id.as_str();
                tracing::error!(task_id, error, events, "events not published");
                break;
            };
            tokio::time::sleep(delay).await;
        }
        published
    }

    /// Sends one request. Returns the number of events that the bus accepted before the first
    /// rejected one, and the error of the rejected event.
    async fn put(&self, tasks: &[EndedTask]) -> (usize, Option<NotPublished>) {
        let mut call = self.client.put_events();
        for task in tasks {
            match self.entry(task) {
                Ok(entry) => call = call.entries(entry),
                Err(error) => return (0, Some(error.into())),
            }
        }
        match call.send().await {
            Ok(output) => verdict(&output, tasks.len()),
            Err(error) => (0, Some(NotPublished::Call(Box::new(error.into())))),
        }
    }

    fn entry(&self, task: &EndedTask) -> Result<PutEventsRequestEntry, serde_json::Error> {
        let queue = &self.queue;
        let kind = match task.task_status {
            TaskStatus::Success => "Task Succeeded",
            _ => "Task Failed",
        };
        Ok(PutEventsRequestEntry::builder()
            .event_bus_name(&self.arn)
            .source(SOURCE)
            .detail_type(kind)
            .detail(serde_json::to_string(&Detail { queue, task })?)
            .build())
    }
}

/// Reads the response to a request. The response has one entry per event, in the order of the
/// request. An event without an entry was not accepted.
fn verdict(output: &PutEventsOutput, events: usize) -> (usize, Option<NotPublished>) {
    let entries = output.entries();
    let taken = entries
        .iter()
        .take_while(|entry| entry.event_id().is_some())
        .count();
    if taken >= events {
        return (events, None);
    }
    let code = entries.get(taken).and_then(|entry| entry.error_code());
    let message = entries.get(taken).and_then(|entry| entry.error_message());
    let reason = [
        code.unwrap_or("NoResult"),
        message.unwrap_or("no reason given"),
    ]
    .join(": ");
    (taken, Some(NotPublished::Entry(reason)))
}
