//! Pages of the index: query, cursor and entries.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

use aws::store_error::{StoreError, VALIDATION};

use crate::task::{Lease, StatusKey, TaskId, Ttl};
use crate::time::Millis;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageQuery {
    /// Partition of the index.
    pub status: StatusKey,
    /// Newest or oldest first.
    pub order: Order,
    /// Minimum `taskCreated`; `None` for no limit. Older tasks cost no reads.
    pub created_from: Option<Millis>,
    /// End of the previous page; `None` for the first page.
    pub after: Option<Cursor>,
    /// Maximum number of index entries to evaluate. Expired tasks count too.
    pub limit: u16,
    /// Current time, to exclude expired tasks.
    pub now: Millis,
}

impl PageQuery {
    /// Rejects a cursor that DynamoDB rejects as a start key: one without a task id, because a key
    /// must not be an empty string, and one below `created_from`, because it does not meet the sort
    /// key condition. Every store calls this method, because a local AWS may accept such a key.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let Some(cursor) = &self.after else {
            return Ok(());
        };
        let created = &cursor.created;
        let fault = match self.created_from {
            _ if cursor.task.as_str().is_empty() => {
                format!("the task id of the page's start at taskCreated {created} is empty")
            }
            Some(from) if cursor.created() < from => {
                let from = from.0;
                format!("the page starts at taskCreated {created}, below its bound of {from}")
            }
            _ => return Ok(()),
        };
        Err(StoreError::Rejected {
            operation: "Query",
            code: VALIDATION.to_owned(),
            source: fault.into(),
        })
    }
}

/// The order in which the index is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Order {
    /// Highest `taskCreated` first: the queue's default order.
    #[serde(rename = "newest-first")]
    NewestFirst,
    /// Lowest `taskCreated` first: used to find the oldest task, and by queues with the order
    /// `oldest-key-first`.
    #[serde(rename = "oldest-key-first")]
    OldestFirst,
}

impl Order {
    /// Compares two creation times: the time that comes first in this order is the lesser one.
    pub(crate) fn compare(self, one: Millis, other: Millis) -> Ordering {
        match self {
            Self::NewestFirst => other.cmp(&one),
            Self::OldestFirst => one.cmp(&other),
        }
    }
}

/// The id in a cursor at a time. A start key needs an id, which may be that of no task. The order of
/// tasks that were created in the same millisecond is undefined.
const ANY_TASK: &str = "~";

/// The end of an index page: the last evaluated entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// `taskCreated` of the entry, exactly as DynamoDB formats it.
    pub(crate) created: String,
    pub(crate) task: TaskId,
}

impl Cursor {
    /// A cursor from which a search, newest first, continues with the tasks that were created before
    /// `created`.
    #[must_use]
    pub fn older_than(created: Millis) -> Self {
        Self::at(created, TaskId::from_stored(ANY_TASK))
    }

    /// A cursor at a task's position in the index. The task doesn't have to exist.
    #[must_use]
    pub(crate) fn at(created: Millis, task: TaskId) -> Self {
        let created = created.0.to_string();
        Self { created, task }
    }

    /// `taskCreated` of the entry, rounded down to whole milliseconds.
    pub(crate) fn created(&self) -> Millis {
        Millis(parse_number(&self.created).unwrap_or_default())
    }
}

/// Formats the cursor as `<taskCreated>:<taskId>`, so that an operator can continue a search.
impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.created, self.task)
    }
}

/// The text is not a [`Cursor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not in the form <taskCreated>:<taskId>; copy it from an earlier response")]
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

/// Parses a DynamoDB number and rounds it down. A direct writer may have written decimals or an
/// exponent.
pub(crate) fn parse_number(digits: &str) -> Option<i64> {
    digits
        .parse()
        .ok()
        .or_else(|| digits.parse::<f64>().ok().map(|value| value.floor() as i64))
}

/// An index page, in query order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The tasks, as the index shows them.
    pub candidates: Vec<Candidate>,
    /// Cursor for the next page; `None` at the end of the index.
    pub next: Option<Cursor>,
}

/// A task as the index shows it, with the attributes that decide whether to take it.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub id: TaskId,
    /// `taskCreated`.
    pub created: Millis,
    /// `ttl`: the task's expiry.
    pub ttl: Ttl,
    /// Earliest start; `None` if the task is not delayed.
    pub not_before: Option<Millis>,
    /// Number of attempts so far that count against the maximum.
    pub attempts: u32,
    /// Whether a lease of the task expired and no run has settled the task since. The task may have
    /// crashed its process.
    pub lease_expired: bool,
}

/// A page of TAKEN tasks in the index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TakenPage {
    /// Leases of the page's tasks, live and expired. Excludes tasks that no take wrote.
    pub leases: Vec<StandingLease>,
    /// Cursor for the next page; `None` at the end of the index.
    pub next: Option<Cursor>,
}

/// A lease as the index shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingLease {
    pub lease: Lease,
    /// Number of attempts that count against the maximum, including this one.
    pub attempts: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::TaskStatus;

    #[test]
    fn start_keys_that_dynamodb_rejects_are_rejected_before_the_request() {
        let query = |after, created_from| PageQuery {
            status: TaskStatus::Pending.into(),
            order: Order::NewestFirst,
            created_from,
            after,
            limit: 1,
            now: Millis(9),
        };
        let at = |created, id| Some(Cursor::at(Millis(created), TaskId::from_stored(id)));
        let older = Some(Cursor::older_than(Millis(5)));
        for (after, from, accepted) in [
            (None, None, true),
            (at(5, ""), None, false),
            (at(5, "a"), Some(Millis(5)), true),
            (at(5, "a"), Some(Millis(6)), false),
            (older, None, true),
        ] {
            let checked = query(after.clone(), from).check();
            assert_eq!(checked.is_ok(), accepted, "{after:?} from {from:?}");
        }
    }
}
