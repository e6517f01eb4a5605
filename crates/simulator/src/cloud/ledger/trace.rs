//! The trace: all events of a run, in order.

use std::collections::HashMap;
use std::fmt;

use lifo_queue::control::Control;
use lifo_queue::store::memory::Record;
use lifo_queue::task::{TaskId, TaskStatus};
use lifo_queue::time::Millis;
use uuid::Uuid;

use crate::cloud::ledger::RunEnd;
use crate::fault::Fault;

#[derive(Debug, Default)]
pub(super) struct Trace {
    entries: Vec<(Millis, u32, What)>,
}

#[derive(Debug)]
pub(super) enum What {
    Note(String),
    Called(&'static str, Option<Fault>),
    Task(TaskId, Option<Glimpse>),
    Control(Box<Control>),
    Run(TaskId, u32),
    Ran(TaskId, RunEnd),
}

#[derive(Debug)]
pub(super) struct Glimpse {
    status: TaskStatus,
    attempts: u32,
    total_attempts: u32,
    token: Option<Uuid>,
    lease_until: Option<Millis>,
    not_before: Option<Millis>,
}

impl From<&Record> for Glimpse {
    fn from(record: &Record) -> Self {
        Self {
            status: record.status,
            attempts: record.attempts,
            total_attempts: record.total_attempts,
            token: record.lease_token.map(|token| token.0),
            lease_until: record.lease_until,
            not_before: record.not_before,
        }
    }
}

impl Trace {
    pub(super) fn push(&mut self, now: Millis, process: u32, what: What) {
        self.entries.push((now, process, what));
    }

    /// Renders one line per entry: seconds since the first entry, the process and the event. Each
    /// UUID is replaced with a number in order of first appearance, so that the same seed gives
    /// identical lines.
    pub(super) fn render(&self) -> Vec<String> {
        let start = self.entries.first().map_or(Millis(0), |entry| entry.0);
        let mut names = HashMap::new();
        let line = |(at, process, what): &(Millis, u32, What)| {
            let since = Since(*at, start);
            name_uuids(
                &format!("{since} p{process} {}", Told(what, start)),
                &mut names,
            )
        };
        self.entries.iter().map(line).collect()
    }
}

/// A time, in seconds since the start.
struct Since(Millis, Millis);

impl fmt::Display for Since {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.0 - self.1.0;
        write!(
            f,
            "{:>5}.{:03}",
            millis.div_euclid(1000),
            millis.rem_euclid(1000)
        )
    }
}

struct Told<'a>(&'a What, Millis);

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = self.1;
        match self.0 {
            What::Note(text) => f.write_str(text),
            What::Called(operation, None) => f.write_str(operation),
            What::Called(operation, Some(fault)) => write!(f, "{operation}: {fault:?}"),
            What::Task(id, None) => write!(f, "  => {id} gone"),
            What::Task(id, Some(task)) => {
                write!(
                    f,
                    "  => {id} {} {}/{}",
                    task.status, task.attempts, task.total_attempts
                )?;
                if let Some(token) = task.token {
                    write!(f, " token {token}")?;
                }
                if let Some(until) = task.lease_until {
                    write!(f, " until {}", Since(until, start))?;
                }
                if let Some(from) = task.not_before {
                    write!(f, " not before {}", Since(from, start))?;
                }
                Ok(())
            }
            What::Control(control) => {
                write!(f, "  => control requested {}", control.requested)?;
                if let Some(lease) = &control.lease {
                    let until = Since(lease.until, start);
                    write!(
                        f,
                        " lease {} {} until {until}",
                        lease.owner, lease.message_id
                    )?;
                }
                if let (Some(until), Some(by)) = (control.notified_until, &control.notified_by) {
                    write!(f, " mark {by} until {}", Since(until, start))?;
                }
                if let Some(until) = control.paused_until {
                    write!(f, " paused until {}", Since(until, start))?;
                }
                write!(f, " idle {}", control.idle_turns)
            }
            What::Run(id, attempt) => write!(f, "runs {id}, attempt {attempt}"),
            What::Ran(id, end) => write!(f, "ran {id}: {end:?}"),
        }
    }
}

/// Replaces every UUID with `u` and a number in order of first appearance.
fn name_uuids(line: &str, names: &mut HashMap<Uuid, usize>) -> String {
    const LENGTH: usize = 36;
    let mut named = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let uuid = rest
            .get(..LENGTH)
            .and_then(|text| Uuid::try_parse(text).ok());
        if let Some(uuid) = uuid {
            let order = names.len() + 1;
            named.push_str(&format!("u{}", names.entry(uuid).or_insert(order)));
            rest = &rest[LENGTH..];
        } else {
            named.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    named
}
