//! Which item each step is about.

use super::Step;
use crate::agent::{Agent, AgentChange};
use crate::criteria::Criteria;
use crate::name::{AgentId, CallId};
use crate::schema;

/// The key of an item: partition key and sort key.
pub type Key = (String, String);

impl Step {
    /// The one item it is about.
    #[must_use]
    pub fn key(&self) -> Key {
        match self {
            Self::NewAgent(Agent { id, .. }) | Self::Agent(AgentChange { agent: id, .. }) => {
                agent_key(id)
            }
            Self::OpenQueue(queue) | Self::CountQueue(queue, _) => {
                (schema::ALL_QUEUES.to_owned(), queue.to_string())
            }
            Self::Join(entry) | Self::Leave(entry) | Self::Discard(entry) => (
                entry.queue.to_string(),
                format!("{}#{}", entry.at, entry.agent),
            ),
            Self::Call(_, record) => call_key(&record.call.id),
            Self::NobodyWaits(criteria) | Self::CountWaiting(criteria, _) => {
                (schema::ALL_CRITERIA.to_owned(), waiting_partition(criteria))
            }
            Self::Wait(call) | Self::Unwait(call) => {
                (waiting_partition(&call.criteria), call.sort_key())
            }
            Self::Lease(lease) | Self::Unlease(lease) => (
                schema::LEASES.to_owned(),
                format!("{}#{}", lease.until, lease.agent),
            ),
            Self::Notice(notice) => (schema::OUTBOX.to_owned(), notice.sort_key()),
        }
    }
}

/// The key of an agent's item.
#[must_use]
pub fn agent_key(agent: &AgentId) -> Key {
    let sort = format!("{}{agent}", schema::AGENT_PREFIX);
    (schema::ALL_AGENTS.to_owned(), sort)
}

/// The key of a call's item.
#[must_use]
pub fn call_key(call: &CallId) -> Key {
    (
        format!("{}{call}", schema::CALL_PREFIX),
        schema::CALL.to_owned(),
    )
}

/// The partition of the calls that wait for the same.
#[must_use]
pub fn waiting_partition(criteria: &Criteria) -> String {
    format!("{}{criteria}", schema::CRITERIA_PREFIX)
}
