//! `freshq messages`: shows the messages that could not be delivered or processed, with reasons.
//! Deletes one message, or sends it again.

mod change;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use futures::{StreamExt, TryStreamExt, stream};
use lifo_queue::time::{Clock, Millis, SystemClock};
use serde_json::{Value, json};

use crate::account::Caller;
use crate::agents;
use crate::aws::{self, AwsArguments};
use crate::deployed::{Deployed, Kind, Message, Resource, Stack};
use crate::failure::Result;
use crate::queue::QueueArguments;
use crate::report::{Report, two_columns};
use crate::time_format::{exact, moment};

/// Maximum number of queues to read concurrently.
const READS_AT_ONCE: usize = 8;

/// Maximum number of characters of a body in the text output.
const BODY: usize = 500;

/// Shows up to 10 messages of each failure queue and dead-letter queue, with their reasons, oldest
/// first. The messages stay in their queues, except one that --delete or --retry names.
#[derive(Debug, Args)]
pub(crate) struct Messages {
    /// Shows those of the agents' queue of the environment instead, or of the one in --stack
    #[arg(long)]
    pub(crate) agents: bool,
    /// Deletes this message from its queue instead of showing messages
    #[arg(long, value_name = "MESSAGE_ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) delete: Option<String>,
    /// Resends this message to the function or queue where it failed, then deletes it
    #[arg(long, value_name = "MESSAGE_ID", conflicts_with = "delete", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) retry: Option<String>,
}

impl Messages {
    /// Reads the queues of the stack that the command line names.
    ///
    /// # Errors
    /// [`Failure`](crate::failure::Failure): no stack is named, or a service did not respond.
    pub(crate) async fn read(&self, queue: &QueueArguments, aws: &AwsArguments) -> Result<Report> {
        let of = agents::naming(self.agents);
        let (name, deployed) = queue.deployed(aws, of).await?;
        let now = SystemClock.now();
        let changed = match (&self.delete, &self.retry) {
            (Some(id), _) => change::delete(&deployed, id).await?,
            (None, Some(id)) => change::retry(&deployed, id, now).await?,
            (None, None) => return received(name, &deployed, now).await,
        };
        let caller = Caller::new(&aws::sdk_config(aws).await?);
        Ok(changed.report().of_change(&name, caller.account().await))
    }
}

/// Returns the queues that receive failed events and messages.
fn failure_queues(stack: &Stack) -> Vec<&Resource> {
    let takes =
        |queue: &&Resource| queue.kind == Kind::Queue && stack.takes_failures(&queue.logical);
    stack.resources.iter().filter(takes).collect()
}

async fn received(name: String, deployed: &dyn Deployed, now: Millis) -> Result<Report> {
    let stack = deployed.stack().await?;
    let queues = failure_queues(&stack).into_iter();
    let reads: Vec<_> = queues.map(|queue| one(deployed, &queue.id)).collect();
    let queues = stream::iter(reads).buffered(READS_AT_ONCE).try_collect();
    let queues = queues.await?;
    let received = Received { name, now, queues };
    Ok(Report::done(received.text(), received.json()))
}

async fn one(deployed: &dyn Deployed, url: &str) -> Result<(String, Vec<Message>)> {
    let mut messages = deployed.messages(url).await?;
    messages.sort_by_key(|message| message.sent);
    Ok((url.to_owned(), messages))
}

/// The received messages per queue, by queue URL.
#[derive(Debug)]
struct Received {
    name: String,
    now: Millis,
    queues: Vec<(String, Vec<Message>)>,
}

impl Received {
    fn lines(&self, url: &str, messages: &[Message]) -> String {
        let count = match messages.len() {
            most if most >= Message::MOST as usize => format!("{most} or more"),
            count => count.to_string(),
        };
        let mut text = format!("{url}\nmessages: {count}");
        for message in messages {
            text += &format!("\n\n{}", two_columns(self.rows(message)));
        }
        text
    }

    fn rows(&self, message: &Message) -> Vec<(String, String)> {
        let sent = message.sent;
        let sent = sent.map_or("-".to_owned(), |at| moment(at, self.now));
        let row = |name: &str, value: String| (name.to_owned(), value);
        let mut rows = vec![row("sent", sent), row("id", message.id.clone())];
        rows.extend(message.attributes.clone());
        rows.extend(message.causes());
        let mut shown: String = message.body.chars().take(BODY).collect();
        if shown.len() < message.body.len() {
            shown += "… (--output json prints the full body)";
        }
        rows.push(row("body", shown));
        rows
    }
}

impl Received {
    fn text(&self) -> String {
        let holding = self
            .queues
            .iter()
            .filter(|(_, messages)| !messages.is_empty());
        let queues: Vec<String> = holding
            .map(|(url, messages)| self.lines(url, messages))
            .collect();
        let (name, all) = (&self.name, self.queues.len());
        match queues.is_empty() {
            true => format!("{name}: no messages in {all} failure and dead-letter queues"),
            false => queues.join("\n\n"),
        }
    }

    fn json(&self) -> Value {
        let message = |message: &Message| {
            json!({
                "id": message.id,
                "sent": message.sent.map(exact),
                "attributes": message.attributes,
                "body": message.body,
            })
        };
        let queues = self.queues.iter().map(|(url, messages)| {
            json!({ "queue": url, "messages": messages.iter().map(message).collect::<Vec<_>>() })
        });
        json!({ "stack": self.name, "queues": queues.collect::<Vec<_>>() })
    }
}

#[cfg(test)]
mod tests;
