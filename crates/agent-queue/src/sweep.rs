//! What fell between: every minute, `sweep-agents` takes back agents whose call never ended,
//! gives up calls that waited for too long, looks again for pairs left by a crash between write
//! and look, tells what was not told, and measures.
//!
//! Safe to run twice at once: every step has the same conditions as anybody's.

use std::time::Duration;

use serde::Serialize;

use crate::call::{News, Notice};
use crate::change::Change;
use crate::queue::{AgentQueue, Outcome, QueueError};
use crate::tell::{Teller, Told};
use crate::time::Micros;

/// What one sweep did and found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SweepReport {
    /// Agents taken back from calls that never ended.
    pub returned: u32,
    /// Pairs that had been left behind.
    pub assigned: u32,
    /// Calls that waited for too long.
    pub expired: u32,
    /// Assignments published that had not been.
    pub published: u32,
    /// Calls put into the dead-letter queue.
    pub dead_lettered: u32,
    /// What is left to be told.
    pub untold: u32,
    /// Agents who wait.
    pub queued_agents: u64,
    /// Calls that wait.
    pub waiting_calls: u64,
    /// How long the oldest of them has waited, in microseconds.
    pub oldest_waiting_micros: u64,
    /// Whether it came to the end of everything; if not, the next sweep goes on.
    pub complete: bool,
}

/// How many items are read at once.
const PAGE: u16 = 100;

/// How many pages of each kind a sweep works through.
const PAGES: usize = 10;

/// Whoever made an assignment tells it at once; after this long it counts as forgotten.
const GRACE: Duration = Duration::from_secs(5);

impl AgentQueue {
    /// One sweep.
    ///
    /// # Errors
    /// [`QueueError`]; what was done stays done, and the next sweep goes on.
    pub async fn sweep(&self, teller: &dyn Teller) -> Result<SweepReport, QueueError> {
        let mut report = SweepReport {
            complete: true,
            ..SweepReport::default()
        };
        self.take_back(&mut report).await?;
        let mut told = self.serve_all(teller, &mut report).await?;
        told += self.tell_forgotten(teller, &mut report).await?;
        report.published = told.published;
        report.dead_lettered = told.dead_lettered;
        report.untold = told.failed;
        self.measure(&mut report).await?;
        Ok(report)
    }

    /// attendingCall → available, where the lease ran out.
    async fn take_back(&self, report: &mut SweepReport) -> Result<(), QueueError> {
        let now = self.clock.now();
        for _ in 0..PAGES {
            let leases = self.store.leases(now, PAGE).await?;
            let last = leases.len() < usize::from(PAGE);
            for lease in &leases {
                let change = Change::take_back(lease, now);
                match self.commit("take back", &change).await? {
                    Outcome::Done => report.returned += 1,
                    // Finished meanwhile, and the lease with it: this deletes what is not there.
                    Outcome::Refused(_) => {
                        self.commit("forget a lease", &Change::end_lease(lease))
                            .await?;
                    }
                }
            }
            if last {
                return Ok(());
            }
        }
        report.complete = false;
        Ok(())
    }

    /// Every criteria that somebody waits for, as whoever writes last would have done.
    async fn serve_all(
        &self,
        teller: &dyn Teller,
        report: &mut SweepReport,
    ) -> Result<Told, QueueError> {
        let mut told = Told::default();
        for count in self.store.waiting().await? {
            if count.depth == 0 {
                continue;
            }
            let served = self.serve(&count.criteria).await?;
            report.expired += served.expired;
            report.assigned += u32::try_from(served.assignments.len()).unwrap_or(u32::MAX);
            told += self.tell_assignments(teller, &served.assignments).await?;
        }
        Ok(told)
    }

    async fn tell_forgotten(
        &self,
        teller: &dyn Teller,
        report: &mut SweepReport,
    ) -> Result<Told, QueueError> {
        let now = self.clock.now();
        let mut told = Told::default();
        for _ in 0..PAGES {
            // Up to and with this very moment.
            let until = Micros(now.0.saturating_add(1));
            let notices = self.store.notices(until, PAGE).await?;
            let last = notices.len() < usize::from(PAGE);
            let due: Vec<_> = notices
                .into_iter()
                .filter(|notice| is_forgotten(notice, now))
                .collect();
            let these = self.tell(teller, &due).await?;
            told += these;
            if last {
                return Ok(told);
            }
            if these.failed > 0 || due.is_empty() {
                break;
            }
        }
        report.complete = false;
        Ok(told)
    }

    async fn measure(&self, report: &mut SweepReport) -> Result<(), QueueError> {
        // An agent waits in several queues, so depths do not add up to agents.
        report.queued_agents = self.queued_agents().await?;
        let now = self.clock.now();
        for count in self.store.waiting().await? {
            report.waiting_calls += count.depth;
            if count.depth == 0 {
                continue;
            }
            let oldest = self.store.waiting_calls(&count.criteria, 1).await?;
            for call in oldest {
                let waited = now.since(call.arrived).as_micros();
                let waited = u64::try_from(waited).unwrap_or(u64::MAX);
                report.oldest_waiting_micros = report.oldest_waiting_micros.max(waited);
            }
        }
        Ok(())
    }
}

/// What nobody tells at once: expired calls, and assignments whose maker has had the time.
fn is_forgotten(notice: &Notice, now: Micros) -> bool {
    match notice.news {
        News::Expired(_) => true,
        News::Assigned(_) => notice.at.plus(GRACE) <= now,
    }
}
