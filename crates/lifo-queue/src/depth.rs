//! The number of tasks with a given status: exact up to [`MAX_COUNT`], a lower bound above it.
//!
//! DynamoDB does not provide this number, so counting reads the index. Expired tasks do not count,
//! because they will not start, even if DynamoDB has not deleted them yet.

use std::fmt;

use serde::Serialize;

use crate::store::{Order, PageQuery, QueueStore, StoreError};
use crate::task::TaskStatus;
use crate::time::Millis;

/// Maximum exact count.
pub const MAX_COUNT: u32 = 10_000;

/// Number of index items evaluated in one read.
const PAGE: u16 = 1_000;

/// Maximum number of pages read for one count. Expired items that DynamoDB has not deleted yet fill
/// pages without adding to the count.
const MAX_PAGES: u32 = 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Depth {
    pub count: u32,
    /// Whether the number is exact. Otherwise, there may be more tasks.
    pub exact: bool,
}

impl Depth {
    pub(crate) fn add(&mut self, tasks: usize) {
        let tasks = u32::try_from(tasks).unwrap_or(u32::MAX);
        self.count = self.count.saturating_add(tasks);
    }

    /// Caps the count at [`MAX_COUNT`]; above that, the count is incomplete.
    pub(crate) fn cap(&mut self) {
        self.count = self.count.min(MAX_COUNT);
    }
}

impl fmt::Display for Depth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.exact {
            true => write!(f, "{}", self.count),
            false => write!(f, "at least {}", self.count),
        }
    }
}

/// Counts the tasks with the given status that were created at `created_from` or later.
pub async fn measure(
    store: &dyn QueueStore,
    status: TaskStatus,
    created_from: Option<Millis>,
    now: Millis,
) -> Result<Depth, StoreError> {
    let mut depth = Depth::default();
    let mut query = PageQuery {
        status: status.into(),
        order: Order::NewestFirst,
        created_from,
        after: None,
        limit: PAGE,
        now,
    };
    for _ in 0..MAX_PAGES {
        let page = store.pending_page(&query).await?;
        depth.add(
            page.candidates
                .iter()
                .filter(|task| !task.ttl.is_expired(now))
                .count(),
        );
        query.after = page.next;
        if query.after.is_none() || depth.count > MAX_COUNT {
            break;
        }
    }
    depth.exact = query.after.is_none() && depth.count <= MAX_COUNT;
    depth.cap();
    Ok(depth)
}

/// Creation time of the oldest PENDING task that has not expired. `None` if there is no such task,
/// or if a bounded number of reads found only expired tasks.
pub async fn oldest(
    store: &dyn QueueStore,
    created_from: Option<Millis>,
    now: Millis,
) -> Result<Option<Millis>, StoreError> {
    let mut query = PageQuery {
        status: TaskStatus::Pending.into(),
        order: Order::OldestFirst,
        created_from,
        after: None,
        limit: PAGE,
        now,
    };
    for _ in 0..MAX_PAGES {
        let page = store.pending_page(&query).await?;
        let live = page
            .candidates
            .iter()
            .find(|task| !task.ttl.is_expired(now));
        query.after = page.next;
        if live.is_some() || query.after.is_none() {
            return Ok(live.map(|task| task.created));
        }
    }
    Ok(None)
}
