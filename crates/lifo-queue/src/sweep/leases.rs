//! Leases that ran out.

use super::{MAX_PAGES, PAGE, SweepReport, Sweeper};
use crate::depth::MAX_COUNT;
use crate::store::{Order, PageQuery, StandingLease, StoreError, Written};
use crate::task::{Reclaim, TaskStatus};
use crate::time::Millis;

impl Sweeper {
    /// Returns or fails tasks whose lease ran out.
    pub(super) async fn sweep_taken(&self, report: &mut SweepReport) -> Result<(), StoreError> {
        let mut after = None;
        for _ in 0..MAX_PAGES {
            let now = self.clock.now();
            let query = PageQuery {
                status: TaskStatus::Taken.into(),
                order: Order::NewestFirst,
                // However old: a task that was taken must come to an end.
                created_from: None,
                after,
                limit: PAGE,
                now,
            };
            let page = self.store.taken_page(&query).await?;
            report.pages += 1;
            report.taken.add(page.leases.len());
            let ran_out =
                |held: &&StandingLease| held.lease.until.plus(self.settings.clock_skew) <= now;
            for held in page.leases.iter().filter(ran_out) {
                self.reclaim(held, now, report).await?;
            }
            after = page.next;
            if after.is_none() {
                report.taken.exact = report.taken.count <= MAX_COUNT;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Once its attempts are used up a task is FAILURE, but only if it ran alone: otherwise a
    /// neighbour may have killed the process, and it gets one start more, alone (S4).
    async fn reclaim(
        &self,
        held: &StandingLease,
        now: Millis,
        report: &mut SweepReport,
    ) -> Result<(), StoreError> {
        if held.attempts >= self.settings.max_attempts {
            let keep_until = now.ceil_seconds().plus(self.settings.failure_retention);
            let fail = Reclaim::Fail { keep_until };
            if self.apply(held, &fail, now).await? == Written::Done {
                report.failed += 1;
                return Ok(());
            }
        }
        let not_before = now.plus(self.settings.backoff.draw(held.attempts));
        let give_back = Reclaim::Return { not_before };
        if self.apply(held, &give_back, now).await? == Written::Done {
            report.returned += 1;
        }
        Ok(())
    }

    async fn apply(
        &self,
        held: &StandingLease,
        reclaim: &Reclaim,
        now: Millis,
    ) -> Result<Written, StoreError> {
        let written = self.store.reclaim(&held.lease, reclaim, now).await?;
        if written == Written::Done {
            let (attempts, status) = (held.attempts, reclaim.status().name());
            tracing::warn!(task_id = %held.lease.task, attempts, status, "lease ran out");
        }
        Ok(written)
    }
}
