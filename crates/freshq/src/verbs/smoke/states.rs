//! The states of the test tasks: the order of their starts, and their ends.

use std::time::Duration;

use lifo_queue::schema;
use serde_json::{Map, Value};

use super::checks::Outcome::{self, Failed, NotShown, Ok as Shown};
use crate::time_format::{rate, tenths};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    Pending,
    Started,
    /// The task ended, with an error unless it succeeded.
    Ended(Option<String>),
}

impl State {
    pub(super) fn of(attributes: Option<Map<String, Value>>) -> Self {
        let Some(task) = attributes else {
            return Self::Ended(Some("it was deleted".to_owned()));
        };
        let text = |name| task.get(name).and_then(Value::as_str);
        let starts = task.get(schema::TOTAL_ATTEMPTS).and_then(Value::as_u64);
        match text(schema::TASK_STATUS) {
            Some("SUCCESS") => Self::Ended(None),
            Some("FAILURE") => {
                Self::Ended(text(schema::LAST_ERROR).or(Some("-")).map(str::to_owned))
            }
            // A task that was returned to PENDING had started.
            Some("PENDING") if starts.unwrap_or(0) == 0 => Self::Pending,
            _ => Self::Started,
        }
    }
}

/// The order of the starts, as successive reads of all tasks show it.
#[derive(Default)]
pub(super) struct Starts {
    /// Whether a task started before it was due.
    early: bool,
    /// The tasks at the first read; those that had started by then do not count.
    first: Vec<State>,
    /// Whether some tasks were pending after others had started.
    shown: bool,
    /// Maximum number of older tasks that started while a newer one was pending.
    worst: usize,
}

impl Starts {
    /// Begins with the states before any task is due.
    pub(super) fn new(states: &[State]) -> Self {
        Self {
            early: states.iter().any(|state| *state != State::Pending),
            ..Self::default()
        }
    }

    /// Compares the tasks that had started at the end of one read with those that are pending in
    /// the next one, because the reads of the tasks are not simultaneous.
    pub(super) fn note(&mut self, before: &[State], now: &[State]) {
        if self.first.is_empty() {
            self.first = before.to_vec();
        }
        let Some(newest) = now.iter().position(|state| *state == State::Pending) else {
            return;
        };
        let tasks = self.first.iter().zip(before);
        let started: Vec<_> = tasks
            .map(|(first, before)| *first == State::Pending && *before != State::Pending)
            .collect();
        self.shown |= started.contains(&true);
        let older = started.iter().skip(newest).filter(|started| **started);
        self.worst = self.worst.max(older.count());
    }

    pub(super) fn outcome(&self, slots: usize) -> Outcome {
        let text = format!(
            "at most {} older tasks started before a newer one, with a concurrency of {slots}",
            self.worst
        );
        match self {
            Self { early: true, .. } => NotShown("this machine's clock is late".to_owned()),
            Self { shown: false, .. } => NotShown("all started between two reads".to_owned()),
            // Otherwise, all but the newest may start within one round.
            Self { first, .. } if first.len() <= 3 * slots => {
                NotShown(format!("a concurrency of {slots} starts too many at once"))
            }
            Self { worst, .. } if *worst > slots => Failed(text),
            _ => Shown(text),
        }
    }
}

pub(super) fn ended(states: &[State], took: Duration) -> Outcome {
    let count = states.len();
    let succeeded = states.iter().filter(|state| **state == State::Ended(None));
    let succeeded = succeeded.count();
    let text = format!(
        "{succeeded} of {count} tasks succeeded within {}",
        tenths(took)
    );
    let error = states.iter().find_map(|state| match state {
        State::Ended(error) => error.as_deref(),
        _ => None,
    });
    match error {
        None if succeeded == count => Shown(format!(
            "{text}: {}/s",
            rate(count as f64 / took.as_secs_f64())
        )),
        None => Failed(format!("{text}; freshq status says why")),
        Some(error) => Failed(format!(
            "{text}; --payload gives one that the downstream accepts: {error}"
        )),
    }
}
