//! Executes the commands of `agent-desk`. Commands and responses are JSON.

mod command;
mod response;

use std::sync::Arc;

use tokio::time::Instant;

use crate::agent_lifecycle::Changed;
use crate::call::{Assignment, Call, CallState};
use crate::matching::one_call::Cancel;
use crate::name::AgentId;
use crate::publish::{Published, Publisher};
use crate::queue::{AgentQueue, QueueError};
use crate::seed::{self, SeedError};
use crate::time::Clock;

pub use self::command::{Command, CommandError};
pub use self::response::{AgentView, LineView, PendingView, QueueView, Response};

#[derive(Clone)]
pub struct Desk {
    queue: Arc<AgentQueue>,
    publisher: Arc<dyn Publisher>,
    clock: Arc<dyn Clock>,
    seed_enabled: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeskReport {
    pub assigned: u32,
    pub calls_queued: u32,
    pub cancelled: u32,
    pub expired: u32,
    /// Number of agents that were queued or were assigned a pending call by `enqueue`.
    pub agents_queued: u32,
    pub published: Published,
}

#[derive(Debug, thiserror::Error)]
pub enum DeskError {
    #[error(transparent)]
    Queue(#[from] QueueError),
    #[error(transparent)]
    Seed(#[from] SeedError),
}

impl Desk {
    /// Creates a desk for a queue. The desk publishes assignments immediately.
    pub fn new(
        queue: Arc<AgentQueue>,
        publisher: Arc<dyn Publisher>,
        clock: Arc<dyn Clock>,
        seed_enabled: bool,
    ) -> Self {
        Self {
            queue,
            publisher,
            clock,
            seed_enabled,
        }
    }

    /// Returns a copy of this desk for one invocation. The copy starts no attempt after `deadline`.
    pub fn until(&self, deadline: Instant) -> Self {
        Self {
            queue: Arc::new(self.queue.until(deadline)),
            ..self.clone()
        }
    }

    /// Executes a command.
    pub async fn execute(&self, command: Command) -> Result<(Response, DeskReport), DeskError> {
        let mut report = DeskReport::default();
        let response = match command {
            Command::Register(id, name, profile) => {
                self.changed(self.queue.register(&id, &name, &profile).await?)
            }
            Command::Seed(count) => self.seed(count).await?,
            Command::Available(id) => self.changed(self.queue.become_available(&id).await?),
            Command::Enqueue(id) => self.enqueue(&id, &mut report).await?,
            Command::QueueAllAvailable => {
                let all = self.queue.enqueue_all_available().await?;
                report.agents_queued = u32::try_from(all.queued).unwrap_or(u32::MAX);
                report.expired = all.expired;
                self.publish(&all.assignments, &mut report).await;
                Response::AllQueued {
                    queued: all.queued,
                    assignments: all.assignments,
                    cut_short: all.cut_short,
                }
            }
            Command::Leave(id, rest) => self.changed(self.queue.leave(&id, rest).await?),
            Command::Finish(id, call, ticket) => {
                self.changed(self.queue.finish(&id, &call, ticket).await?)
            }
            Command::Extend(id, call, ticket) => {
                self.changed(self.queue.extend(&id, &call, ticket).await?)
            }
            Command::Match(id, criteria) => {
                let call = Call::new(id, criteria, self.clock.now());
                self.match_call(&call, &mut report).await?
            }
            Command::Call(id) => {
                let record = self.queue.call(&id).await?;
                let waits = record.as_ref().filter(|it| it.state == CallState::Pending);
                let shown = waits.map(|it| PendingView::of(&it.call, self.clock.now()));
                let mut response = Response::call(id, record.map(|record| record.state));
                if let Response::Call { pending, .. } = &mut response {
                    *pending = shown;
                }
                response
            }
            Command::CancelCall(id) => {
                let cancel = self.queue.cancel(&id).await?;
                if let Cancel::Done {
                    assignments,
                    expired,
                } = &cancel
                {
                    report.cancelled = 1;
                    report.expired = *expired;
                    self.publish(assignments, &mut report).await;
                }
                Response::call(id, Some(cancel.state()))
            }
            Command::Queues => {
                let queues = self.queue.queues().await?;
                let pending = self.queue.pending().await?;
                let oldest = self.queue.first_of_lines().await?;
                Response::queues(queues, pending, &oldest, self.clock.now())
            }
            Command::Calls(limit) => {
                let calls = self.queue.pending_calls(limit).await?;
                let now = self.clock.now();
                let calls = calls.iter().map(|call| PendingView::of(call, now));
                Response::Calls {
                    calls: calls.collect(),
                }
            }
            Command::Agents(after, limit) => {
                let page = self.queue.agents(after.as_ref(), limit).await?;
                Response::agents(page, &self.queue.settings().dimensions)
            }
        };
        Ok((response, report))
    }

    async fn match_call(
        &self,
        call: &Call,
        report: &mut DeskReport,
    ) -> Result<Response, DeskError> {
        let matched = self.queue.match_call(call).await?;
        report.calls_queued = matched.queued.into();
        report.expired = matched.expired;
        self.publish(&matched.assignments, report).await;
        Ok(Response::call(call.id.clone(), Some(matched.state)))
    }

    async fn enqueue(&self, id: &AgentId, report: &mut DeskReport) -> Result<Response, DeskError> {
        let enqueued = self.queue.enqueue(id).await?;
        report.agents_queued = matches!(enqueued.changed, Changed::Done(_)).into();
        report.expired = enqueued.expired;
        self.publish(&enqueued.assignments, report).await;
        let ours = |made: &&Assignment| made.agent_id == *id;
        let assignment = enqueued.assignments.iter().find(ours).cloned();
        let mut changed = enqueued.changed;
        // Show the agent as it is after the assignment, not as it was after the enqueue.
        if let (Changed::Done(agent), Some(made)) = (&mut changed, &assignment) {
            *agent = self.queue.attending(agent.clone(), made);
        }
        Ok(self.assigned(changed, assignment))
    }

    async fn seed(&self, count: u32) -> Result<Response, DeskError> {
        if !self.seed_enabled {
            return Err(SeedError::Off.into());
        }
        let dimensions = &self.queue.settings().dimensions;
        let mut agents = vec![];
        for (name, profile) in seed::agents(count, dimensions)? {
            let id = AgentId::fresh();
            self.queue.register(&id, &name, &profile).await?;
            if let Changed::Done(agent) = self.queue.become_available(&id).await? {
                agents.push(AgentView::of(&agent, dimensions));
            }
        }
        Ok(Response::Seeded { agents })
    }

    /// Publishes new assignments. If that fails, the sweep publishes them later.
    async fn publish(&self, assignments: &[Assignment], report: &mut DeskReport) {
        report.assigned = u32::try_from(assignments.len()).unwrap_or(u32::MAX);
        let published = self
            .queue
            .publish_assignments(&*self.publisher, assignments)
            .await;
        match published {
            Ok(published) => report.published = published,
            // Only warn, because the assignments are valid and the caller needs their tickets.
            Err(error) => tracing::warn!(
                %error,
                "outbox entries not deleted; the sweep publishes the assignments again"
            ),
        }
    }

    fn changed(&self, changed: Changed) -> Response {
        self.assigned(changed, None)
    }

    fn assigned(&self, changed: Changed, assignment: Option<Assignment>) -> Response {
        let dimensions = &self.queue.settings().dimensions;
        let (rejected, agent) = match changed {
            Changed::Done(agent) => (None, Some(agent)),
            Changed::Rejected { why, agent } => (Some(why.to_string()), Some(agent)),
            Changed::Unknown => {
                let why = "no agent has this agentId; register it first";
                (Some(why.to_owned()), None)
            }
        };
        Response::Changed {
            changed: rejected.is_none(),
            rejected,
            agent: agent.map(|agent| AgentView::of(&agent, dimensions)),
            assignment,
        }
    }
}
