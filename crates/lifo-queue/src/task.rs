//! The task: its id, its states and their transitions.
//!
//! | from | to | by |
//! |---|---|---|
//! | – | PENDING | [`TaskStore::insert`](crate::store::TaskStore::insert) |
//! | PENDING | TAKEN | [`TaskStore::take`](crate::store::TaskStore::take) |
//! | TAKEN | SUCCESS, FAILURE | [`TaskStore::settle`](crate::store::TaskStore::settle), by [`Settlement`] |
//! | TAKEN | PENDING | [`TaskStore::return_task`](crate::store::TaskStore::return_task), by [`Return`] |
//! | TAKEN | PENDING, FAILURE | [`TaskStore::reclaim`](crate::store::TaskStore::reclaim), by [`Reclaim`], once the lease has expired |
//! | PENDING | FAILURE | [`TaskStore::quarantine`](crate::store::TaskStore::quarantine) |
//! | FAILURE | PENDING | [`OperatorStore::redrive`](crate::store::OperatorStore::redrive) |
//! | PENDING | – | [`OperatorStore::cancel`](crate::store::OperatorStore::cancel), or DynamoDB's time to live |
//! | PENDING, SUCCESS, FAILURE | PENDING | [`TaskStore::insert`](crate::store::TaskStore::insert) of a newer [`Version`] of the key |
//! | TAKEN | TAKEN, then PENDING | the same while the task runs: the end of the run makes it PENDING ([`Written::Overtaken`](crate::store::Written::Overtaken)) |
//!
//! The types allow no other transition. [`Settlement`] has only terminal targets, and both
//! [`Settlement`] and [`Return`] require a [`Lease`], which only a take creates.

mod group;
mod id;
mod status;
mod token;
mod ttl;
mod version;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use self::group::{GroupName, InvalidGroupName, MAX_GROUP_BYTES};
pub(crate) use self::id::MAX_LOGGED;
pub use self::id::{GROUP_END, InvalidTaskId, MAX_TASK_ID_BYTES, TaskId};
pub use self::status::{StatusKey, TaskStatus, UnknownStatus};
pub use self::token::TokenText;
pub(crate) use self::ttl::TTL_REACH;
pub use self::ttl::{MAX_TTL_SECONDS, Ttl};
pub use self::version::{Keyed, Place, Version};
use crate::settings::ms;
use crate::time::{EpochSeconds, Millis};
use crate::trace::TraceHeader;

/// Maximum length of `lastError`, in bytes.
pub const MAX_ERROR_BYTES: usize = 1024;

/// The token of a lease, new for every take. Its holder can settle the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeaseToken(pub Uuid);

impl LeaseToken {
    /// A unique token for a take.
    #[must_use]
    pub fn fresh() -> Self {
        Self(Uuid::new_v4())
    }
}

impl fmt::Display for LeaseToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The right to settle or return one task, valid until it expires. Only a take creates a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The task.
    pub task: TaskId,
    /// The take's token.
    pub token: LeaseToken,
    /// When the lease expires. After that, the sweep may return the task.
    pub until: Millis,
}

/// A task as its runner sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Id of the task; for a task with a key, the key.
    pub task_id: TaskId,
    /// The version of the key's state; `None` for a task without a key. A higher version is newer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Creation time of the task, or of this state of a key, in milliseconds since the epoch.
    pub task_created: Millis,
    /// Number of this attempt: 1 for the first.
    pub attempt: u32,
    /// Number of starts so far, including those that ended in a busy return.
    #[serde(skip)]
    pub total_attempts: u32,
    /// Expiry, in epoch seconds.
    pub expires_at: EpochSeconds,
    /// The producer's payload; `null` if there is none.
    pub payload: serde_json::Value,
}

impl Task {
    /// The idempotency key for the task's effects. It is the same for every attempt, but differs
    /// for each state of a key.
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        match &self.version {
            None => self.task_id.to_string(),
            Some(version) => format!("{}:{version}", self.task_id),
        }
    }
}

/// A task and its lease.
#[derive(Clone, Debug, PartialEq)]
pub struct TakenTask {
    /// The task.
    pub task: Task,
    /// The lease.
    pub lease: Lease,
    /// Its trace, if it has one.
    pub trace: Option<TraceHeader>,
}

/// The end of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// The task succeeded.
    Success,
    /// The task failed permanently.
    Failure {
        /// The reason, stored in `lastError`.
        reason: String,
    },
}

impl Settlement {
    /// The resulting status of the task.
    #[must_use]
    pub fn status(&self) -> TaskStatus {
        match self {
            Self::Success => TaskStatus::Success,
            Self::Failure { .. } => TaskStatus::Failure,
        }
    }
}

/// A return of a task to PENDING. The task keeps its `taskCreated` and therefore its position in
/// the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Return {
    /// Earliest next start.
    pub not_before: Millis,
    /// What the take counts as.
    pub counts: Counts,
    /// Whether an earlier lease of the task expired. The task may have crashed its process. The
    /// item keeps this mark until a run settles the task.
    pub lease_expired: bool,
    /// The reason, stored in `lastError`.
    pub reason: String,
}

/// What a take counts as when its task is returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// An attempt, against the maximum.
    Attempt,
    /// A start, but not an attempt, because the downstream was unavailable. A bounded number of
    /// busy attempts do not count either.
    Start,
    /// Nothing, because the run did not start.
    Nothing,
}

/// The sweep's change to a task whose lease expired. It removes the lease token, so that the
/// previous process can no longer settle the task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reclaim {
    /// Returns the task to PENDING, unless [`FailCrashing`](Self::FailCrashing) with this maximum
    /// applies.
    Return {
        /// Earliest next start.
        not_before: Millis,
        /// Number of crashes after which the task fails, from 1.
        max_crashes: u32,
    },
    /// Sets FAILURE because the attempts are used up.
    Fail {
        /// Time until which the task is kept.
        keep_until: EpochSeconds,
    },
    /// Sets FAILURE because `max_crashes` leases of the task, including the last one, expired since
    /// a run last settled it. Newer states of a key reset its attempts, but not its crashes. A
    /// newer state written during the run fails with its key.
    FailCrashing {
        /// Time until which the task is kept.
        keep_until: EpochSeconds,
        /// Number of crashes after which the task fails, from 1.
        max_crashes: u32,
    },
}

impl Reclaim {
    /// The resulting status of the task.
    #[must_use]
    pub fn status(&self) -> TaskStatus {
        match self {
            Self::Return { .. } => TaskStatus::Pending,
            Self::Fail { .. } | Self::FailCrashing { .. } => TaskStatus::Failure,
        }
    }

    /// The reason, as stored in `lastError`.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Return { .. } => "the lease expired: the processor probably crashed",
            Self::Fail { .. } => {
                "the lease of the last attempt expired: the processor probably crashed"
            }
            Self::FailCrashing { .. } => {
                "the leases of its last runs expired: tasks of this key probably crash the processor"
            }
        }
    }
}

/// A new task that has been checked.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTask {
    /// Its id.
    pub id: TaskId,
    /// When it was created.
    pub created: Millis,
    /// When it expires.
    pub expires_at: EpochSeconds,
    /// Earliest start, if the producer delays the task.
    pub not_before: Option<Millis>,
    /// Its payload, if any.
    pub payload: Option<serde_json::Value>,
    /// New for every put, so that the store recognizes the put after a lost acknowledgement.
    pub create_token: Uuid,
    /// Version and position, if the task is the state of a key; `None` otherwise.
    pub keyed: Option<Keyed>,
    /// Its trace, if it is sampled.
    pub trace: Option<TraceHeader>,
}

/// Retention of settled tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Retention {
    /// Retention after SUCCESS.
    #[serde(rename = "successMs", deserialize_with = "ms")]
    pub success: Duration,
    /// Retention after FAILURE. A redrive is possible during this time.
    #[serde(rename = "failureMs", deserialize_with = "ms")]
    pub failure: Duration,
}

impl Retention {
    /// Retention of a task with this settlement.
    #[must_use]
    pub fn after(&self, settlement: &Settlement) -> Duration {
        match settlement {
            Settlement::Success => self.success,
            Settlement::Failure { .. } => self.failure,
        }
    }
}

/// Truncates an error to a maximum of [`MAX_ERROR_BYTES`], at a character boundary.
#[must_use]
pub fn truncate_error(error: &str) -> &str {
    let mut end = error.len().min(MAX_ERROR_BYTES);
    while !error.is_char_boundary(end) {
        end -= 1;
    }
    &error[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_truncated_at_a_character_boundary() {
        let long = format!("{}é", "x".repeat(MAX_ERROR_BYTES - 1));
        assert_eq!(truncate_error(&long).len(), MAX_ERROR_BYTES - 1);
        assert_eq!(truncate_error("short"), "short");
    }
}
