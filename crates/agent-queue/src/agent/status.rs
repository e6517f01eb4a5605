//! What an agent does.

use std::fmt;

use serde::Serialize;

use crate::criteria::QueueName;
use crate::name::CallId;
use crate::time::Micros;

/// What an agent does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum AgentStatus {
    /// Not at work.
    Offline,
    /// At work, in no queue, in no call.
    Available,
    /// Waits in every queue that fits.
    Queued,
    /// In a call.
    AttendingCall,
}

impl AgentStatus {
    /// Every status.
    pub const ALL: [Self; 4] = [
        Self::Offline,
        Self::Available,
        Self::Queued,
        Self::AttendingCall,
    ];

    /// As it stands in the table.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Offline => "offline",
            Self::Available => "available",
            Self::Queued => "queued",
            Self::AttendingCall => "attendingCall",
        }
    }

    /// Reads the status from the table.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

impl fmt::Display for AgentStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What an agent does, with what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentState {
    /// Not at work.
    Offline,
    /// At work.
    Available {
        /// Since when.
        since: Micros,
    },
    /// Waits.
    Queued {
        /// Available since when.
        since: Micros,
        /// The place in the queues.
        at: Micros,
        /// Which queues: those at the time, whatever the dimensions are now.
        queues: Vec<QueueName>,
    },
    /// In a call.
    AttendingCall {
        /// Which.
        call: CallId,
        /// When the lease expires; `None`: never.
        until: Option<Micros>,
        /// Whether the agent has answered. If not, the call returns to its line when the lease
        /// expires.
        answered: bool,
    },
}

impl AgentState {
    /// The state's name.
    #[must_use]
    pub fn status(&self) -> AgentStatus {
        match self {
            Self::Offline => AgentStatus::Offline,
            Self::Available { .. } => AgentStatus::Available,
            Self::Queued { .. } => AgentStatus::Queued,
            Self::AttendingCall { .. } => AgentStatus::AttendingCall,
        }
    }
}
