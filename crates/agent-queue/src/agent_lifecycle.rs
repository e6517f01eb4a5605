//! Operations on agents: register, become available, leave, finish, extend, list.

use backon::BackoffBuilder;

use crate::agent::{Agent, AgentChange, AgentState, IdleStatus, InvalidTransition, Ticket};
use crate::name::{AgentId, CallId};
use crate::profile::Profile;
use crate::queue::{AgentQueue, Outcome, QueueError, Result};
use crate::store::{AgentPage, LineDepth, QueueCounters};
use crate::transaction::{CallLease, Change};

/// Maximum number of attempts per operation. An attempt is repeated if the agent changed between
/// the read and the write.
pub(crate) const ROUNDS: usize = 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    Done(Agent),
    /// The agent's state does not allow the operation; the agent is unchanged.
    Rejected {
        /// Reason for the rejection, and what to do first.
        why: InvalidTransition,
        agent: Agent,
    },
    Unknown,
}

pub(crate) type Plan = (AgentChange, Change);

impl AgentQueue {
    /// Registers an agent as offline, or updates its name and profile. Opens the profile's queues.
    pub async fn register(&self, id: &AgentId, name: &str, profile: &Profile) -> Result<Changed> {
        let queues = || self.settings.dimensions.queues(profile);
        for _ in 0..ROUNDS {
            let known = self
                .change(id, "register", |agent| {
                    let change = agent.with_profile(name.to_owned(), profile.clone())?;
                    Ok((change.clone(), Change::profile(change, queues())))
                })
                .await?;
            if known != Changed::Unknown {
                return Ok(known);
            }
            let agent = Agent::new(id.clone(), name.to_owned(), profile.clone());
            let change = Change::register(agent.clone(), queues());
            if let Outcome::Done = self.commit("register", &change).await? {
                return Ok(Changed::Done(agent));
            }
        }
        Err(contended("register"))
    }

    /// Makes an offline agent available (offline → available).
    pub async fn become_available(&self, id: &AgentId) -> Result<Changed> {
        let now = self.clock.now();
        self.change(id, "available", |agent| {
            let change = agent.become_available(now)?;
            Ok((change.clone(), Change::agent(change, None)))
        })
        .await
    }

    /// Removes a queued agent from all its queues immediately (queued → available or offline), or
    /// ends an available agent's work (available → offline).
    pub async fn leave(&self, id: &AgentId, rest: IdleStatus) -> Result<Changed> {
        self.change(id, "leave", |agent| {
            let change = agent.leave(rest)?;
            Ok((change.clone(), Change::leave(change, agent)))
        })
        .await
    }

    /// Ends the call with this ticket (attendingCall → available). The agent is not queued again.
    pub async fn finish(&self, id: &AgentId, call: &CallId, ticket: Ticket) -> Result<Changed> {
        let now = self.clock.now();
        self.change(id, "finish", |agent| {
            let change = agent.finish(call, ticket, now)?;
            Ok((change.clone(), Change::agent(change, CallLease::of(agent))))
        })
        .await
    }

    /// Renews the call lease of the call with this ticket. The new lease starts now and has the
    /// duration of the `call_lease` setting. The first extension answers the assignment.
    pub async fn extend(&self, id: &AgentId, call: &CallId, ticket: Ticket) -> Result<Changed> {
        let now = self.clock.now();
        let until = self.settings.call_lease.map(|lease| now.plus(lease));
        self.change(id, "extend", |agent| {
            let change = agent.extend(call, ticket, until)?;
            Ok((change.clone(), Change::extend(change, agent)))
        })
        .await
    }

    /// Returns up to `limit` agents with ids after `after`, ordered by id.
    pub async fn agents(&self, after: Option<&AgentId>, limit: u16) -> Result<AgentPage> {
        Ok(self.store.agents(after, limit).await?)
    }

    /// Returns the depth and version of every queue.
    pub async fn queues(&self) -> Result<Vec<QueueCounters>> {
        Ok(self.store.queues().await?)
    }

    /// Returns the number of pending calls in each open line.
    pub async fn pending(&self) -> Result<Vec<LineDepth>> {
        Ok(self.store.pending().await?)
    }

    /// Reads the agent, plans a change, and commits it only if the agent has not changed since the
    /// read. Otherwise, repeats all three steps.
    pub(crate) async fn change(
        &self,
        id: &AgentId,
        operation: &'static str,
        plan: impl Fn(&Agent) -> Result<Plan, InvalidTransition>,
    ) -> Result<Changed> {
        let mut pauses = self.pauses().build();
        let (mut rounds, mut conflicts) = (0, 0);
        while rounds < ROUNDS {
            let Some(agent) = self.store.agent(id).await? else {
                return Ok(Changed::Unknown);
            };
            let (arrow, change) = match plan(&agent) {
                Ok(plan) => plan,
                Err(why) => return Ok(Changed::Rejected { why, agent }),
            };
            match self.commit_unless_conflict(&change).await? {
                Some(Outcome::Done) => return Ok(Changed::Done(arrow.applied_to(agent))),
                Some(Outcome::Rejected(_)) => rounds += 1,
                // After the first conflict, plan again immediately. Pause only after further
                // conflicts.
                None => {
                    conflicts += 1;
                    let pause = pauses.next().filter(|_| !self.is_over());
                    let pause = pause.ok_or_else(|| self.contended(operation))?;
                    if conflicts > 1 {
                        tokio::time::sleep(pause).await;
                    }
                }
            }
        }
        Err(contended(operation))
    }

    /// Returns the number of queued agents, counting each agent once.
    pub(crate) async fn queued_agents(&self) -> Result<u64> {
        let all = self.store.all_agents().await?;
        let queued = |agent: &&Agent| matches!(agent.state, AgentState::Queued { .. });
        Ok(all.iter().filter(queued).count() as u64)
    }

    /// Returns all available agents, longest available first.
    pub(crate) async fn all_available(&self) -> Result<Vec<AgentId>> {
        let available = |agent: Agent| match agent.state {
            AgentState::Available { since } => Some((since, agent.id)),
            _ => None,
        };
        let all = self.store.all_agents().await?.into_iter();
        let mut available: Vec<_> = all.filter_map(available).collect();
        available.sort();
        Ok(available.into_iter().map(|(_, id)| id).collect())
    }
}

pub(crate) fn contended(operation: &'static str) -> QueueError {
    QueueError::Contended {
        operation,
        tries: ROUNDS,
    }
}
