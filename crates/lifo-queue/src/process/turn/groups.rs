//! Applies the limits of individual groups during a turn.

use aws::error_chain;

use super::Turn;
use crate::process::health::{GroupLimits, UnsavedGroups};
use crate::process::select::DEEP_PAGE;
use crate::store::{Order, PageQuery, StandingLease, StoreError};
use crate::task::TaskStatus;
use crate::time::Millis;

/// Maximum number of index pages read to count the TAKEN tasks.
const MAX_PAGES: u32 = 100;

impl Turn<'_> {
    /// Applies the operators' overrides, as last read.
    pub(super) fn update_groups(&mut self) {
        let lease = self.processor.settings.processor_lease;
        if let Some(groups) = self.downstream.lock().groups() {
            self.heartbeat.update_groups(groups, lease);
        }
    }

    /// Reads and applies the operators' overrides after a wake-up request.
    pub(super) async fn read_groups(&self) -> Result<(), StoreError> {
        if self.processor.settings.groups.is_some() {
            let states = self.processor.store.groups().await?;
            if let Some(groups) = self.downstream.lock().groups() {
                groups.change(&states);
            }
        }
        Ok(())
    }

    /// If the previous processor did not release its lease, counts the tasks that it may still run.
    /// Until this count is complete, no task starts in a group with a concurrency limit.
    pub(super) async fn count_taken(&mut self) {
        let now = self.now();
        let must_count = |groups: &mut GroupLimits| groups.must_count(now);
        if !self.downstream.lock().groups().is_some_and(must_count) {
            return;
        }
        let taken = self.taken(now).await;
        let mut downstream = self.downstream.lock();
        let Some(groups) = downstream.groups() else {
            return;
        };
        match taken {
            Ok(leases) => groups.counted(&leases),
            Err(error) => {
                self.summary.store_errors += 1;
                let error = error_chain::chain(&error);
                tracing::warn!(error, "TAKEN tasks not counted; retrying");
                groups.count_later(self.processor.clock.now());
            }
        }
    }

    async fn taken(&self, now: Millis) -> Result<Vec<StandingLease>, StoreError> {
        let (mut leases, mut after) = (Vec::new(), None);
        for _ in 0..MAX_PAGES {
            let query = PageQuery {
                status: TaskStatus::Taken.into(),
                order: Order::NewestFirst,
                created_from: None,
                after,
                limit: DEEP_PAGE,
                now,
            };
            let page = self.processor.store.taken_page(&query).await?;
            leases.extend(page.leases);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        Ok(leases)
    }

    /// The group state that the next processor needs; `None` if the table already contains it.
    pub(super) fn unsaved_groups(&self, now: Millis) -> Option<UnsavedGroups> {
        self.downstream.lock().unsaved_groups(now)
    }

    /// Writes the group state that the next processor needs, before the lease is released.
    pub(super) async fn save_groups(&self) -> Result<(), StoreError> {
        let Some(unsaved) = self.unsaved_groups(self.now()) else {
            return Ok(());
        };
        self.processor.save_groups(self.owner, &unsaved).await?;
        if let Some(groups) = self.downstream.lock().groups() {
            groups.saved(unsaved.learned, self.owner);
        }
        Ok(())
    }
}
