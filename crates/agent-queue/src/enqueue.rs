//! Into all queues that fit; and then, for a queued agent, the longest waiting call.
//!
//! A match works from both sides, each writing first and looking afterwards, strongly
//! consistent: an agent is queued, then looks for a call; a call waits, then looks for an agent
//! ([`matcher`](crate::matcher)). Of two that cross, the later one to have written sees the
//! other. The sweep looks again for a pair whose writers died between the two.

use std::time::Duration;

use futures::{StreamExt, stream};

use crate::agent::{Agent, AgentState};
use crate::call::{Assignment, Call};
use crate::change::{Before, Change};
use crate::matcher::{Met, Served};
use crate::name::{AgentId, CallId};
use crate::queue::{AgentQueue, QueueError};
use crate::roster::Changed;
use crate::time::Micros;

/// How a wish to be queued ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enqueued {
    /// The result for the agent itself.
    pub changed: Changed,
    /// The assignments made thereupon, to tell: this agent's, and others' that were due.
    pub assignments: Vec<Assignment>,
    /// How many calls were found to have waited for too long.
    pub expired: u32,
}

/// How many agents were queued.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllEnqueued {
    /// Agents.
    pub queued: usize,
    /// The assignments made thereupon, to tell.
    pub assignments: Vec<Assignment>,
    /// How many calls were found to have waited for too long.
    pub expired: u32,
    /// Whether it ended early, by an error or the queue's deadline: repeat it for the others.
    pub cut_short: bool,
}

/// How many agents are queued at once.
const PARALLEL_JOINS: usize = 4;

impl AgentQueue {
    /// available → queued, in every queue that fits. Where a call waits, it is served.
    ///
    /// # Errors
    /// [`QueueError`]; repeat it.
    pub async fn enqueue(&self, id: &AgentId) -> Result<Enqueued, QueueError> {
        let changed = self.join(id, || self.clock.now()).await?;
        let Served {
            assignments,
            expired,
            ..
        } = match &changed {
            Changed::Done(agent) => self.serve_agent(agent).await?,
            // Queued before, perhaps by a crashed process before its read.
            Changed::Refused { agent, .. } if is_queued(agent) => self.serve_agent(agent).await?,
            _ => Served::default(),
        };
        Ok(Enqueued {
            changed,
            assignments,
            expired,
        })
    }

    /// Queues every agent who is available, the longest available first.
    ///
    /// # Errors
    /// [`QueueError`]: some may be queued; repeat it for the others.
    pub async fn enqueue_all_available(&self) -> Result<AllEnqueued, QueueError> {
        let now = self.clock.now();
        let mut all = AllEnqueued::default();
        // A place of its own for each, in this order, however the changes overtake each other.
        let places = (0..).map(|number| now.plus(Duration::from_micros(number)));
        let joins: Vec<_> = std::iter::zip(self.all_available().await?, places).collect();
        let joins = joins.into_iter().map(|(id, place)| async move {
            match self.is_over() {
                true => Ok(None),
                false => self.join(&id, || place).await.map(Some),
            }
        });
        let mut joins = stream::iter(joins).buffered(PARALLEL_JOINS);
        let mut failed = None;
        while let Some(joined) = joins.next().await {
            match joined {
                Ok(Some(changed)) => all.queued += usize::from(matches!(changed, Changed::Done(_))),
                Ok(None) => all.cut_short = true,
                Err(error) => failed = Some(error),
            }
        }
        drop(joins);
        let (served, errors) = self.serve_lines().await;
        all.cut_short |= served.cut_short;
        all.expired = served.expired;
        all.assignments = served.assignments;
        match failed.or(errors.into_iter().next()) {
            // Completed changes are published nevertheless.
            Some(error) if all == AllEnqueued::default() => Err(error),
            Some(error) => {
                tracing::warn!(%error, "not all are queued");
                all.cut_short = true;
                Ok(all)
            }
            None => Ok(all),
        }
    }

    async fn join(&self, id: &AgentId, place: impl Fn() -> Micros) -> Result<Changed, QueueError> {
        self.change(id, "enqueue", |agent| {
            let change = agent.enqueue(place(), &self.settings.dimensions)?;
            Ok((change.clone(), Change::enqueue(change, agent)))
        })
        .await
    }

    /// Serves the calls that wait for such an agent, the longest waiting first, until the agent
    /// has one or none is left.
    async fn serve_agent(&self, agent: &Agent) -> Result<Served, QueueError> {
        let mut served = Served::default();
        let mut ended = None;
        while !self.is_over() {
            match self.serve_longest(agent, &mut served, &mut ended).await {
                Ok(true) => {}
                Ok(false) => return Ok(served),
                Err(error) => return served.or_error(error),
            }
        }
        served.cut_short = true;
        Ok(served)
    }

    /// Whether there may be another one to serve.
    async fn serve_longest(
        &self,
        agent: &Agent,
        served: &mut Served,
        ended: &mut Option<CallId>,
    ) -> Result<bool, QueueError> {
        let Some(call) = self.longest_waiting(agent).await? else {
            return Ok(false);
        };
        if self.is_too_old(&call) {
            return self.expire_first(&call, served, ended).await;
        }
        match self.meet(&call, Before::Waiting).await? {
            Met::Assigned(assignment) => {
                let ours = assignment.agent_id == agent.id;
                served.assignments.push(assignment);
                return Ok(!ours);
            }
            // Another process was faster with this call.
            Met::Known(_) => self.pass_over(&call, ended).await?,
            Met::NoRecord => self.restore(&call).await?,
            // Another process was faster with our agent.
            Met::Nobody | Met::OthersWait => return Ok(false),
        }
        Ok(true)
    }

    /// The call that waits longest among those that fit an agent, as read.
    async fn longest_waiting(&self, agent: &Agent) -> Result<Option<Call>, QueueError> {
        let lines = self.store.waiting().await?;
        let fit = lines.iter().map(|line| &line.criteria);
        let fit = fit.filter(|criteria| criteria.fits_profile(&agent.profile));
        let firsts = self.first_of(fit).await?.into_iter();
        Ok(firsts.min_by_key(Call::sort_key))
    }
}

fn is_queued(agent: &Agent) -> bool {
    matches!(agent.state, AgentState::Queued { .. })
}
