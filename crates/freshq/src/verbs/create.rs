//! `freshq create`: creates tasks with the create-tasks function.

mod input;

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use clap::{ArgGroup, Args};
use indicatif::{ProgressBar, ProgressStyle};
use lifo_queue::task::GroupName;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use self::input::{Fields, Line};
use super::{VerbOnQueue, group_name};
use crate::confirm::Prompt;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::function::Function;
use crate::queue::Queue;
use crate::report::Report;
use crate::time_format::parse_duration;

/// Maximum number of tasks in one event.
const MOST_TASKS: usize = 500;

/// Maximum number of bytes in one event, well below the 6 MB that Lambda accepts.
const MOST_BYTES: usize = 1_000_000;

/// Maximum number of failed tasks whose errors are printed.
const SHOWN: usize = 10;

/// Creates tasks by the function create-tasks: one task from the arguments, those of a file of JSON
/// lines, or simulated ones. A task of a file without taskId or key gets an id from the file's hash
/// and its line, so that a repetition creates only what is missing.
#[derive(Debug, Default, Args)]
#[command(group = ArgGroup::new("source").required(true).multiple(true).args(["payload", "id", "key", "file", "simulate"]))]
pub(crate) struct Create {
    /// The payload of one task, any JSON
    #[arg(long, value_name = "JSON", conflicts_with_all = ["file", "simulate"])]
    pub(crate) payload: Option<String>,
    /// The id of the task; a new one by default
    #[arg(long, value_name = "TASK_ID", conflicts_with_all = ["file", "simulate", "key"])]
    pub(crate) id: Option<String>,
    /// The task's group; only for a queue with groups
    #[arg(long, value_parser = group_name, conflicts_with_all = ["file", "simulate"])]
    pub(crate) group: Option<GroupName>,
    /// The key of the task, which supersedes an older state of the key
    #[arg(long, conflicts_with_all = ["file", "simulate"])]
    pub(crate) key: Option<String>,
    /// The sequence number of this state of the key
    #[arg(long, requires = "key")]
    pub(crate) sequence: Option<u64>,
    /// Time until the task expires, in whole seconds, for example 2h
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with_all = ["file", "simulate"])]
    pub(crate) ttl: Option<Duration>,
    /// The time until the earliest start, for example 10s
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with_all = ["file", "simulate"])]
    pub(crate) delay: Option<Duration>,
    /// A file with one task per line, in the format of create-tasks; - for standard input
    #[arg(long, value_name = "PATH", conflicts_with = "simulate")]
    pub(crate) file: Option<PathBuf>,
    /// Creates this many tasks with a small payload; not in production
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) simulate: Option<u32>,
}

#[async_trait]
impl VerbOnQueue for Create {
    async fn run(&self, queue: &Queue, _: &mut dyn Prompt) -> Result<Report> {
        let creates = queue.creates.as_deref().ok_or(Failure::NoCreateTasks)?;
        let mut report = Created::default();
        match (&self.file, self.simulate) {
            (Some(path), _) => send(creates, events(input::read(path)?), &mut report).await,
            (None, Some(count)) => send(creates, simulated(count as usize), &mut report).await,
            (None, None) => send(creates, events(vec![self.task()?]), &mut report).await,
        }
        Ok(Report::new(report.exit(), report.text(), report.json()))
    }
}

impl Create {
    /// Returns the task that the arguments describe.
    fn task(&self) -> Result<Line> {
        let payload = self
            .payload
            .as_deref()
            .map(serde_json::from_str::<&RawValue>);
        let payload = payload.transpose().map_err(|error| {
            let fault = format!("{error}; give JSON, for example '{{\"a\": 1}}'");
            Failure::input("--payload", fault)
        })?;
        let mut task = Fields::new();
        if let Some(payload) = payload {
            task.insert("payload".to_owned(), payload.get().to_owned());
        }
        let mut give = |name: &str, value: Option<Value>| {
            task.extend(value.map(|value| (name.to_owned(), value.to_string())));
        };
        let group = self.group.as_ref().map(GroupName::as_str);
        give("group", group.map(Value::from));
        give("taskId", self.id.clone().map(Value::String));
        give("key", self.key.clone().map(Value::String));
        give("sequence", self.sequence.map(Value::from));
        give("ttlSeconds", self.ttl.map(|time| time.as_secs().into()));
        give("delaySeconds", self.delay.map(|time| time.as_secs().into()));
        // Set an id, because a retry of the event must not create a second task.
        let id = || uuid::Uuid::now_v7().to_string();
        Ok(Line::new(1, task, id))
    }
}

/// Returns a progress bar on standard error, hidden if that is not a terminal.
fn bar(tasks: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} tasks, {per_sec}, {eta} left");
    let bar = ProgressBar::new(tasks as u64);
    let bar = match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    };
    bar.tick();
    bar
}

/// An event as JSON text, and the numbers that identify its tasks in the report.
type Event = (String, Vec<usize>);

fn events(lines: Vec<Line>) -> Vec<Event> {
    let batches = input::batches(lines, MOST_TASKS, MOST_BYTES).into_iter();
    let event = |batch: Vec<Line>| {
        let (numbers, tasks): (_, Vec<_>) = batch
            .into_iter()
            .map(|line| (line.number, line.task))
            .unzip();
        (format!("{{\"tasks\":[{}]}}", tasks.join(",")), numbers)
    };
    batches.map(event).collect()
}

fn simulated(count: usize) -> Vec<Event> {
    let numbers: Vec<_> = (1..=count).collect();
    let event = |batch: &[usize]| {
        let event = json!({ "simulate": { "count": batch.len() } });
        (event.to_string(), batch.to_vec())
    };
    numbers.chunks(MOST_TASKS).map(event).collect()
}

async fn send(creates: &dyn Function, events: Vec<Event>, report: &mut Created) {
    let bar = bar(events.iter().map(|(_, numbers)| numbers.len()).sum());
    for (event, numbers) in events {
        match creates.send(&event).await {
            Ok(response) => report.add(&response, &numbers),
            Err(failure) => {
                report.stopped = Some(failure.line());
                break;
            }
        }
        bar.inc(numbers.len() as u64);
    }
    bar.finish_and_clear();
}

/// The combined responses of create-tasks to all events.
#[derive(Debug, Default)]
struct Created {
    created: usize,
    duplicates: usize,
    outdated: usize,
    /// The id of the first task that was created.
    first: Option<String>,
    /// The line number and error of each failed task; line 0 if create-tasks did not name the task.
    failed: Vec<(usize, String)>,
    /// The reason why no further event was sent; `None` if all were sent.
    stopped: Option<String>,
}

impl Created {
    fn add(&mut self, response: &Value, numbers: &[usize]) {
        let list = |name: &str| response[name].as_array().cloned().unwrap_or_default();
        let created = list("created");
        let first = created.first().and_then(|task| task["taskId"].as_str());
        self.first = self.first.take().or(first.map(str::to_owned));
        self.created += created.len();
        self.duplicates += list("duplicates").len();
        self.outdated += list("outdated").len();
        self.failed.extend(list("failed").iter().map(|task| {
            let index = task["index"]
                .as_u64()
                .and_then(|index| usize::try_from(index).ok());
            let error = task["error"]
                .as_str()
                .unwrap_or("no reason given")
                .to_owned();
            let number = index.and_then(|index| numbers.get(index));
            (number.copied().unwrap_or(0), error)
        }));
    }
}

impl Created {
    fn exit(&self) -> Exit {
        match (&self.stopped, self.failed.is_empty()) {
            (Some(_), _) => Exit::Failed,
            (None, false) => Exit::NotAll,
            (None, true) => Exit::Done,
        }
    }

    fn text(&self) -> String {
        let mut lines = vec![format!("created: {}", self.created)];
        if let (1, Some(id)) = (self.created, &self.first) {
            lines[0] += &format!(" ({id})");
        }
        for (count, says) in [
            (self.duplicates, "already existed, unchanged"),
            (self.outdated, "older than the current state of their key"),
            (self.failed.len(), "not created"),
        ] {
            if count > 0 {
                lines[0] += &format!("; {says}: {count}");
            }
        }
        let errors = self.failed.iter().take(SHOWN);
        lines.extend(errors.map(|(line, error)| format!("line {line}: {error}")));
        if self.failed.len() > SHOWN {
            lines.push(format!("and {} more", self.failed.len() - SHOWN));
        }
        if let Some(why) = &self.stopped {
            lines.push(format!("stopped: {why}"));
            lines.push("run the command again: it continues where it stopped".to_owned());
        }
        lines.join("\n")
    }

    fn json(&self) -> Value {
        let failed = self
            .failed
            .iter()
            .map(|(line, error)| json!({ "line": line, "error": error }));
        json!({
            "created": self.created,
            "firstTaskId": self.first,
            "duplicates": self.duplicates,
            "outdated": self.outdated,
            "failed": failed.collect::<Vec<_>>(),
            "stopped": self.stopped,
        })
    }
}
