//! The sweep. Every minute, `sweep-agents` publishes remaining events, ends expired call leases,
//! restores missing queue entries, expires old calls, and takes measurements. It also assigns
//! pending calls that a crashed process left between its write and its read.
//!
//! Two sweeps can run concurrently, because every change has the same conditions as those of other
//! processes. If a part fails, the sweep counts and reports the failure and continues with the
//! other parts. No part takes more than its share of the time.

mod entries;
mod leases;

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use self::leases::Returned;
use crate::call::{OutboxEntry, OutboxEvent};
use crate::publish::{Published, Publisher};
use crate::queue::{AgentQueue, QueueError, Result};
use crate::time::Micros;
use crate::transaction::CallLease;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SweepReport {
    /// Number of agents made available because their call lease expired.
    pub returned: u32,
    /// Number of calls returned to their lines because the agent did not answer.
    pub calls_returned: u32,
    pub undone: u32,
    pub restored: u32,
    pub assigned: u32,
    pub expired: u32,
    pub published: u32,
    /// Number of expired calls sent to the dead-letter queue.
    pub dead_lettered: u32,
    pub untold: u32,
    pub queued_agents: u64,
    pub pending_calls: u64,
    /// Wait of the oldest pending call, in microseconds.
    pub oldest_pending_micros: u64,
    /// Whether all parts finished. If not, the next sweep continues.
    pub complete: bool,
}

#[derive(Debug, thiserror::Error)]
#[error("{failures} steps of the sweep failed; the next sweep retries them. The first failure")]
pub struct SweepError {
    pub report: SweepReport,
    pub failures: usize,
    pub source: QueueError,
}

const PAGE: u16 = 100;

/// Minimum age of an assignment that the sweep publishes instead of the process that made it.
const GRACE: Duration = Duration::from_secs(5);

/// Maximum difference of the processes' clocks. The sweep ends a call lease this long after its
/// expiry, so that an agent that answers in time by another process's clock keeps its call.
pub const CLOCK_SKEW: Duration = Duration::from_millis(500);

struct Sweep<'a> {
    queue: AgentQueue,
    publisher: &'a dyn Publisher,
    report: SweepReport,
    errors: Vec<QueueError>,
    /// The outbox entries that this sweep has tried to publish.
    tried: BTreeSet<String>,
}

impl AgentQueue {
    /// Runs one sweep, until the queue's deadline.
    ///
    /// # Errors
    /// [`SweepError`] with the report, if a part failed. The next sweep repeats the failed parts.
    pub async fn sweep(&self, publisher: &dyn Publisher) -> Result<SweepReport, SweepError> {
        let mut sweep = Sweep {
            queue: self.clone(),
            publisher,
            report: SweepReport {
                complete: true,
                ..SweepReport::default()
            },
            errors: vec![],
            tried: BTreeSet::new(),
        };
        // Must run first, so that no assignment is published after its time to answer has passed.
        sweep.return_agents(self.share(4)).await;
        sweep.publish_forgotten(self.share(3)).await;
        sweep.restore_entries(self.share(3)).await;
        sweep.serve(self.share(2)).await;
        // Publish the calls that expired just now.
        if sweep.report.expired > 0 {
            sweep.publish_forgotten(self.share(2)).await;
        }
        if let Err(error) = self.close_lines().await {
            sweep.failed(error);
        }
        sweep.measure().await;
        let Sweep { report, errors, .. } = sweep;
        let failures = errors.len();
        match errors.into_iter().next() {
            None => Ok(report),
            Some(source) => Err(SweepError {
                report,
                failures,
                source,
            }),
        }
    }

    /// Returns the same queue, limited to one of `parts` equal shares of the remaining time.
    fn share(&self, parts: u32) -> Self {
        match self.deadline() {
            None => self.clone(),
            Some(deadline) => {
                let now = Instant::now();
                self.until(now + deadline.saturating_duration_since(now) / parts)
            }
        }
    }
}

impl Sweep<'_> {
    fn failed(&mut self, error: QueueError) {
        tracing::error!(%error, "a step of the sweep failed; the others continue");
        self.report.complete = false;
        self.errors.push(error);
    }

    fn delete_published(&mut self, published: Result<Published>) {
        match published {
            Ok(published) => {
                self.report.published += published.published;
                self.report.dead_lettered += published.dead_lettered;
                self.report.untold += published.failed;
            }
            Err(error) => self.failed(error),
        }
    }

    /// Publishes the entries that no other process publishes, page by page. A page that fails does
    /// not block the others.
    async fn publish_forgotten(&mut self, queue: AgentQueue) {
        let now = queue.clock.now();
        // Include the entries that were written at `now`.
        let until = Micros(now.0.saturating_add(1));
        let mut after: Option<OutboxEntry> = None;
        loop {
            if queue.is_over() {
                self.report.complete = false;
                return;
            }
            let page = queue
                .store
                .outbox_entries(after.as_ref(), until, PAGE)
                .await;
            let outbox = match page {
                Ok(outbox) => outbox,
                Err(error) => return self.failed(error.into()),
            };
            let last = outbox.len() < usize::from(PAGE);
            after = outbox.last().cloned();
            let due: Vec<_> = outbox
                .into_iter()
                .filter(|entry| is_forgotten(entry, now) && self.tried.insert(entry.sort_key()))
                .collect();
            let published = queue.publish(self.publisher, &due).await;
            self.delete_published(published);
            if last {
                return;
            }
        }
    }

    /// Ends expired call leases (attendingCall → available).
    async fn return_agents(&mut self, queue: AgentQueue) {
        let now = queue.clock.now();
        let mut after: Option<CallLease> = None;
        loop {
            let expired = now.minus(CLOCK_SKEW);
            let page = queue.store.leases(after.as_ref(), expired, PAGE).await;
            let leases = match page {
                Ok(leases) => leases,
                Err(error) => return self.failed(error.into()),
            };
            let last = leases.len() < usize::from(PAGE);
            for lease in &leases {
                if queue.is_over() {
                    self.report.complete = false;
                    return;
                }
                match queue.return_agent(lease, now).await {
                    Ok(Returned::Nothing) => {}
                    Ok(Returned::Undone) => self.report.undone += 1,
                    Ok(Returned::Agent { call }) => {
                        self.report.returned += 1;
                        self.report.calls_returned += u32::from(call);
                    }
                    Err(error) => self.failed(error),
                }
            }
            after = leases.into_iter().last();
            if last {
                return;
            }
        }
    }

    /// Serves every line, in case the last writer crashed before it served the line.
    async fn serve(&mut self, queue: AgentQueue) {
        let (served, errors) = queue.serve_lines().await;
        for error in errors {
            self.failed(error);
        }
        self.report.complete &= !served.cut_short;
        self.report.expired += served.expired;
        self.report.assigned += u32::try_from(served.assignments.len()).unwrap_or(u32::MAX);
        let published = queue.publish_assignments(self.publisher, &served.assignments);
        let published = published.await;
        self.delete_published(published);
    }

    async fn restore_entries(&mut self, queue: AgentQueue) {
        let restored = async {
            queue
                .restore_entries(&queue.store.all_agents().await?)
                .await
        };
        match restored.await {
            Ok(restored) => self.report.restored += restored,
            Err(error) => self.failed(error),
        }
    }

    async fn measure(&mut self) {
        // An agent may be in several queues, so the sum of the depths is not the number of agents.
        match self.queue.queued_agents().await {
            Ok(queued) => self.report.queued_agents = queued,
            Err(error) => self.failed(error),
        }
        match self.queue.store.pending().await {
            Ok(lines) => self.report.pending_calls = lines.iter().map(|line| line.depth).sum(),
            Err(error) => self.failed(error.into()),
        }
        let now = self.queue.clock.now();
        match self.queue.first_of_lines().await {
            Ok(calls) => {
                let waited = calls.iter().map(|call| now.since(call.arrived)).max();
                let waited = waited.unwrap_or_default().as_micros();
                self.report.oldest_pending_micros = u64::try_from(waited).unwrap_or(u64::MAX);
            }
            Err(error) => self.failed(error),
        }
    }
}

/// Whether the sweep publishes an entry. It publishes assignments only after [`GRACE`].
fn is_forgotten(entry: &OutboxEntry, now: Micros) -> bool {
    match entry.event {
        OutboxEvent::Expired(_) => true,
        OutboxEvent::Assigned(_) => entry.at.plus(GRACE) <= now,
    }
}
