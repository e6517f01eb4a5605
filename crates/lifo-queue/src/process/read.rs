//! Index reads: one at a time, on demand or in advance.

use std::sync::Arc;

use tokio::task::JoinHandle;

use super::select::Wanted;
use crate::store::{Cursor, Order, Page, PageQuery, QueueStore, StoreError};
use crate::task::TaskStatus;
use crate::time::{Clock, Millis};
use crate::trace;

pub(super) struct Reads {
    store: Arc<dyn QueueStore>,
    clock: Arc<dyn Clock>,
    order: Order,
    /// Minimum creation time of the tasks that reads return; `None` for no bound.
    pub(super) created_from: Option<Millis>,
    ahead: Option<Ahead>,
    /// Number of pages requested.
    pub(super) queries: u32,
    /// Number of consecutive failed reads.
    pub(super) failed: u32,
    /// Earliest time of the next read beyond the head.
    pub(super) next_deep: Millis,
}

/// A read in progress.
struct Ahead {
    wanted: Wanted,
    asked: Millis,
    page: JoinHandle<Arrived>,
    /// The page, if [`Reads::ready`] has received it.
    arrived: Option<Arrived>,
}

/// A page and its arrival time.
type Arrived = (Result<Page, StoreError>, Millis);

/// A completed read.
pub(super) struct Read {
    pub(super) wanted: Wanted,
    pub(super) asked: Millis,
    /// Time at which the read completed. The turn may handle the page later.
    pub(super) arrived: Millis,
    pub(super) page: Result<Page, StoreError>,
}

impl Reads {
    pub(super) fn new(store: Arc<dyn QueueStore>, clock: Arc<dyn Clock>, order: Order) -> Self {
        Self {
            store,
            clock,
            order,
            created_from: None,
            ahead: None,
            queries: 0,
            failed: 0,
            next_deep: Millis::default(),
        }
    }

    /// Whether a read is in progress or its page has not been handled yet.
    pub(super) fn is_reading(&self) -> bool {
        self.ahead.is_some()
    }

    /// Starts a read, unless one is in progress.
    pub(super) fn start(&mut self, wanted: Wanted, now: Millis) {
        if self.ahead.is_some() {
            return;
        }
        self.queries += 1;
        let query = PageQuery {
            status: TaskStatus::Pending.into(),
            order: self.order,
            created_from: self.bound(&wanted),
            after: wanted.after.clone(),
            limit: wanted.limit,
            now,
        };
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let page = tokio::spawn(trace::inherited(async move {
            let page = store.pending_page(&query).await;
            (page, clock.now())
        }));
        self.ahead = Some(Ahead {
            wanted,
            asked: now,
            page,
            arrived: None,
        });
    }

    /// Returns the lower bound on a page's creation times. It rises with time, but never above the
    /// page's start cursor, because DynamoDB rejects a cursor below the bound. Tasks below both the
    /// cursor and the bound may not start, because they have expired or are too old.
    fn bound(&self, wanted: &Wanted) -> Option<Millis> {
        let start = wanted.after.as_ref().map_or(Millis::MAX, Cursor::created);
        self.created_from.map(|from| from.min(start))
    }

    /// Returns the read in progress if it has completed.
    pub(super) async fn arrived(&mut self) -> Option<Read> {
        match &self.ahead {
            Some(ahead) if ahead.arrived.is_some() || ahead.page.is_finished() => {
                self.finish().await
            }
            _ => None,
        }
    }

    /// Waits until the read in progress has completed. Never returns if no read is in progress.
    pub(super) async fn ready(&mut self) {
        match &mut self.ahead {
            Some(ahead) => ahead.wait(&*self.clock).await,
            None => std::future::pending().await,
        }
    }

    /// Aborts the read in progress, if any.
    pub(super) fn discard(&mut self) {
        if let Some(ahead) = self.ahead.take() {
            ahead.page.abort();
        }
    }

    /// Waits for the page of the read in progress. If there is none, reads the page `wanted`.
    pub(super) async fn next(&mut self, wanted: Wanted, now: Millis) -> Option<Read> {
        self.start(wanted, now);
        self.finish().await
    }

    async fn finish(&mut self) -> Option<Read> {
        // Await the read in place, so that `drop` aborts it if the caller is dropped here.
        self.ahead.as_mut()?.wait(&*self.clock).await;
        let Ahead {
            wanted,
            asked,
            arrived,
            ..
        } = self.ahead.take()?;
        let (page, arrived) = arrived?;
        Some(Read {
            wanted,
            asked,
            arrived,
            page,
        })
    }
}

impl Ahead {
    async fn wait(&mut self, clock: &dyn Clock) {
        if self.arrived.is_some() {
            return;
        }
        let result = (&mut self.page).await;
        self.arrived = Some(result.unwrap_or_else(|error| {
            let page = Err(StoreError::Unanswered {
                operation: "Query",
                source: error.into(),
            });
            (page, clock.now())
        }));
    }
}

/// Aborts the read in progress, so that no work continues after the handler returns.
impl Drop for Reads {
    fn drop(&mut self) {
        self.discard();
    }
}
