//! Ends expired task leases.

use super::{MAX_PAGES, PAGE, SweepReport, Sweeper};
use crate::depth::MAX_COUNT;
use crate::store::{Order, PageQuery, StandingLease, StoreError, Written};
use crate::task::{Reclaim, TaskId, TaskStatus};
use crate::time::Millis;

struct Reclaimed {
    /// The task's new status.
    status: TaskStatus,
    /// Whether a newer state of the key was written during the run.
    overtaken: bool,
}

impl Sweeper {
    /// Returns or fails tasks whose lease has expired.
    pub(super) async fn sweep_taken(&self, report: &mut SweepReport) -> Result<(), StoreError> {
        let mut after = None;
        for _ in 0..MAX_PAGES {
            let now = self.clock.now();
            let query = PageQuery {
                status: TaskStatus::Taken.into(),
                order: Order::NewestFirst,
                // No age limit, because every TAKEN task must end.
                created_from: None,
                after,
                limit: PAGE,
                now,
            };
            let page = self.store.taken_page(&query).await?;
            report.pages += 1;
            report.taken.add(page.leases.len());
            let has_expired =
                |held: &&StandingLease| held.lease.until.plus(self.settings.clock_skew) <= now;
            let mut changes = Vec::new();
            for held in page.leases.iter().filter(has_expired) {
                changes.push(self.reclaim(held, now));
            }
            for end in self.make(changes, report).await.into_iter().flatten() {
                report.returned += u32::from(end.status == TaskStatus::Pending);
                report.failed += u32::from(end.status == TaskStatus::Failure);
                report.superseded += u32::from(end.overtaken);
            }
            after = page.next;
            if after.is_none() {
                report.taken.exact = report.taken.count <= MAX_COUNT;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Ends the lease. Returns the task and the result; `None` if the item has since changed.
    async fn reclaim(
        &self,
        held: &StandingLease,
        now: Millis,
    ) -> (TaskId, Result<Option<Reclaimed>, StoreError>) {
        let task = held.lease.task.clone();
        (task, self.fail_or_return(held, now).await)
    }

    /// Fails a task whose attempts are used up, but only if it ran alone. Otherwise, another task
    /// may have crashed the process, so this task starts once more, alone (S4). A key whose newer
    /// states reset its attempts fails after the same number of crashes.
    async fn fail_or_return(
        &self,
        held: &StandingLease,
        now: Millis,
    ) -> Result<Option<Reclaimed>, StoreError> {
        let max_crashes = self.settings.max_attempts;
        let keep_until = now.ceil_seconds().plus(self.settings.failure_retention);
        if held.attempts >= self.settings.max_attempts {
            let failed = self.apply(held, &Reclaim::Fail { keep_until }, now).await?;
            if failed.is_some() {
                return Ok(failed);
            }
        }
        let not_before = now.plus(self.settings.backoff.draw(held.attempts));
        let back = Reclaim::Return {
            not_before,
            max_crashes,
        };
        let returned = self.apply(held, &back, now).await?;
        if returned.is_some() {
            return Ok(returned);
        }
        // The key has crashed its processes too often, or the item has since changed.
        let fail = Reclaim::FailCrashing {
            keep_until,
            max_crashes,
        };
        self.apply(held, &fail, now).await
    }

    async fn apply(
        &self,
        held: &StandingLease,
        reclaim: &Reclaim,
        now: Millis,
    ) -> Result<Option<Reclaimed>, StoreError> {
        let overtaken = match self.store.reclaim(&held.lease, reclaim, now).await? {
            Written::Lost => return Ok(None),
            Written::Done => false,
            Written::Overtaken => true,
        };
        let status = reclaim.status();
        let attempts = held.attempts;
        tracing::warn!(task_id = %held.lease.task, attempts, %status, overtaken, "lease expired");
        Ok(Some(Reclaimed { status, overtaken }))
    }
}
