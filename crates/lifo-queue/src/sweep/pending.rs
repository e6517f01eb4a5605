//! Wakes a processor for pending tasks, and measures their number and the age of the oldest.

use super::{MAX_PAGES, PAGE, SweepError, SweepReport, Sweeper};
use crate::control::Control;
use crate::depth::{self, MAX_COUNT};
use crate::notify::WakeReason;
use crate::store::{Candidate, Order, PageQuery};
use crate::task::TaskStatus;
use crate::time::Millis;
use crate::wake::Wake;

impl Sweeper {
    /// Wakes a processor if a task is due, corrects direct writers' tasks, and measures pending tasks.
    pub(super) async fn sweep_pending(
        &self,
        event: &str,
        control: &Control,
        report: &mut SweepReport,
    ) -> Result<(), SweepError> {
        let settings = &self.settings;
        let now = self.clock.now();
        let newest = control.newest_from(settings.overload_reach, now);
        let bound = control.created_from(settings.expiry_bound, settings.clock_skew, now);
        let visible_from = newest.max(bound);
        // Without a bound, read every task, because a direct writer's old task may need a `ttl`.
        let created_from = bound.and(visible_from);
        let mut query = PageQuery {
            status: TaskStatus::Pending.into(),
            order: Order::NewestFirst,
            created_from,
            after: None,
            limit: PAGE,
            now: self.clock.now(),
        };
        let groups = match settings.groups {
            true => Some(self.store.groups().await?),
            false => None,
        };
        let mut oldest = None;
        let mut woken = Ok(());
        for _ in 0..MAX_PAGES {
            let now = self.clock.now();
            query.now = now;
            let page = self.store.pending_page(&query).await?;
            report.pages += 1;
            let live = || {
                let visible = page
                    .candidates
                    .iter()
                    .filter(|task| visible_from.is_none_or(|from| task.created >= from));
                visible.filter(|task| !task.ttl.is_expired(now))
            };
            let is_due = |task: &Candidate| {
                let closed = groups
                    .as_ref()
                    .and_then(|groups| groups.closed_until(task.id.group(), now));
                task.not_before.max(closed).is_none_or(|at| at <= now)
            };
            if !report.due && live().any(is_due) {
                report.due = true;
                if !report.woke {
                    // Even if the wake-up fails, pending tasks are measured and corrected.
                    woken = self.wake(event, now).await.map(|woke| report.woke = woke);
                }
            }
            self.adopt(&page.candidates, now, report).await;
            report.pending.add(live().count());
            oldest = live().next_back().map(|task| task.created).or(oldest);
            query.after = page.next;
            if query.after.is_none() || report.pending.count > MAX_COUNT {
                break;
            }
        }
        if (query.after.is_some() || newest.is_some()) && !report.due {
            // A due task may exist beyond the pages that were read. After a processor crashed, the
            // control item may still show an overload, which hides older due tasks from the sweep.
            // A processor reads further.
            let now = self.clock.now();
            report.woke = report.woke || self.wake(event, now).await?;
        }
        report.pending.exact = query.after.is_none() && report.pending.count <= MAX_COUNT;
        if query.after.is_some() {
            let store = &*self.store;
            oldest = depth::oldest(store, visible_from, self.clock.now())
                .await?
                .or(oldest);
        }
        let age = oldest.map(|created| self.clock.now().since(created));
        report.oldest_pending_ms =
            age.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
        report.pending.cap();
        woken
    }

    /// Wakes a processor unless one is active or the queue is paused. An active processor finds the
    /// tasks without a request.
    async fn wake(&self, event: &str, now: Millis) -> Result<bool, SweepError> {
        let control = self.store.control().await?;
        if control.live_lease(now).is_some() || control.is_paused(now) {
            return Ok(false);
        }
        Ok(self.waker.request(event, WakeReason::Sweep).await? == Wake::Published)
    }
}
