//! The key of the item that each step changes.

use super::{CallLease, Step};
use crate::agent::{Agent, AgentChange};
use crate::call::OutboxEntry;
use crate::criteria::Criteria;
use crate::name::{AgentId, CallId};
use crate::schema;

/// The key of an item: partition key and sort key.
pub type Key = (String, String);

impl Step {
    pub fn key(&self) -> Key {
        match self {
            Self::NewAgent(Agent { id, .. }) | Self::Agent(AgentChange { agent: id, .. }) => {
                agent_key(id)
            }
            Self::OpenQueue(queue) => (schema::ALL_QUEUES.to_owned(), queue.to_string()),
            Self::Join(entry) | Self::Leave(entry) | Self::Discard(entry) => (
                entry.queue.to_string(),
                format!("{}#{}", entry.at, entry.agent),
            ),
            Self::Call(_, record) => call_key(&record.call.id),
            Self::Wait(call) | Self::Unwait(call) => {
                (pending_partition(&call.criteria), call.sort_key())
            }
            Self::Lease(lease) | Self::Unlease(lease) => lease_key(lease),
            Self::OutboxEntry(entry) | Self::Published(entry) => outbox_key(entry),
        }
    }
}

/// Returns the key of an agent's item, whose partition depends on the agent's id.
pub fn agent_key(agent: &AgentId) -> Key {
    let partition = striped(schema::AGENTS, stripe_of(agent.as_str()));
    (partition, format!("{}{agent}", schema::AGENT_PREFIX))
}

pub fn call_key(call: &CallId) -> Key {
    (
        format!("{}{call}", schema::CALL_PREFIX),
        schema::CALL.to_owned(),
    )
}

/// Returns the partition of the pending calls of one criteria.
pub fn pending_partition(criteria: &Criteria) -> String {
    format!("{}{criteria}", schema::CRITERIA_PREFIX)
}

/// Returns the key of a line in the registry of lines of pending calls.
pub fn line_key(criteria: &Criteria) -> Key {
    (schema::ALL_CRITERIA.to_owned(), pending_partition(criteria))
}

/// Returns the key of a call lease, whose partition depends on the agent's id.
pub fn lease_key(lease: &CallLease) -> Key {
    let partition = striped(schema::LEASES, stripe_of(lease.agent.as_str()));
    (partition, format!("{}#{}", lease.until, lease.agent))
}

/// Returns the key of an outbox entry, whose partition depends on the call's id.
pub fn outbox_key(entry: &OutboxEntry) -> Key {
    let stripe = stripe_of(entry.event.call_id().as_str());
    (striped(schema::OUTBOX, stripe), entry.sort_key())
}

/// Returns the name of one of the partitions across which items are distributed.
pub fn striped(partition: &str, stripe: u8) -> String {
    format!("{partition}#{stripe}")
}

/// Returns the stripe of an id, the same in every release: FNV-1a modulo the number of stripes
/// (<https://datatracker.ietf.org/doc/html/draft-eastlake-fnv>).
pub fn stripe_of(id: &str) -> u8 {
    let mix = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(16_777_619);
    let hash = id.bytes().fold(2_166_136_261, mix);
    (hash % u32::from(schema::STRIPES)) as u8
}
