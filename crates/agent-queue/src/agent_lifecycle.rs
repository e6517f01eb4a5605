//! Who is there: register, become available, leave, finish, list.

use backon::BackoffBuilder;

use crate::agent::{Agent, AgentChange, AgentState, IdleStatus, InvalidTransition, Ticket};
use crate::name::{AgentId, CallId};
use crate::profile::Profile;
use crate::queue::{AgentQueue, Outcome, QueueError};
use crate::store::{AgentPage, QueueCounters, WaitingCount};
use crate::transaction::{CallLease, Change};

/// How often a decision is repeated because the agent had changed in between.
const ROUNDS: usize = 10;

/// How a wish about an agent ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    /// As wished, by this very call; the agent as it is now.
    Done(Agent),
    /// Not possible in the agent's state; the agent, unchanged.
    Refused {
        /// Why, and what to do first.
        why: InvalidTransition,
        /// The agent.
        agent: Agent,
    },
    /// No agent has this id.
    Unknown,
}

/// What is to change, and as which transaction.
pub(crate) type Plan = (AgentChange, Change);

impl AgentQueue {
    /// A new agent, offline; or another name and profile for one who is there. The agent's
    /// queues exist from now on.
    ///
    /// # Errors
    /// [`QueueError`]; repeat it.
    pub async fn register(
        &self,
        id: &AgentId,
        name: &str,
        profile: &Profile,
    ) -> Result<Changed, QueueError> {
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

    /// offline → available.
    ///
    /// # Errors
    /// [`QueueError`]; repeat it.
    pub async fn become_available(&self, id: &AgentId) -> Result<Changed, QueueError> {
        let now = self.clock.now();
        self.change(id, "available", |agent| {
            let change = agent.become_available(now)?;
            Ok((change.clone(), Change::agent(change, None)))
        })
        .await
    }

    /// Out of all queues at once, or off work.
    ///
    /// # Errors
    /// [`QueueError`]; repeat it.
    pub async fn leave(&self, id: &AgentId, rest: IdleStatus) -> Result<Changed, QueueError> {
        self.change(id, "leave", |agent| {
            let change = agent.leave(rest)?;
            Ok((change.clone(), Change::leave(change, agent)))
        })
        .await
    }

    /// attendingCall → available, by the assignment's call and ticket. The agent is not queued.
    ///
    /// # Errors
    /// [`QueueError`]; repeat it.
    pub async fn finish(
        &self,
        id: &AgentId,
        call: &CallId,
        ticket: Ticket,
    ) -> Result<Changed, QueueError> {
        let now = self.clock.now();
        self.change(id, "finish", |agent| {
            let change = agent.finish(call, ticket, now)?;
            Ok((change.clone(), Change::agent(change, CallLease::of(agent))))
        })
        .await
    }

    /// attendingCall → attendingCall, by the assignment's call and ticket. The new lease lasts for
    /// a call's longest duration from now. The first extension answers the assignment.
    ///
    /// # Errors
    /// [`QueueError`]; repeat it.
    pub async fn extend(
        &self,
        id: &AgentId,
        call: &CallId,
        ticket: Ticket,
    ) -> Result<Changed, QueueError> {
        let now = self.clock.now();
        let until = self.settings.call_lease.map(|lease| now.plus(lease));
        self.change(id, "extend", |agent| {
            let change = agent.extend(call, ticket, until)?;
            Ok((change.clone(), Change::extend(change, agent)))
        })
        .await
    }

    /// A page of agents, by id.
    ///
    /// # Errors
    /// [`QueueError`]; repeat it.
    pub async fn agents(
        &self,
        after: Option<&AgentId>,
        limit: u16,
    ) -> Result<AgentPage, QueueError> {
        Ok(self.store.agents(after, limit).await?)
    }

    /// Every queue's depth and version.
    ///
    /// # Errors
    /// [`QueueError`]; repeat it.
    pub async fn queues(&self) -> Result<Vec<QueueCounters>, QueueError> {
        Ok(self.store.queues().await?)
    }

    /// How many calls wait, for each criteria that ever waited.
    ///
    /// # Errors
    /// [`QueueError`]; repeat it.
    pub async fn waiting(&self) -> Result<Vec<WaitingCount>, QueueError> {
        Ok(self.store.waiting().await?)
    }

    /// Reads, decides, writes on the condition that what was read still stands; again if not.
    pub(crate) async fn change(
        &self,
        id: &AgentId,
        operation: &'static str,
        plan: impl Fn(&Agent) -> Result<Plan, InvalidTransition>,
    ) -> Result<Changed, QueueError> {
        let mut pauses = self.pauses().build();
        let (mut rounds, mut conflicts) = (0, 0);
        while rounds < ROUNDS {
            let Some(agent) = self.store.agent(id).await? else {
                return Ok(Changed::Unknown);
            };
            let (arrow, change) = match plan(&agent) {
                Ok(plan) => plan,
                Err(why) => return Ok(Changed::Refused { why, agent }),
            };
            match self.commit_unless_conflict(&change).await? {
                Some(Outcome::Done) => return Ok(Changed::Done(arrow.applied_to(agent))),
                Some(Outcome::Refused(_)) => rounds += 1,
                // The next plan counts its joins elsewhere, so the first conflict costs no pause.
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

    /// How many agents wait, each counted once.
    ///
    /// # Errors
    /// [`QueueError`]; repeat it.
    pub(crate) async fn queued_agents(&self) -> Result<u64, QueueError> {
        let all = self.all_agents().await?;
        let queued = |agent: &&Agent| matches!(agent.state, AgentState::Queued { .. });
        Ok(all.iter().filter(queued).count() as u64)
    }

    /// Every agent who is available, the longest available first.
    ///
    /// # Errors
    /// [`QueueError`]; repeat it.
    pub(crate) async fn all_available(&self) -> Result<Vec<AgentId>, QueueError> {
        let available = |agent: Agent| match agent.state {
            AgentState::Available { since } => Some((since, agent.id)),
            _ => None,
        };
        let all = self.all_agents().await?.into_iter();
        let mut available: Vec<_> = all.filter_map(available).collect();
        available.sort();
        Ok(available.into_iter().map(|(_, id)| id).collect())
    }

    pub(crate) async fn all_agents(&self) -> Result<Vec<Agent>, QueueError> {
        const PAGE: u16 = 200;
        let mut agents = vec![];
        let mut after = None;
        loop {
            let page = self.store.agents(after.as_ref(), PAGE).await?;
            agents.extend(page.agents);
            after = page.next;
            if after.is_none() {
                return Ok(agents);
            }
        }
    }
}

fn contended(operation: &'static str) -> QueueError {
    QueueError::Contended {
        operation,
        tries: ROUNDS,
    }
}
