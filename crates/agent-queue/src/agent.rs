//! An agent, its states, and the transitions between them.
//!
//! | from | to | by | condition, on the agent's item |
//! |---|---|---|---|
//! | – | offline | register | no such agent |
//! | offline, available, attendingCall | the same | register again: new profile | status and ticket as read |
//! | offline | available | become available | status and ticket as read |
//! | available | queued | enqueue: a new ticket, an entry in each queue | status and ticket as read |
//! | queued | attendingCall | match | queued, with the ticket of the queue's entry |
//! | queued | available, offline | leave | status and ticket as read |
//! | available | offline | leave | status and ticket as read |
//! | available | attendingCall | match with a pending call: a new ticket | status and ticket as read |
//! | attendingCall | attendingCall | extend: new call lease | status, ticket, call and call lease as read |
//! | attendingCall | available | finish | status, ticket, call and call lease as read |
//! | attendingCall | available | the sweep: the call lease expired | status, ticket, call and call lease |
//! | attendingCall | queued | the sweep: the unanswered assignment was not published; a new ticket | status, ticket, call and call lease as read |
//! | attendingCall | queued | cancel: the agent has not answered; a new ticket | status, ticket, call and call lease as read |
//!
//! No other transition exists. A *ticket* identifies one stay in the queues and the call that ended
//! it. A new profile also changes the ticket, so an enqueue that read the old profile fails. During
//! a call the ticket does not change, because `finish` requires it. These conditions, not the
//! queues' versions, ensure correctness: a match with an outdated entry fails on its ticket.

mod change;
mod status;

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use self::change::{AgentChange, InCall};
pub use self::status::{AgentState, AgentStatus};
use crate::dimension::Dimensions;
use crate::name::{AgentId, CallId};
use crate::profile::Profile;
use crate::time::Micros;

/// Identifies one stay in the queues and the call that ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ticket(pub Uuid);

impl Ticket {
    pub fn fresh() -> Self {
        Self(Uuid::new_v4())
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    pub id: AgentId,
    pub name: String,
    pub profile: Profile,
    pub ticket: Ticket,
    /// The agent's status and the data of that status.
    pub state: AgentState,
}

/// Status of an agent after it leaves the queues or stops working.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum IdleStatus {
    /// Working, but not queued.
    #[default]
    Available,
    Offline,
}

/// Error for a transition that is not in the table above. The message says what to do first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTransition {
    #[error("the agent is {status}; {remedy}")]
    Status {
        status: AgentStatus,
        remedy: &'static str,
    },
    #[error(
        "the agent is no longer in this call with this ticket; send the callId and ticket of the assignment"
    )]
    OtherCall,
}

/// The change that a transition makes, or the reason why the transition is invalid.
pub type Transition = Result<AgentChange, InvalidTransition>;

impl Agent {
    pub fn new(id: AgentId, name: String, profile: Profile) -> Self {
        Self {
            id,
            name,
            profile,
            ticket: Ticket::fresh(),
            state: AgentState::Offline,
        }
    }

    /// Changes the name and the profile.
    ///
    /// # Errors
    /// [`InvalidTransition`] if queued, because the entries would keep the old name and queues.
    pub fn with_profile(&self, name: String, profile: Profile) -> Transition {
        let fresh_ticket = match self.state {
            AgentState::Queued { .. } => {
                return Err(
                    self.not_possible("remove it from the queues before you change its profile")
                );
            }
            AgentState::AttendingCall { .. } => None,
            AgentState::Offline | AgentState::Available { .. } => Some(Ticket::fresh()),
        };
        let mut change = self.to(self.state.clone());
        change.fresh_ticket = fresh_ticket;
        change.profile = Some((name, profile));
        Ok(change)
    }

    /// Makes an offline agent available (offline → available).
    ///
    /// # Errors
    /// [`InvalidTransition`] in any other state.
    pub fn become_available(&self, at: Micros) -> Transition {
        match self.state {
            AgentState::Offline => Ok(self.to(AgentState::Available { since: at })),
            AgentState::AttendingCall { .. } => Err(self.not_possible("finish the call first")),
            _ => Err(self.not_possible("only an offline agent can become available")),
        }
    }

    /// Adds the agent to every queue of its profile (available → queued).
    ///
    /// # Errors
    /// [`InvalidTransition`] in any other state.
    pub fn enqueue(&self, at: Micros, dimensions: &Dimensions) -> Transition {
        let since = match self.state {
            AgentState::Available { since } => since,
            AgentState::Offline => return Err(self.not_possible("make it available first")),
            AgentState::Queued { .. } => return Err(self.not_possible("nothing to do")),
            AgentState::AttendingCall { .. } => {
                return Err(self.not_possible("finish the call first"));
            }
        };
        let queues = dimensions.queues(&self.profile);
        let mut change = self.to(AgentState::Queued { since, at, queues });
        change.fresh_ticket = Some(Ticket::fresh());
        Ok(change)
    }

    /// Ends the agent's wait (queued → available or offline) or its work (available → offline).
    ///
    /// # Errors
    /// [`InvalidTransition`] for any other transition.
    pub fn leave(&self, rest: IdleStatus) -> Transition {
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
            _ => Err(self.not_possible("it is not in a queue")),
        }
    }

    /// Ends the agent's call (attendingCall → available).
    ///
    /// # Errors
    /// [`InvalidTransition`] if the agent does not attend this call with this ticket, so that a
    /// late finish never ends another call.
    pub fn finish(&self, call: &CallId, ticket: Ticket, at: Micros) -> Transition {
        match &self.state {
            AgentState::AttendingCall { call: current, .. }
                if current == call && self.ticket == ticket =>
            {
                Ok(self.to(AgentState::Available { since: at }))
            }
            _ => Err(InvalidTransition::OtherCall),
        }
    }

    /// Returns the agent to position `at` in every queue of its profile (attendingCall → queued),
    /// because the assignment with this ticket was not published or its call was cancelled. Returns
    /// `None` if the agent does not attend a call with this ticket.
    pub fn requeue(
        &self,
        ticket: Ticket,
        at: Micros,
        dimensions: &Dimensions,
    ) -> Option<AgentChange> {
        let attends = matches!(self.state, AgentState::AttendingCall { .. });
        (attends && self.ticket == ticket).then(|| {
            let queues = dimensions.queues(&self.profile);
            let since = at;
            let mut change = self.to(AgentState::Queued { since, at, queues });
            change.fresh_ticket = Some(Ticket::fresh());
            change
        })
    }

    /// Records the agent's answer and sets the end of the call lease to `until`.
    ///
    /// # Errors
    /// [`InvalidTransition`] if the agent does not attend this call with this ticket.
    pub fn extend(&self, call: &CallId, ticket: Ticket, until: Option<Micros>) -> Transition {
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

    /// Returns a change that only checks that the agent has not changed since the read.
    pub(crate) fn stay(&self) -> AgentChange {
        self.to(self.state.clone())
    }

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
