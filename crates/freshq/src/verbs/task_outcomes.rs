//! Reports the outcome of each task that the command line names.

use lifo_queue::task::{TaskId, TaskStatus};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::report::{Report, two_columns};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The task was changed as requested.
    Done,
    /// The task has another status and is unchanged.
    Is(TaskStatus),
    /// The task has another state than the one that the operator saw, and is unchanged.
    Replaced,
    /// The task does not exist.
    NotFound,
    /// The task was changed, but no processor was woken, for the given reason.
    NotWoken(String),
    /// The table request failed with this error, so the task may or may not be changed.
    Unknown(String),
    /// The change was not attempted, because the table request failed for an earlier task.
    NotTried,
}

/// The outcomes of all tasks, in the order of the command line.
#[derive(Debug)]
pub(super) struct TaskOutcomes {
    /// The printed name of [`Outcome::Done`], for example "cancelled".
    done: &'static str,
    outcomes: Vec<(TaskId, Outcome)>,
}

impl TaskOutcomes {
    pub(super) fn new(done: &'static str) -> Self {
        let outcomes = Vec::new();
        Self { done, outcomes }
    }

    pub(super) fn note(&mut self, task: &TaskId, outcome: Outcome) {
        self.outcomes.push((task.clone(), outcome));
    }

    /// Returns whether a table request failed, so that the remaining changes are not attempted.
    pub(super) fn has_failed(&self) -> bool {
        let last = self.outcomes.last();
        last.is_some_and(|(_, outcome)| matches!(outcome, Outcome::Unknown(_) | Outcome::NotTried))
    }
}

impl Outcome {
    /// Creates the outcome of a task whose table request failed.
    pub(super) fn unknown(failure: impl Into<Failure>) -> Self {
        Self::Unknown(failure.into().line())
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Done => Exit::Done,
            Self::Is(_) | Self::Replaced | Self::NotFound => Exit::NotAll,
            Self::NotWoken(_) | Self::Unknown(_) | Self::NotTried => Exit::Failed,
        }
    }

    fn text(&self, done: &str) -> String {
        match self {
            Self::Done => done.to_owned(),
            Self::Is(status) => format!("not {done}: it is {status}"),
            Self::Replaced => format!("not {done}: a newer state replaced the one shown"),
            Self::NotFound => "not found".to_owned(),
            Self::NotWoken(why) => format!("{done}, but {why}"),
            Self::Unknown(why) => format!("possibly not {done}: {why}"),
            Self::NotTried => format!("not {done}: not attempted after the failure above"),
        }
    }

    fn json(&self, done: &str) -> Value {
        match self {
            Self::Done => json!({ "outcome": done }),
            Self::Is(status) => json!({ "outcome": "inAnotherState", "status": status }),
            Self::Replaced => json!({ "outcome": "replaced" }),
            Self::NotFound => json!({ "outcome": "notFound" }),
            Self::NotWoken(why) => json!({ "outcome": done, "notWoken": why }),
            Self::Unknown(why) => json!({ "outcome": "unknown", "error": why }),
            Self::NotTried => json!({ "outcome": "notTried" }),
        }
    }
}

impl TaskOutcomes {
    pub(super) fn report(&self) -> Report {
        Report::new(self.exit(), self.text(), self.json())
    }

    fn exit(&self) -> Exit {
        let exits = self.outcomes.iter().map(|(_, outcome)| outcome.exit());
        exits.max().unwrap_or(Exit::Done)
    }

    fn text(&self) -> String {
        let rows = self.outcomes.iter();
        two_columns(rows.map(|(task, outcome)| (task.as_str(), outcome.text(self.done))))
    }

    fn json(&self) -> Value {
        let tasks = self.outcomes.iter().map(|(task, outcome)| {
            let mut object = outcome.json(self.done);
            object["taskId"] = json!(task);
            object
        });
        json!({ "tasks": tasks.collect::<Vec<_>>() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> TaskOutcomes {
        let mut report = TaskOutcomes::new("redriven");
        for (task, outcome) in [
            ("a", Outcome::Done),
            ("longer-id", Outcome::Is(TaskStatus::Success)),
            ("c", Outcome::NotFound),
            ("d", Outcome::NotWoken("no processor was woken".into())),
            ("e", Outcome::Unknown("no response".into())),
            ("f", Outcome::NotTried),
        ] {
            report.note(&TaskId::from_stored(task), outcome);
        }
        report
    }

    #[test]
    fn each_task_has_one_line() {
        let expected = "\
a          redriven
longer-id  not redriven: it is SUCCESS
c          not found
d          redriven, but no processor was woken
e          possibly not redriven: no response
f          not redriven: not attempted after the failure above";
        assert_eq!(all().text(), expected);
    }

    #[test]
    fn json_output_has_the_same_outcomes() {
        let expected = json!({"tasks": [
            {"taskId": "a", "outcome": "redriven"},
            {"taskId": "longer-id", "outcome": "inAnotherState", "status": "SUCCESS"},
            {"taskId": "c", "outcome": "notFound"},
            {"taskId": "d", "outcome": "redriven", "notWoken": "no processor was woken"},
            {"taskId": "e", "outcome": "unknown", "error": "no response"},
            {"taskId": "f", "outcome": "notTried"},
        ]});
        assert_eq!(all().json(), expected);
    }

    #[test]
    fn the_worst_outcome_decides_the_exit_code() {
        let mut report = TaskOutcomes::new("cancelled");
        assert_eq!(report.exit(), Exit::Done);
        for (outcome, exit, failed) in [
            (Outcome::Done, Exit::Done, false),
            (Outcome::NotFound, Exit::NotAll, false),
            (Outcome::Done, Exit::NotAll, false),
            (Outcome::NotWoken(String::new()), Exit::Failed, false),
            (Outcome::Unknown(String::new()), Exit::Failed, true),
        ] {
            report.note(&TaskId::from_stored("a"), outcome);
            assert_eq!((report.exit(), report.has_failed()), (exit, failed));
        }
    }
}
