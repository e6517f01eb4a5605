//! `freshq show`: shows a task with all its attributes.

use async_trait::async_trait;
use clap::Args;
use lifo_queue::schema;
use lifo_queue::task::{StatusKey, TaskId};
use lifo_queue::time::Millis;
use serde_json::{Map, Value, json};

use super::{VerbOnQueue, task_id};
use crate::confirm::Prompt;
use crate::exit::Exit;
use crate::failure::Result;
use crate::queue::Queue;
use crate::report::{Report, columns, two_columns};
use crate::time_format::{exact, relative, tenths};

/// Shows a task: its attributes, payload, last error, and its past and future events.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The task
    #[arg(value_name = "TASK_ID", value_parser = task_id)]
    pub(crate) task: TaskId,
}

#[async_trait]
impl VerbOnQueue for Show {
    async fn run(&self, queue: &Queue, _: &mut dyn Prompt) -> Result<Report> {
        let attributes = queue.operator.show(&self.task).await?;
        Ok(match attributes {
            None => Report::new(Exit::NotAll, missing(&self.task), json!({ "task": null })),
            Some(attributes) => {
                let now = queue.clock.now();
                let shown = Shown { now, attributes };
                Report::done(shown.text(), shown.json())
            }
        })
    }
}

/// The stored attributes of a task, and the time at which they were read.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) now: Millis,
    pub(crate) attributes: Map<String, Value>,
}

/// Attributes that contain a time in milliseconds, each with its meaning.
const MOMENTS: [(&str, &str); 5] = [
    (schema::TASK_CREATED, "created"),
    (schema::STATE_CREATED, "this state of its key created"),
    (schema::TASK_UPDATED, "last written"),
    (schema::NOT_BEFORE, "may start"),
    (schema::LEASE_UNTIL, "lease ends"),
];

impl Shown {
    fn moment(&self, attribute: &str) -> Option<Millis> {
        self.attributes.get(attribute)?.as_i64().map(Millis)
    }

    /// Returns past and future events of the task, earliest first.
    pub(crate) fn timeline(&self) -> Vec<(Millis, String)> {
        let status = self.attributes.get(schema::TASK_STATUS);
        let status = status.and_then(Value::as_str);
        let moments = MOMENTS.into_iter().filter_map(|(attribute, says)| {
            let at = self.moment(attribute)?;
            // The last write of a settled task was its settlement.
            let settled = match (attribute, status) {
                (schema::TASK_UPDATED, Some("SUCCESS")) => "succeeded",
                (schema::TASK_UPDATED, Some("FAILURE")) => "failed",
                _ => return Some((at, says.to_owned())),
            };
            let age = self
                .moment(schema::TASK_CREATED)
                .map(|from| tenths(at.since(from)));
            let age = age.map_or_else(String::new, |age| format!(", {age} after its creation"));
            Some((at, format!("{settled}{age}")))
        });
        let ends = match status {
            Some("PENDING") => "expires unless it started",
            Some("TAKEN") => "expires unless it succeeds",
            _ => "deleted by DynamoDB, usually within days",
        };
        // While a task is TAKEN, `expiresAt` is its expiry, and `ttl` is later.
        let end = self.moment(schema::EXPIRES_AT).or(self.moment(schema::TTL));
        let end = end.map(|seconds| (Millis(seconds.0.saturating_mul(1_000)), ends.to_owned()));
        let mut timeline: Vec<_> = moments.chain(end).collect();
        timeline.sort();
        timeline
    }

    /// Returns the attributes without the payload, starting with the id and the status.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (String, String)> {
        let first = [schema::TASK_ID, schema::TASK_STATUS];
        let rest = self
            .attributes
            .iter()
            .filter(move |(name, _)| !first.contains(&name.as_str()) && *name != schema::PAYLOAD);
        let first = first
            .into_iter()
            .filter_map(|name| self.attributes.get_key_value(name));
        first
            .chain(rest)
            .map(|(name, value)| self.attribute(name, value))
    }

    fn attribute(&self, name: &str, value: &Value) -> (String, String) {
        let text = match value {
            Value::String(text) if name == schema::TASK_STATUS => status(text),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let moment = MOMENTS.iter().any(|(attribute, _)| *attribute == name);
        match value.as_i64().filter(|_| moment) {
            Some(at) => (name.to_owned(), format!("{text} ({})", exact(Millis(at)))),
            None => (name.to_owned(), text),
        }
    }

    fn text(&self) -> String {
        let timeline = self
            .timeline()
            .into_iter()
            .map(|(at, says)| [exact(at), relative(at, self.now), says]);
        let payload = match self.attributes.get(schema::PAYLOAD) {
            None => "no payload".to_owned(),
            Some(payload) => format!("payload\n{payload:#}"),
        };
        format!(
            "{}\n\n{payload}\n\ntimeline\n{}",
            two_columns(self.rows()),
            columns(timeline)
        )
    }

    fn json(&self) -> Value {
        let timeline = self
            .timeline()
            .into_iter()
            .map(|(at, says)| json!({ "at": exact(at), "what": says }));
        json!({ "task": self.attributes, "timeline": timeline.collect::<Vec<_>>() })
    }
}

/// Returns the message for a task id that does not exist: what can have happened, and where it is
/// recorded.
pub(crate) fn missing(task: &TaskId) -> String {
    let log = |function| format!("freshq logs {function} --task {task} --since 30d");
    let causes = [
        (
            "it ended and was deleted at the end of its retention",
            log("process-tasks"),
        ),
        ("it expired before it ended", log("count-shed")),
        (
            "it was not admitted, or arrived after its expiry",
            log("ingest-tasks"),
        ),
        (
            "it was rejected, or never sent",
            "freshq messages, or the response to the producer".to_owned(),
        ),
        (
            "it was cancelled or purged",
            "nowhere; ask the operators".to_owned(),
        ),
    ];
    let causes = causes.map(|(cause, place)| format!("\n- {cause}:\n  {place}"));
    format!(
        "task {task} does not exist. Possible causes, and where each is recorded:{}",
        causes.concat()
    )
}

/// Formats the status as text. A direct writer may have misspelled it.
fn status(text: &str) -> String {
    match text.parse::<StatusKey>() {
        Ok(_) => text.to_owned(),
        Err(unknown) => format!("{text}: no processor reads this task, because {unknown}"),
    }
}
