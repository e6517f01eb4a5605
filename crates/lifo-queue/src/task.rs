//! The task: its identity, its states and what may follow what.
//!
//! | from | to | by |
//! |---|---|---|
//! | – | PENDING | [`TaskStore::insert`](crate::store::TaskStore::insert) |
//! | PENDING | TAKEN | [`TaskStore::take`](crate::store::TaskStore::take) |
//! | TAKEN | SUCCESS, FAILURE | [`TaskStore::settle`](crate::store::TaskStore::settle), by [`Settlement`] |
//! | TAKEN | PENDING | [`TaskStore::give_back`](crate::store::TaskStore::give_back), by [`GiveBack`] |
//! | TAKEN | PENDING, FAILURE | [`TaskStore::reclaim`](crate::store::TaskStore::reclaim), by [`Reclaim`], once the lease expired |
//! | PENDING | FAILURE | [`TaskStore::quarantine`](crate::store::TaskStore::quarantine) |
//! | FAILURE | PENDING | [`OperatorStore::redrive`](crate::store::OperatorStore::redrive) |
//! | PENDING | – | [`OperatorStore::cancel`](crate::store::OperatorStore::cancel), or DynamoDB's time to live |
//! | PENDING, SUCCESS, FAILURE | PENDING | [`TaskStore::insert`](crate::store::TaskStore::insert) of a newer [`Version`] of the key |
//! | TAKEN | TAKEN, then PENDING | the same while the task runs: the end of the run makes it PENDING ([`Written::Overtaken`](crate::store::Written::Overtaken)) |
//!
//! Nothing else can be written down: [`Settlement`] has terminal targets only, and both it and
//! [`GiveBack`] need a [`Lease`], which only a take hands out.

mod id;
mod status;
mod token;
mod ttl;
mod version;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use self::id::{InvalidTaskId, MAX_TASK_ID_BYTES, TaskId};
pub use self::status::{StatusKey, TaskStatus, UnknownStatus};
pub use self::token::TokenText;
pub(crate) use self::ttl::TTL_REACH;
pub use self::ttl::{MAX_TTL_SECONDS, Ttl};
pub use self::version::{Keyed, Place, Version};
use crate::settings::ms;
use crate::time::{EpochSeconds, Millis};
use crate::trace::TraceHeader;

/// How much of an error is kept in `lastError`, in bytes.
pub const MAX_ERROR_BYTES: usize = 1024;

/// Fresh for every take: who holds it may settle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeaseToken(pub Uuid);

impl LeaseToken {
    /// A token no other take has.
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

/// The right to settle or return one task, until it expires. Only a take creates it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The task.
    pub task: TaskId,
    /// The take's token.
    pub token: LeaseToken,
    /// When the sweep may return the task.
    pub until: Millis,
}

/// A task as its runner sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Its identity, and the key of a task that has one.
    pub task_id: TaskId,
    /// Which state of its key this is; `None` for a task without a key. A greater version is
    /// newer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// When it was created, in milliseconds. Of a task with a key: when this state was.
    pub task_created: Millis,
    /// The attempt this is: 1 for the first.
    pub attempt: u32,
    /// Every start so far, busy returns included.
    #[serde(skip)]
    pub total_attempts: u32,
    /// When it is shed, in epoch seconds.
    pub expires_at: EpochSeconds,
    /// The producer's payload; `null` when there is none.
    pub payload: serde_json::Value,
}

impl Task {
    /// The idempotency key of the task's effects: the same at every attempt, another for every
    /// state of a key.
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        match &self.version {
            None => self.task_id.to_string(),
            Some(version) => format!("{}:{version}", self.task_id),
        }
    }
}

/// A task and the lease on it.
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
    /// Done.
    Success,
    /// It failed for good, and why.
    Failure {
        /// Kept in `lastError`.
        reason: String,
    },
}

impl Settlement {
    /// The status that follows.
    #[must_use]
    pub fn status(&self) -> TaskStatus {
        match self {
            Self::Success => TaskStatus::Success,
            Self::Failure { .. } => TaskStatus::Failure,
        }
    }
}

/// A task put back: it keeps its `taskCreated`, and so its place in age.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GiveBack {
    /// It may not start again before.
    pub not_before: Millis,
    /// Whether the attempt counts against the maximum. It does not when the downstream was
    /// busy, a bounded number of times.
    pub attempt_counts: bool,
    /// Whether an earlier lease of the task expired: the task may have killed its process. The
    /// mark stays until a run settles the task.
    pub lease_ran_out: bool,
    /// Why, kept in `lastError`.
    pub reason: String,
}

/// The outcome of a task whose lease expired. Its token is removed, so its former process can
/// no longer settle it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reclaim {
    /// Back to PENDING.
    Return {
        /// It may not start again before.
        not_before: Millis,
    },
    /// FAILURE: its attempts are used up.
    Fail {
        /// How long it is kept.
        keep_until: EpochSeconds,
    },
}

impl Reclaim {
    /// The status that follows.
    #[must_use]
    pub fn status(&self) -> TaskStatus {
        match self {
            Self::Return { .. } => TaskStatus::Pending,
            Self::Fail { .. } => TaskStatus::Failure,
        }
    }

    /// Why, as it is kept in `lastError`.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Return { .. } => "the lease expired: the processor probably crashed",
            Self::Fail { .. } => {
                "the lease of the last attempt expired: the processor probably crashed"
            }
        }
    }
}

/// A new task, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTask {
    /// Its identity.
    pub id: TaskId,
    /// When it was created.
    pub created: Millis,
    /// When it is shed.
    pub expires_at: EpochSeconds,
    /// It does not start before, if its producer delays it.
    pub not_before: Option<Millis>,
    /// Its payload, if any.
    pub payload: Option<serde_json::Value>,
    /// Fresh for every put, so that a lost acknowledgement of it is recognised.
    pub create_token: Uuid,
    /// What makes it the state of a key; `None` for a task that no other replaces.
    pub keyed: Option<Keyed>,
    /// Its trace, if it is sampled.
    pub trace: Option<TraceHeader>,
}

/// How long settled tasks are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Retention {
    /// After SUCCESS.
    #[serde(rename = "successMs", deserialize_with = "ms")]
    pub success: Duration,
    /// After FAILURE: how long a redrive is possible.
    #[serde(rename = "failureMs", deserialize_with = "ms")]
    pub failure: Duration,
}

impl Retention {
    /// How long a task with this end is kept.
    #[must_use]
    pub fn after(&self, settlement: &Settlement) -> Duration {
        match settlement {
            Settlement::Success => self.success,
            Settlement::Failure { .. } => self.failure,
        }
    }
}

/// Cuts an error to [`MAX_ERROR_BYTES`] at a character's border.
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
    fn errors_are_cut_at_a_character_border() {
        let long = format!("{}é", "x".repeat(MAX_ERROR_BYTES - 1));
        assert_eq!(truncate_error(&long).len(), MAX_ERROR_BYTES - 1);
        assert_eq!(truncate_error("short"), "short");
    }
}
