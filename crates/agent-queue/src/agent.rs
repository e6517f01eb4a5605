//! An agent, its states, and what may follow what.
//!
//! | from | to | by | condition, on the agent's item |
//! |---|---|---|---|
//! | – | offline | register | no such agent |
//! | offline, available, attendingCall | the same | register again: another profile | status and ticket as read |
//! | offline | available | become available | status and ticket as read |
//! | available | queued | enqueue: a fresh ticket, an entry in each queue | status and ticket as read |
//! | queued | attendingCall | match | queued, with the ticket of the queue's entry |
//! | queued | available, offline | leave | status and ticket as read |
//! | available | offline | leave | status and ticket as read |
//! | available | attendingCall | match with a waiting call: a fresh ticket | status and ticket as read |
//! | attendingCall | attendingCall | extend: another lease | status, ticket, call and lease as read |
//! | attendingCall | available | finish | status, ticket, call and lease as read |
//! | attendingCall | available | the sweep: the lease expired | status, ticket, call and lease |
//!
//! Nothing else. A *ticket* names one stay in the queues and the call that ended it; a new
//! profile gets a new one too, so that no agent is queued by an old profile, unless a call is
//! attended: its finish goes by the ticket. Correctness rests on these conditions, not on the
//! queues' versions: a match by an outdated entry finds another ticket.

mod status;

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use self::status::{AgentState, AgentStatus};
use crate::dimension::Dimensions;
use crate::name::{AgentId, CallId};
use crate::profile::Profile;
use crate::time::Micros;

/// Names one stay in the queues, and the call that ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ticket(pub Uuid);

impl Ticket {
    /// A new ticket.
    #[must_use]
    pub fn fresh() -> Self {
        Self(Uuid::new_v4())
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// The identity.
    pub id: AgentId,
    /// For people; two agents may have one.
    pub name: String,
    /// What the agent is chosen by.
    pub profile: Profile,
    /// Names the current or the last stay.
    pub ticket: Ticket,
    /// What the agent does.
    pub state: AgentState,
}

/// Where an agent goes who leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum IdleStatus {
    /// Stays at work.
    #[default]
    Available,
    /// Goes home.
    Offline,
}

/// A call that an agent attends, and when the lease on it expires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InCall {
    /// The call.
    pub call: CallId,
    /// When the lease expires; `None`: never.
    pub until: Option<Micros>,
}

/// One arrow of the table above: its condition and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentChange {
    /// Whose.
    pub agent: AgentId,
    /// Condition: this status.
    pub from: AgentStatus,
    /// Condition: this ticket.
    pub ticket: Ticket,
    /// Condition: in this call, by this lease.
    pub in_call: Option<InCall>,
    /// The state it becomes.
    pub to: AgentState,
    /// The ticket it becomes, if another.
    pub fresh_ticket: Option<Ticket>,
    /// The name and the profile it becomes, if others.
    pub profile: Option<(String, Profile)>,
}

impl AgentChange {
    /// Whether an agent meets the conditions.
    #[must_use]
    pub fn is_met_by(&self, agent: &Agent) -> bool {
        let in_call = match (&self.in_call, &agent.state) {
            (None, _) => true,
            (Some(wanted), AgentState::AttendingCall { call, until, .. }) => {
                wanted.call == *call && wanted.until == *until
            }
            (Some(_), _) => false,
        };
        agent.state.status() == self.from && agent.ticket == self.ticket && in_call
    }

    /// The agent afterwards.
    #[must_use]
    pub fn applied_to(&self, mut agent: Agent) -> Agent {
        agent.state = self.to.clone();
        if let Some(ticket) = self.fresh_ticket {
            agent.ticket = ticket;
        }
        if let Some((name, profile)) = self.profile.clone() {
            agent.name = name;
            agent.profile = profile;
        }
        agent
    }
}

/// An arrow that does not exist; the text says what to do first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTransition {
    /// Out of a state that has no such arrow.
    #[error("the agent is {status}; {remedy}")]
    Status {
        /// The agent's status.
        status: AgentStatus,
        /// What to do first.
        remedy: &'static str,
    },
    /// Another call, or another stay.
    #[error(
        "the agent is not in this call with this ticket any more; give callId and ticket as the assignment has them"
    )]
    OtherCall,
}

impl Agent {
    /// A new agent, offline.
    #[must_use]
    pub fn new(id: AgentId, name: String, profile: Profile) -> Self {
        Self {
            id,
            name,
            profile,
            ticket: Ticket::fresh(),
            state: AgentState::Offline,
        }
    }

    /// Another name and profile.
    ///
    /// # Errors
    /// [`InvalidTransition`] while queued: the entries in the queues would tell of another agent.
    pub fn with_profile(
        &self,
        name: String,
        profile: Profile,
    ) -> Result<AgentChange, InvalidTransition> {
        let fresh_ticket = match self.state {
            AgentState::Queued { .. } => {
                return Err(self.not_possible("let it leave the queues before its profile changes"));
            }
            AgentState::AttendingCall { .. } => None,
            AgentState::Offline | AgentState::Available { .. } => Some(Ticket::fresh()),
        };
        let mut change = self.to(self.state.clone());
        change.fresh_ticket = fresh_ticket;
        change.profile = Some((name, profile));
        Ok(change)
    }

    /// offline → available.
    ///
    /// # Errors
    /// [`InvalidTransition`] out of any other state.
    pub fn become_available(&self, at: Micros) -> Result<AgentChange, InvalidTransition> {
        match self.state {
            AgentState::Offline => Ok(self.to(AgentState::Available { since: at })),
            AgentState::AttendingCall { .. } => Err(self.not_possible("finish the call first")),
            _ => Err(self.not_possible("it is at work already")),
        }
    }

    /// available → queued, in every queue that fits.
    ///
    /// # Errors
    /// [`InvalidTransition`] out of any other state.
    pub fn enqueue(
        &self,
        at: Micros,
        dimensions: &Dimensions,
    ) -> Result<AgentChange, InvalidTransition> {
        let since = match self.state {
            AgentState::Available { since } => since,
            AgentState::Offline => return Err(self.not_possible("make it available first")),
            AgentState::Queued { .. } => return Err(self.not_possible("it waits already")),
            AgentState::AttendingCall { .. } => {
                return Err(self.not_possible("finish the call first"));
            }
        };
        let queues = dimensions.queues(&self.profile);
        let mut change = self.to(AgentState::Queued { since, at, queues });
        change.fresh_ticket = Some(Ticket::fresh());
        Ok(change)
    }

    /// queued → available or offline, or available → offline.
    ///
    /// # Errors
    /// [`InvalidTransition`] out of any other state.
    pub fn leave(&self, rest: IdleStatus) -> Result<AgentChange, InvalidTransition> {
        match (&self.state, rest) {
            (AgentState::Queued { .. } | AgentState::Available { .. }, IdleStatus::Offline) => {
                Ok(self.to(AgentState::Offline))
            }
            (AgentState::Queued { since, .. }, IdleStatus::Available) => {
                Ok(self.to(AgentState::Available { since: *since }))
            }
            (AgentState::AttendingCall { .. }, _) => {
                Err(self.not_possible("finish the call first"))
            }
            _ => Err(self.not_possible("it is in no queue")),
        }
    }

    /// attendingCall → available.
    ///
    /// # Errors
    /// [`InvalidTransition`] when the agent is not in this call with this ticket: a late finish never
    /// frees an agent who is in a new call.
    pub fn finish(
        &self,
        call: &CallId,
        ticket: Ticket,
        at: Micros,
    ) -> Result<AgentChange, InvalidTransition> {
        match &self.state {
            AgentState::AttendingCall { call: current, .. }
                if current == call && self.ticket == ticket =>
            {
                Ok(self.to(AgentState::Available { since: at }))
            }
            _ => Err(InvalidTransition::OtherCall),
        }
    }

    /// attendingCall → attendingCall, with a lease until this moment. The agent has answered.
    ///
    /// # Errors
    /// [`InvalidTransition`] when the agent is not in this call with this ticket.
    pub fn extend(
        &self,
        call: &CallId,
        ticket: Ticket,
        until: Option<Micros>,
    ) -> Result<AgentChange, InvalidTransition> {
        match &self.state {
            AgentState::AttendingCall { call: current, .. }
                if current == call && self.ticket == ticket =>
            {
                Ok(self.to(AgentState::AttendingCall {
                    call: call.clone(),
                    until,
                    answered: true,
                }))
            }
            _ => Err(InvalidTransition::OtherCall),
        }
    }

    /// queued → queued: nothing changes, if nothing has changed.
    pub(crate) fn stay(&self) -> AgentChange {
        self.to(self.state.clone())
    }

    /// The call that the agent attends, by its lease.
    fn in_call(&self) -> Option<InCall> {
        match &self.state {
            AgentState::AttendingCall { call, until, .. } => Some(InCall {
                call: call.clone(),
                until: *until,
            }),
            _ => None,
        }
    }

    fn to(&self, to: AgentState) -> AgentChange {
        AgentChange {
            agent: self.id.clone(),
            from: self.state.status(),
            ticket: self.ticket,
            in_call: self.in_call(),
            to,
            fresh_ticket: None,
            profile: None,
        }
    }

    fn not_possible(&self, remedy: &'static str) -> InvalidTransition {
        InvalidTransition::Status {
            status: self.state.status(),
            remedy,
        }
    }
}

#[cfg(test)]
mod tests;
