//! The sweep. Every minute, `sweep-agents` publishes remaining events, ends expired call leases,
//! restores missing queue entries, expires old calls, and measures. It also assigns pending calls
//! that a crashed process left between its write and its read.
//!
//! Two sweeps may run at once: every change has the same conditions as those of other processes. A
//! failed part is counted and reported, and the others continue. Publishing comes first, and no
//! part takes more than its share of the time.

mod entries;

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use crate::call::{Call, CallState, OutboxEntry, OutboxEvent};
use crate::publish::{Published, Publisher};
use crate::queue::{AgentQueue, Outcome, QueueError};
use crate::store::StoreError;
use crate::time::Micros;
use crate::transaction::{CallLease, Change, Step};

/// The results of one sweep.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SweepReport {
    /// Agents made available, because their call lease expired.
    pub returned: u32,
    /// Calls returned to their lines, because the agent did not answer.
    pub calls_returned: u32,
    /// Missing entries of queued agents, written again.
    pub restored: u32,
    /// Pending calls assigned.
    pub assigned: u32,
    /// Calls that expired.
    pub expired: u32,
    /// Assignments published.
    pub published: u32,
    /// Expired calls sent to the dead-letter queue.
    pub dead_lettered: u32,
    /// Events that could not be published.
    pub untold: u32,
    /// Queued agents.
    pub queued_agents: u64,
    /// Pending calls.
    pub waiting_calls: u64,
    /// Wait of the oldest pending call, in microseconds.
    pub oldest_waiting_micros: u64,
    /// Whether all parts finished; if not, the next sweep continues.
    pub complete: bool,
}

/// A sweep with failed steps.
#[derive(Debug, thiserror::Error)]
#[error(
    "the sweep did what it could, but {failures} of its steps failed; the next sweep repeats them. The first failure"
)]
pub struct SweepError {
    /// The results of the other steps.
    pub report: SweepReport,
    /// How many steps failed.
    pub failures: usize,
    /// The first failure.
    pub source: QueueError,
}

/// Number of items read at once.
const PAGE: u16 = 100;

/// Age at which the sweep publishes an assignment, if the process that made it has not done so.
const GRACE: Duration = Duration::from_secs(5);

/// A running sweep.
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
    /// [`SweepError`] with the report: finished changes remain, and the next sweep continues.
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
        if let Err(error) = self.store.adopt().await {
            sweep.failed(error.into());
        }
        sweep.publish_forgotten(self.share(3)).await;
        sweep.return_agents(self.share(3)).await;
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

    /// The same queue, with one of `parts` equal parts of the remaining time.
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
        tracing::error!(%error, "a step of the sweep failed; the others go on");
        self.report.complete = false;
        self.errors.push(error);
    }

    fn delete_published(&mut self, published: Result<Published, QueueError>) {
        match published {
            Ok(published) => {
                self.report.published += published.published;
                self.report.dead_lettered += published.dead_lettered;
                self.report.untold += published.failed;
            }
            Err(error) => self.failed(error),
        }
    }

    /// Publishes the entries that no other process publishes, page by page. A page that cannot be
    /// published does not block the others.
    async fn publish_forgotten(&mut self, queue: AgentQueue) {
        let now = queue.clock.now();
        // Entries up to and including `now`.
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

    /// Ends expired call leases: attendingCall → available.
    async fn return_agents(&mut self, queue: AgentQueue) {
        let now = queue.clock.now();
        let mut after: Option<CallLease> = None;
        loop {
            let page = queue.store.leases(after.as_ref(), now, PAGE).await;
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
                    Ok(Returned { agent, call }) => {
                        self.report.returned += u32::from(agent);
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

    /// Serves every line, in case the process that wrote last has crashed before it did.
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
        let restored = async { queue.restore_entries(&queue.all_agents().await?).await };
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
        match self.queue.store.waiting().await {
            Ok(lines) => self.report.waiting_calls = lines.iter().map(|line| line.depth).sum(),
            Err(error) => self.failed(error.into()),
        }
        let now = self.queue.clock.now();
        match self.queue.first_of_lines().await {
            Ok(calls) => {
                let waited = calls.iter().map(|call| now.since(call.arrived)).max();
                let waited = waited.unwrap_or_default().as_micros();
                self.report.oldest_waiting_micros = u64::try_from(waited).unwrap_or(u64::MAX);
            }
            Err(error) => self.failed(error),
        }
    }
}

impl AgentQueue {
    /// Ends an expired call lease. The change depends on the lease as read, so it fails if the
    /// lease was extended since.
    async fn return_agent(&self, lease: &CallLease, now: Micros) -> Result<Returned, QueueError> {
        let call = match lease.answered {
            true => None,
            false => self.assigned_by(lease).await?,
        };
        let change = match &call {
            Some(call) => {
                self.reopen_line(&call.criteria).await?;
                Change::return_call(lease, call, now)
            }
            None => Change::take_back(lease, now),
        };
        let refusals = match self.commit("return", &change).await? {
            Outcome::Done => {
                tracing::warn!(agent = %lease.agent, call = %lease.call, "call lease expired");
                return Ok(Returned {
                    agent: true,
                    call: call.is_some(),
                });
            }
            Outcome::Refused(refusals) => refusals,
        };
        // The call was finished or extended meanwhile, which also deletes this lease. A lease that
        // remains is deleted here.
        let of_agent = |step: usize| matches!(change.steps.get(step), Some(Step::Agent(_)));
        if refusals.iter().any(|refusal| of_agent(refusal.step)) {
            let end = Change::end_lease(lease);
            self.commit("delete a lease", &end).await?;
        }
        Ok(Returned::default())
    }

    /// The call of a lease, if it is still assigned with the lease's ticket.
    async fn assigned_by(&self, lease: &CallLease) -> Result<Option<Call>, QueueError> {
        let record = match self.store.call(&lease.call).await {
            Err(error @ StoreError::Undecodable { .. }) => {
                tracing::error!(%error, "unreadable call not returned to its line");
                None
            }
            record => record?,
        };
        Ok(record.and_then(|record| match record.state {
            CallState::Assigned(made) if made.ticket == lease.ticket => Some(record.call),
            _ => None,
        }))
    }
}

/// Whether an expired lease returned its agent, and its call.
#[derive(Clone, Copy, Debug, Default)]
struct Returned {
    agent: bool,
    call: bool,
}

/// Whether the sweep publishes an entry: every expired call, and each assignment after [`GRACE`].
fn is_forgotten(entry: &OutboxEntry, now: Micros) -> bool {
    match entry.event {
        OutboxEvent::Expired(_) => true,
        OutboxEvent::Assigned(_) => entry.at.plus(GRACE) <= now,
    }
}
