//! Item changes, and the task transitions that they represent.

use std::time::Duration;

use lifo_queue::schema::{
    ATTEMPTS, CONTROL_ITEM, LAST_ERROR, NOT_BEFORE, PAUSE_REASON, PAUSED_UNTIL, REQUESTED,
    RESERVED_PREFIX, TASK_CREATED, TASK_STATUS, TASK_UPDATED, TASK_VERSION, TOTAL_ATTEMPTS, TTL,
};
use lifo_queue::task::{StatusKey, TaskStatus};
use lifo_queue::time::{EpochSeconds, Millis};
use serde_json::Value;

#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub id: String,
    /// The item before the change, in DynamoDB JSON; `Null` if it did not exist.
    pub before: Value,
    /// The item after the change; `Null` if it does not exist.
    pub after: Value,
    pub cause: Cause,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A write through the HTTP endpoint.
    Write,
    /// A deletion by Time to Live (TTL).
    Expiry,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transition {
    /// A task was created or a new state replaced a settled one. Contains creation time and expiry.
    Created(Option<Millis>, Option<EpochSeconds>),
    /// A newer state superseded a state of the same key that had not started.
    Superseded,
    /// A newer state of the key was queued behind the running one.
    Queued,
    Started {
        first: bool,
        created: Option<Millis>,
        at: Millis,
    },
    /// The task became SUCCESS after a run of this duration.
    Succeeded(Duration),
    /// The task became FAILURE after this number of attempts, with this last error.
    Failed(i64, String),
    /// The task returned to PENDING with this last error and can start again after this delay.
    Returned(String, Duration),
    /// The task changed from FAILURE to PENDING.
    Redriven,
    /// The task was deleted while it was pending.
    Cancelled,
    /// Time to Live (TTL) deleted the task before it finished.
    Expired,
}

impl Change {
    /// Returns the task transition; `None` for any other change.
    pub fn transition(&self) -> Option<Transition> {
        use TaskStatus::{Failure, Pending, Success, Taken};
        if self.id.starts_with(RESERVED_PREFIX) {
            return None;
        }
        let newer = self.is_newer_state();
        match (status(&self.before), status(&self.after)) {
            (None, Some(Pending)) if self.before.is_null() => Some(self.created()),
            (Some(Pending), Some(Pending)) if newer => Some(Transition::Superseded),
            (Some(Taken), Some(Taken)) if newer => Some(Transition::Queued),
            (Some(Success | Failure), Some(Pending)) if newer => Some(self.created()),
            (Some(Failure), Some(Pending)) => Some(Transition::Redriven),
            (Some(Pending), Some(Taken)) => Some(self.started()),
            (Some(Taken), Some(Success)) => Some(Transition::Succeeded(self.lasted())),
            (Some(Pending | Taken), Some(Failure)) => Some(Transition::Failed(
                number(&self.after, ATTEMPTS).unwrap_or(0),
                self.last_error(),
            )),
            (Some(Taken), Some(Pending)) => Some(Transition::Returned(
                self.last_error(),
                millis(&self.after, NOT_BEFORE)
                    .unwrap_or_default()
                    .since(millis(&self.after, TASK_UPDATED).unwrap_or_default()),
            )),
            (Some(Pending | Taken), None) if self.cause == Cause::Expiry => {
                Some(Transition::Expired)
            }
            (Some(Pending), None) if self.after.is_null() => Some(Transition::Cancelled),
            _ => None,
        }
    }

    /// Returns whether the trigger would request a wake-up for this change: a task was inserted as
    /// PENDING, or a newer state of a key is PENDING and the key was not running. The queue's own
    /// writes cause neither change.
    pub fn is_new_task(&self) -> bool {
        let is_new = self.before.is_null()
            || (self.is_newer_state() && status(&self.before) != Some(TaskStatus::Taken));
        is_new
            && !self.id.starts_with(RESERVED_PREFIX)
            && status(&self.after) == Some(TaskStatus::Pending)
    }

    /// Returns whether the change requests a wake-up in the control item (wake-up protocol rule 1).
    pub fn requests_wake_up(&self) -> bool {
        self.id == CONTROL_ITEM && number(&self.after, REQUESTED) > number(&self.before, REQUESTED)
    }

    /// Returns the journal line for the start or end of a pause; `None` for any other change.
    pub fn pause(&self) -> Option<String> {
        let until = |image| number(image, PAUSED_UNTIL).filter(|_| self.id == CONTROL_ITEM);
        match (until(&self.before), until(&self.after)) {
            (before, Some(after)) if before != Some(after) => {
                let reason = text(&self.after, PAUSE_REASON).unwrap_or("no reason given");
                Some(format!(
                    "the queue is paused (freshq resume ends the pause): {reason}"
                ))
            }
            (Some(_), None) => Some("the pause has ended".to_owned()),
            _ => None,
        }
    }

    fn is_newer_state(&self) -> bool {
        let version = text(&self.after, TASK_VERSION);
        version.is_some() && version != text(&self.before, TASK_VERSION)
    }

    fn created(&self) -> Transition {
        let expires_at = number(&self.after, TTL).map(EpochSeconds);
        Transition::Created(millis(&self.after, TASK_CREATED), expires_at)
    }

    fn started(&self) -> Transition {
        Transition::Started {
            first: number(&self.after, TOTAL_ATTEMPTS) == Some(1),
            created: millis(&self.after, TASK_CREATED),
            at: millis(&self.after, TASK_UPDATED).unwrap_or_default(),
        }
    }

    fn lasted(&self) -> Duration {
        let at = |image| millis(image, TASK_UPDATED).unwrap_or_default();
        at(&self.after).since(at(&self.before))
    }

    fn last_error(&self) -> String {
        text(&self.after, LAST_ERROR).unwrap_or("-").to_owned()
    }
}

fn text<'a>(image: &'a Value, name: &str) -> Option<&'a str> {
    image[name]["S"].as_str()
}

fn number(image: &Value, name: &str) -> Option<i64> {
    image[name]["N"].as_str()?.parse().ok()
}

fn millis(image: &Value, name: &str) -> Option<Millis> {
    number(image, name).map(Millis)
}

fn status(image: &Value) -> Option<TaskStatus> {
    let key: StatusKey = text(image, TASK_STATUS)?.parse().ok()?;
    Some(key.status)
}

#[cfg(test)]
mod tests;
