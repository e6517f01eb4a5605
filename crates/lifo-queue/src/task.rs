//! The task: its identity, its states and what may follow what.
//!
//! | from | to | by |
//! |---|---|---|
//! | – | PENDING | [`TaskStore::insert`](crate::store::TaskStore::insert) |
//! | PENDING | TAKEN | [`TaskStore::take`](crate::store::TaskStore::take) |
//! | TAKEN | SUCCESS, FAILURE | [`TaskStore::settle`](crate::store::TaskStore::settle), by [`Settlement`] |
//! | TAKEN | PENDING | [`TaskStore::give_back`](crate::store::TaskStore::give_back), by [`GiveBack`] |
//! | PENDING | FAILURE | [`TaskStore::quarantine`](crate::store::TaskStore::quarantine) |
//!
//! Nothing else can be written down: [`Settlement`] has terminal targets only, and both it and
//! [`GiveBack`] need a [`Lease`], which only a take hands out.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::schema::RESERVED_PREFIX;
use crate::time::{EpochSeconds, Millis};

/// The longest task id, in bytes: DynamoDB's limit for a partition key
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html>).
pub const MAX_TASK_ID_BYTES: usize = 2048;

/// How much of an error is kept in `lastError`, in bytes.
pub const MAX_ERROR_BYTES: usize = 1024;

/// A `ttl` above this is not seconds (it would be the year 5138) but milliseconds (from 1973).
pub const MAX_TTL_SECONDS: i64 = 100_000_000_000;

/// A task's identity, chosen by its producer or a fresh UUIDv7.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct TaskId(String);

/// Why a string cannot be a task id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTaskId {
    /// The empty string.
    #[error("is empty; give 1 to {MAX_TASK_ID_BYTES} bytes, or leave it out for a UUIDv7")]
    Empty,
    /// Longer than a partition key can be.
    #[error("has {0} bytes; a DynamoDB key has at most {MAX_TASK_ID_BYTES}")]
    TooLong(usize),
    /// Begins with `#`.
    #[error("begins with '#', which is reserved for the queue's own items; choose another prefix")]
    Reserved,
    /// Holds a control character, which no HTTP header or log line can carry.
    #[error("holds a control character; use printable characters")]
    Control,
}

impl TaskId {
    /// Checks a producer's id.
    ///
    /// # Errors
    /// [`InvalidTaskId`] says what is wrong with it.
    pub fn new(id: impl Into<String>) -> Result<Self, InvalidTaskId> {
        let id = id.into();
        if id.is_empty() {
            return Err(InvalidTaskId::Empty);
        }
        if id.len() > MAX_TASK_ID_BYTES {
            return Err(InvalidTaskId::TooLong(id.len()));
        }
        if id.starts_with(RESERVED_PREFIX) {
            return Err(InvalidTaskId::Reserved);
        }
        if id.chars().any(char::is_control) {
            return Err(InvalidTaskId::Control);
        }
        Ok(Self(id))
    }

    /// A fresh UUIDv7: unique, and sorted by time of creation.
    #[must_use]
    pub fn fresh() -> Self {
        Self(Uuid::now_v7().to_string())
    }

    /// An id as it stands in the table. A foreign writer's id is not checked: it is there.
    #[must_use]
    pub fn from_stored(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The four states a task can be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TaskStatus {
    /// Waits for a processor.
    Pending,
    /// A processor holds a lease on it.
    Taken,
    /// Done.
    Success,
    /// Given up.
    Failure,
}

impl TaskStatus {
    /// Every status.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Taken, Self::Success, Self::Failure];

    /// The status' name, as it stands in the table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Taken => "TAKEN",
            Self::Success => "SUCCESS",
            Self::Failure => "FAILURE",
        }
    }

    /// Whether nothing but retention follows (and, for FAILURE, an operator's redrive).
    #[must_use]
    pub fn is_settled(self) -> bool {
        matches!(self, Self::Success | Self::Failure)
    }
}

impl fmt::Display for TaskStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The value of `taskStatus`: a status and a shard, `STATUS` for shard 0 and `STATUS#n` for
/// others. Only shard 0 is written today; the codec is there so that sharding the index's
/// partitions later needs no migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StatusKey {
    /// The status.
    pub status: TaskStatus,
    /// The index partition within the status.
    pub shard: u16,
}

impl From<TaskStatus> for StatusKey {
    fn from(status: TaskStatus) -> Self {
        Self { status, shard: 0 }
    }
}

impl fmt::Display for StatusKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shard {
            0 => f.write_str(self.status.name()),
            shard => write!(f, "{}#{shard}", self.status.name()),
        }
    }
}

/// A `taskStatus` that is none of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a task status; PENDING, TAKEN, SUCCESS and FAILURE are, each with an optional '#shard'"
)]
pub struct UnknownStatus(pub String);

impl FromStr for StatusKey {
    type Err = UnknownStatus;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownStatus(text.to_owned());
        let (name, shard) = match text.split_once('#') {
            None => (text, 0),
            Some((name, digits)) => {
                let canonical =
                    !digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit());
                let shard = digits.parse::<u16>().ok().filter(|_| canonical);
                (name, shard.ok_or_else(unknown)?)
            }
        };
        let status = TaskStatus::ALL
            .into_iter()
            .find(|status| status.name() == name);
        Ok(Self {
            status: status.ok_or_else(unknown)?,
            shard,
        })
    }
}

/// What stands in `ttl`. Ours is epoch seconds; a foreign writer may leave it out, write
/// milliseconds or something that is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ttl {
    /// No `ttl`: the default applies from first sight.
    Missing,
    /// Epoch seconds, as DynamoDB reads it.
    Seconds(EpochSeconds),
    /// Above [`MAX_TTL_SECONDS`]: milliseconds. DynamoDB would keep the item for millennia.
    Milliseconds(Millis),
    /// Not a number: the take is refused and the task quarantined.
    Malformed,
}

impl Ttl {
    /// Reads the number that stands in `ttl`.
    #[must_use]
    pub fn from_number(number: i64) -> Self {
        if number > MAX_TTL_SECONDS {
            Self::Milliseconds(Millis(number))
        } else {
            Self::Seconds(EpochSeconds(number))
        }
    }

    /// Whether the task may no longer start.
    #[must_use]
    pub fn is_expired(self, now: Millis) -> bool {
        match self {
            Self::Missing | Self::Malformed => false,
            Self::Seconds(at) => at <= now.floor_seconds(),
            Self::Milliseconds(at) => at <= now,
        }
    }
}

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

/// The right to settle one task or give it back, until it runs out. Handed out by a take only.
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
    /// Its identity, and the idempotency key of its effects.
    pub task_id: TaskId,
    /// When it was created, in milliseconds.
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

/// A task and the lease on it.
#[derive(Clone, Debug, PartialEq)]
pub struct TakenTask {
    /// The task.
    pub task: Task,
    /// The lease.
    pub lease: Lease,
}

/// The end of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// Done.
    Success,
    /// Given up, and why.
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
    /// Why, kept in `lastError`.
    pub reason: String,
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
    /// Its payload, if any.
    pub payload: Option<serde_json::Value>,
    /// Fresh for every put, so that a lost acknowledgement of it is recognised.
    pub create_token: Uuid,
}

/// How long settled tasks are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// After SUCCESS.
    pub success: Duration,
    /// After FAILURE: how long a redrive is possible.
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
    fn ids_are_refused_with_the_reason() {
        assert_eq!(TaskId::new(""), Err(InvalidTaskId::Empty));
        assert_eq!(TaskId::new("#x"), Err(InvalidTaskId::Reserved));
        assert_eq!(TaskId::new("a\nb"), Err(InvalidTaskId::Control));
        assert_eq!(
            TaskId::new("x".repeat(2049)),
            Err(InvalidTaskId::TooLong(2049))
        );
        assert!(TaskId::new("x".repeat(2048)).is_ok());
        assert!(TaskId::new("message#3").is_ok());
    }

    #[test]
    fn status_codec_round_trips_and_refuses_what_is_not_canonical() {
        for status in TaskStatus::ALL {
            for shard in [0, 1, 9, u16::MAX] {
                let key = StatusKey { status, shard };
                assert_eq!(key.to_string().parse(), Ok(key));
            }
            assert_eq!(StatusKey::from(status).to_string(), status.name());
        }
        for text in [
            "",
            "pending",
            "PENDING#",
            "PENDING#0",
            "PENDING#01",
            "PENDING#+1",
            "PENDING#65536",
        ] {
            assert!(text.parse::<StatusKey>().is_err(), "{text}");
        }
    }

    #[test]
    fn ttl_tells_milliseconds_from_seconds() {
        let now = Millis(1_700_000_000_000);
        assert_eq!(
            Ttl::from_number(1_700_000_001),
            Ttl::Seconds(EpochSeconds(1_700_000_001))
        );
        assert_eq!(
            Ttl::from_number(1_700_000_000_001),
            Ttl::Milliseconds(Millis(1_700_000_000_001))
        );
        assert!(Ttl::from_number(1_699_999_999).is_expired(now));
        assert!(Ttl::from_number(1_700_000_000).is_expired(now));
        assert!(!Ttl::from_number(1_700_000_001).is_expired(now));
        assert!(Ttl::from_number(1_699_999_999_999).is_expired(now));
        assert!(!Ttl::from_number(1_700_000_000_001).is_expired(now));
        assert!(!Ttl::Missing.is_expired(now));
    }

    #[test]
    fn errors_are_cut_at_a_character_border() {
        let long = format!("{}é", "x".repeat(MAX_ERROR_BYTES - 1));
        assert_eq!(truncate_error(&long).len(), MAX_ERROR_BYTES - 1);
        assert_eq!(truncate_error("short"), "short");
    }
}
