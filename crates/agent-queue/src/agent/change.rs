//! The conditions and the result of a change to an agent.

use super::{Agent, AgentState, AgentStatus, Ticket};
use crate::criteria::QueueName;
use crate::name::{AgentId, CallId};
use crate::profile::Profile;
use crate::time::Micros;

/// The call that an agent attends, with the expiry of its call lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InCall {
    pub call: CallId,
    /// Time at which the lease expires, or `None` if it never expires.
    pub until: Option<Micros>,
}

/// The conditions and the result of one transition in the `agent` module's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentChange {
    pub agent: AgentId,
    /// Status that the agent must have.
    pub from: AgentStatus,
    /// Ticket that the agent must have.
    pub ticket: Ticket,
    /// Call and call lease that the agent must have. `None` if the change has no such condition.
    pub in_call: Option<InCall>,
    pub to: AgentState,
    pub fresh_ticket: Option<Ticket>,
    /// New name and profile, if the change sets them.
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
