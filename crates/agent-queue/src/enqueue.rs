//! Enqueues an agent: assigns it the oldest matching pending call, or adds it to all its queues.
//!
//! The process that enqueues an agent first reads the pending calls and assigns one in a single
//! transaction. If no call matches, the agent joins the queues and the process reads the calls
//! again. Both sides write first and then read with strong consistency. An agent joins its queues
//! before its process reads the calls, and a call joins its line before its process reads the
//! agents ([`matching`](crate::matching)). If these operations overlap, the later writer sees the
//! earlier write. If a process crashes between its write and its read, the sweep repeats the read.

use std::time::Duration;

use backon::BackoffBuilder;
use futures::{StreamExt, stream};

use crate::agent::{Agent, AgentState};
use crate::agent_lifecycle::Changed;
use crate::call::{Assignment, Call};
use crate::matching::first_agent::{MatchOutcome, TryOutcome};
use crate::matching::line::Served;
use crate::name::AgentId;
use crate::queue::{AgentQueue, Result};
use crate::store::Line;
use crate::time::Micros;
use crate::transaction::Change;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enqueued {
    pub changed: Changed,
    /// New assignments to publish, for this agent and for other agents that were queued earlier.
    pub assignments: Vec<Assignment>,
    pub expired: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllEnqueued {
    pub queued: usize,
    pub assignments: Vec<Assignment>,
    pub expired: u32,
    /// Whether an error or the queue's deadline ended the operation early. If so, repeat it for the
    /// remaining agents.
    pub cut_short: bool,
}

const PARALLEL_JOINS: usize = 4;

impl AgentQueue {
    /// Assigns a matching pending call to an available agent. If no such call is pending, queues
    /// the agent in every queue of its profile.
    pub async fn enqueue(&self, id: &AgentId) -> Result<Enqueued> {
        let mut served = Served::default();
        let changed = match self.take_pending(id, &mut served).await? {
            Some(agent) => Changed::Done(agent),
            None => {
                let (changed, more) = self.join_and_look(id).await?;
                served.expired += more.expired;
                served.assignments = more.assignments;
                changed
            }
        };
        Ok(Enqueued {
            changed,
            assignments: served.assignments,
            expired: served.expired,
        })
    }

    async fn join_and_look(&self, id: &AgentId) -> Result<(Changed, Served)> {
        let changed = self.join(id, || self.clock.now()).await?;
        let served = match &changed {
            Changed::Done(agent) => self.serve_agent(agent).await?,
            // The agent is already queued, perhaps by a process that crashed before its read.
            Changed::Rejected { agent, .. } if is_queued(agent) => self.serve_agent(agent).await?,
            _ => Served::default(),
        };
        Ok((changed, served))
    }

    /// Assigns the oldest matching pending call to an available agent, in one transaction. Returns
    /// `None` if no matching call is pending, the agent is not available, another matching agent is
    /// queued, or too many attempts failed.
    async fn take_pending(&self, id: &AgentId, served: &mut Served) -> Result<Option<Agent>> {
        let mut pauses = self.pauses().build();
        let mut ended = None;
        while !self.is_over() {
            let (agent, lines) = tokio::try_join!(self.store.agent(id), self.store.lines())?;
            let Some(agent) = agent.filter(is_available) else {
                return Ok(None);
            };
            let Some(call) = self.longest_pending(&agent, &lines).await? else {
                return Ok(None);
            };
            if self.is_too_old(&call) {
                self.expire_first(&call, served, &mut ended).await?;
                continue;
            }
            if !self.first_entries(&call.criteria, 1).await?.is_empty() {
                return Ok(None);
            }
            let (now, term) = self.term();
            let change = Change::assign_available(&call, &agent, now, term);
            match self.try_change(change).await? {
                TryOutcome::Ended(met) => match *met {
                    MatchOutcome::Assigned(assignment) => {
                        let attending = self.attending(agent, &assignment);
                        served.assignments.push(assignment);
                        return Ok(Some(attending));
                    }
                    MatchOutcome::Known(_) => self.pass_over(&call, &mut ended).await?,
                    MatchOutcome::NoRecord => self.restore(&call).await?,
                    MatchOutcome::NoAgent => return Ok(None),
                },
                // The agent has changed, or another process is serving this call.
                TryOutcome::Gone | TryOutcome::Conflict => match pauses.next() {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => return Ok(None),
                },
            }
        }
        Ok(None)
    }

    /// Queues all available agents, longest available first.
    ///
    /// # Errors
    /// [`QueueError`](crate::queue::QueueError). Some agents may be queued; repeat the operation.
    pub async fn enqueue_all_available(&self) -> Result<AllEnqueued> {
        let now = self.clock.now();
        let mut all = AllEnqueued::default();
        // Choose the positions in advance, because the transactions can commit in any order.
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
            // Return an error only if nothing was done, because assignments must reach the caller.
            Some(error) if all == AllEnqueued::default() => Err(error),
            Some(error) => {
                tracing::warn!(
                    %error,
                    "not all agents queued or not all pending calls assigned; retry the command"
                );
                all.cut_short = true;
                Ok(all)
            }
            None => Ok(all),
        }
    }

    async fn join(&self, id: &AgentId, place: impl Fn() -> Micros) -> Result<Changed> {
        self.change(id, "enqueue", |agent| {
            let change = agent.enqueue(place(), &self.settings.dimensions)?;
            Ok((change.clone(), Change::enqueue(change, agent)))
        })
        .await
    }

    /// Assigns the pending calls that the agent matches, oldest first, until the agent has a call
    /// or no such call is left.
    pub(crate) async fn serve_agent(&self, agent: &Agent) -> Result<Served> {
        let is_free = |served: &Served| {
            let last = served.assignments.last();
            last.is_none_or(|made| made.agent_id != agent.id)
        };
        self.serve_each(|| self.next_for(agent), is_free).await
    }

    async fn next_for(&self, agent: &Agent) -> Result<Option<Call>> {
        let lines = self.store.lines().await?;
        self.longest_pending(agent, &lines).await
    }

    /// Returns the oldest pending call in these lines that the agent matches.
    async fn longest_pending(&self, agent: &Agent, lines: &[Line]) -> Result<Option<Call>> {
        let fit = lines.iter().map(|line| &line.criteria);
        let fit = fit.filter(|criteria| criteria.fits_profile(&agent.profile));
        let firsts = self.first_of(fit, 1).await?.into_iter();
        Ok(firsts.min_by_key(Call::sort_key))
    }
}

fn is_queued(agent: &Agent) -> bool {
    matches!(agent.state, AgentState::Queued { .. })
}

fn is_available(agent: &Agent) -> bool {
    matches!(agent.state, AgentState::Available { .. })
}

impl AgentQueue {
    pub(crate) fn attending(&self, mut agent: Agent, assignment: &Assignment) -> Agent {
        agent.ticket = assignment.ticket;
        agent.state = AgentState::AttendingCall {
            call: assignment.call_id.clone(),
            until: assignment.lease_until,
            answered: self.settings.answer_within.is_none(),
        };
        agent
    }
}
