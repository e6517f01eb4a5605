//! In-memory key states.

use super::Record;
use crate::store::{Conflict, Inserted, Replaced};
use crate::task::{Keyed, NewTask, Place, TaskStatus, Ttl};

impl Keyed {
    /// The value of `stateCreated`: `None` if `taskCreated` is the state's creation time.
    pub(super) fn state_created(&self, task: &NewTask) -> Option<crate::time::Millis> {
        match self.place {
            Place::Moves => None,
            Place::Stays => Some(task.created),
        }
    }
}

impl Record {
    pub(super) fn replace_by(&mut self, task: &NewTask, keyed: &Keyed) -> Inserted {
        let Some(version) = &self.version else {
            return Inserted::Conflict(Conflict::NotAKey);
        };
        if !version.is_comparable(&keyed.version) {
            return Inserted::Conflict(Conflict::OtherOrder);
        }
        if *version == keyed.version {
            return Inserted::Duplicate;
        }
        if *version > keyed.version {
            return Inserted::Outdated;
        }
        let replaced = match (self.status, self.ttl) {
            (TaskStatus::Pending, Ttl::Seconds(at)) if at <= keyed.written.floor_seconds() => {
                Replaced::Expired
            }
            (TaskStatus::Pending, _) => Replaced::Waiting,
            (TaskStatus::Taken, _) if self.overtaken => Replaced::Waiting,
            (TaskStatus::Taken, _) => Replaced::Running,
            (TaskStatus::Success | TaskStatus::Failure, _) => Replaced::Settled,
        };
        let waits = matches!(replaced, Replaced::Waiting | Replaced::Expired);
        if keyed.place == Place::Moves || !waits {
            self.created = task.created;
        }
        self.state_created = keyed.state_created(task);
        self.version = Some(keyed.version.clone());
        self.create_token = Some(task.create_token);
        self.not_before = task.not_before.or(self.not_before);
        self.payload.clone_from(&task.payload);
        self.trace.clone_from(&task.trace);
        self.last_error = None;
        self.superseded += u32::from(replaced == Replaced::Waiting);
        if replaced == Replaced::Expired {
            self.revived = Some(task.create_token);
        }
        if self.status == TaskStatus::Taken {
            self.overtaken = true;
            self.expires_at = Some(task.expires_at);
        } else {
            self.status = TaskStatus::Pending;
            self.ttl = Ttl::Seconds(task.expires_at);
            self.attempts = 0;
            self.total_attempts = 0;
        }
        Inserted::Replaced(replaced)
    }
}
