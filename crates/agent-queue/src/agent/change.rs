//! A change of an agent: its conditions and its result.

use super::{Agent, AgentState, AgentStatus, Ticket};
use crate::criteria::QueueName;
use crate::name::{AgentId, CallId};
use crate::profile::Profile;
use crate::time::Micros;

/// The call that an agent attends, with the expiry of its call lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InCall {
    pub call: CallId,
    /// Time at which the lease expires; `None`: never.
    pub until: Option<Micros>,
}

/// One transition of the table in the `agent` module: its conditions and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentChange {
    pub agent: AgentId,
    /// Condition: the agent has this status.
    pub from: AgentStatus,
    /// Condition: the agent has this ticket.
    pub ticket: Ticket,
    /// Condition: the agent attends this call with this call lease; `None`: no such condition.
    pub in_call: Option<InCall>,
    pub to: AgentState,
    pub fresh_ticket: Option<Ticket>,
    /// The name and the profile after the change, if they change.
    pub profile: Option<(String, Profile)>,
}

impl AgentChange {
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

    pub fn joins(&self) -> &[QueueName] {
        match &self.to {
            AgentState::Queued { queues, .. } if self.from != AgentStatus::Queued => queues,
            _ => &[],
        }
    }

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
