//! What the index shows, page by page.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

use aws::store_error::{StoreError, VALIDATION};

use crate::task::{Lease, StatusKey, TaskId, Ttl};
use crate::time::Millis;

/// What to read of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageQuery {
    /// Which partition.
    pub status: StatusKey,
    /// From which end.
    pub order: Order,
    /// Only tasks created at this moment or later; `None` for all. Older ones cost no reads.
    pub created_from: Option<Millis>,
    /// Where the previous page ended; `None` for the first.
    pub after: Option<Cursor>,
    /// The most items that are evaluated.
    pub limit: u16,
    /// For leaving out what has expired.
    pub now: Millis,
}

impl PageQuery {
    /// Rejects a cursor that lies outside the bound, in every store as DynamoDB does: a start
    /// key must fulfil the condition on the sort key.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let (Some(cursor), Some(from)) = (&self.after, self.created_from) else {
            return Ok(());
        };
        if cursor.created() >= from {
            return Ok(());
        }
        let (created, from) = (&cursor.created, from.0);
        let source = format!("the page starts at taskCreated {created}, below its bound of {from}");
        Err(StoreError::Refused {
            operation: "Query",
            code: VALIDATION.to_owned(),
            source: source.into(),
        })
    }
}

/// From which end the index is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Order {
    /// As the queue runs, unless it starts the key first that has waited longest.
    #[serde(rename = "newest-first")]
    NewestFirst,
    /// To measure the oldest, and where the key runs first that has waited longest.
    #[serde(rename = "oldest-key-first")]
    OldestFirst,
}

/// Where a page of the index ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// `taskCreated` of the last item evaluated, exactly as DynamoDB spells it.
    pub(crate) created: String,
    /// Its id.
    pub(crate) task: TaskId,
}

impl Cursor {
    /// The place of a task in the index; the task need not exist.
    #[must_use]
    pub fn at(created: Millis, task: TaskId) -> Self {
        let created = created.0.to_string();
        Self { created, task }
    }

    /// When the task it stands on was created, to the millisecond.
    pub(crate) fn created(&self) -> Millis {
        Millis(parse_number(&self.created).unwrap_or_default())
    }
}

/// `<taskCreated>:<taskId>`, for people to hand back.
impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.created, self.task)
    }
}

/// A text that is not a place in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not <taskCreated>:<taskId>, as an earlier answer printed it")]
pub struct InvalidCursor;

impl FromStr for Cursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let (created, task) = text.split_once(':').ok_or(InvalidCursor)?;
        if parse_number(created).is_none() || task.is_empty() {
            return Err(InvalidCursor);
        }
        Ok(Self {
            created: created.to_owned(),
            task: TaskId::from_stored(task),
        })
    }
}

/// A DynamoDB number rounded down; a foreign writer may have left decimals or an exponent.
pub(crate) fn parse_number(digits: &str) -> Option<i64> {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "saturates, which is what is wanted"
    )]
    digits
        .parse()
        .ok()
        .or_else(|| digits.parse::<f64>().ok().map(|value| value.floor() as i64))
}

/// A page of the index, in the order that was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// What the index says of each task.
    pub candidates: Vec<Candidate>,
    /// Where to go on; `None` at the index's end.
    pub next: Option<Cursor>,
}

/// A task as the index shows it: enough to decide whether to take it.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its identity.
    pub id: TaskId,
    /// When it was created.
    pub created: Millis,
    /// When it is shed.
    pub ttl: Ttl,
    /// It may not start before.
    pub not_before: Option<Millis>,
    /// Attempts that counted so far.
    pub attempts: u32,
    /// A lease of it expired, and no run settled it since: it may have killed its process.
    pub lease_ran_out: bool,
}

/// A page of the index under TAKEN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TakenPage {
    /// The leases that stand.
    pub leases: Vec<StandingLease>,
    /// Where to go on; `None` at the index's end.
    pub next: Option<Cursor>,
}

/// A lease as the index shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingLease {
    /// The lease.
    pub lease: Lease,
    /// Attempts that count, this one included.
    pub attempts: u32,
}
