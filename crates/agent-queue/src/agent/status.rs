//! The status and the state of an agent.

use std::fmt;

use serde::Serialize;

use crate::criteria::QueueName;
use crate::name::CallId;
use crate::time::Micros;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum AgentStatus {
    Offline,
    /// Working, but neither queued nor in a call.
    Available,
    Queued,
    AttendingCall,
}

impl AgentStatus {
    pub const ALL: [Self; 4] = [
        Self::Offline,
        Self::Available,
        Self::Queued,
        Self::AttendingCall,
    ];

    /// Returns the status as stored in the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Offline => "offline",
            Self::Available => "available",
            Self::Queued => "queued",
            Self::AttendingCall => "attendingCall",
        }
    }

    /// Parses a status as stored in the table. Returns `None` if it is unknown.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

impl fmt::Display for AgentStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentState {
    Offline,
    /// Working, but neither queued nor in a call.
    Available {
        since: Micros,
    },
    Queued {
        since: Micros,
        /// Time of the enqueue, which determines the position in the queues.
        at: Micros,
        /// The queues at the time of the enqueue. Later changes to the dimensions do not affect
        /// them.
        queues: Vec<QueueName>,
    },
    AttendingCall {
        call: CallId,
        /// Time at which the call lease expires, or `None` if it never expires.
        until: Option<Micros>,
        /// Whether the agent has answered. If not, the call returns to its line when the lease
        /// expires.
        answered: bool,
    },
}

impl AgentState {
    pub fn status(&self) -> AgentStatus {
        match self {
            Self::Offline => AgentStatus::Offline,
            Self::Available { .. } => AgentStatus::Available,
            Self::Queued { .. } => AgentStatus::Queued,
            Self::AttendingCall { .. } => AgentStatus::AttendingCall,
        }
    }
}
