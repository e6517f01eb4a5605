//! A call, its states, and its assignment.
//!
//! | from | to | by |
//! |---|---|---|
//! | – | pending | no agent matches, earlier calls with the same criteria are pending, or `agent-desk` sent it |
//! | –, pending | assigned | match |
//! | –, pending | cancelled | the caller, even before the call arrives |
//! | –, pending | expired | the call waited longer than `maxWait` |
//! | assigned | pending | the sweep: the agent did not answer in time |
//! | assigned | cancelled | the caller, before the agent has answered |
//!
//! No other transition exists. The table stores the status of a pending call as `waiting`. The
//! response to a redelivered call is its current state. When a returned call is assigned again, the
//! assignment gets the next number. A finished call is kept for [`RETENTION`].

use std::time::Duration;

use serde::Serialize;

use crate::agent::Ticket;
use crate::criteria::Criteria;
use crate::name::{AgentId, CallId};
use crate::schema;
use crate::time::Micros;

/// Minimum time for which a finished call is kept: one day longer than SQS may redeliver its
/// message
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>).
pub const RETENTION: Duration = Duration::from_secs(15 * 24 * 60 * 60);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The unique id. A call has at most one valid assignment at a time.
    pub id: CallId,
    pub criteria: Criteria,
    /// Start of the wait: the time at which the call was sent, not the time of its delivery.
    pub arrived: Micros,
    /// Orders calls that were sent at the same time. SQS timestamps have only millisecond
    /// resolution, but SQS numbers the messages of a group.
    pub sequence: u128,
    /// Number of earlier assignments that were not answered in time.
    pub unanswered: u32,
}

impl Call {
    /// Creates a call without a sequence number and without earlier assignments.
    pub fn new(id: CallId, criteria: Criteria, arrived: Micros) -> Self {
        Self {
            id,
            criteria,
            arrived,
            sequence: 0,
            unanswered: 0,
        }
    }

    /// Returns a pending call's sort key: the time and the sequence with fixed widths, and the id.
    pub fn sort_key(&self) -> String {
        format!("{}#{:039}#{}", self.arrived, self.sequence, self.id)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Assignment {
    /// The call's id. Subscribers deduplicate by this id and the assignment number.
    pub call_id: CallId,
    /// Number of this assignment of the call, starting at 1. It supersedes assignments with lower
    /// numbers.
    #[serde(rename = "assignment")]
    pub number: u32,
    /// The call's criteria in canonical form, for example `Spanish#M`.
    #[serde(serialize_with = "as_text")]
    pub criteria: Criteria,
    pub agent_id: AgentId,
    /// The agent's name, for display.
    pub agent_name: String,
    pub ticket: Ticket,
    pub assigned_at: Micros,
    /// Time at which the first call lease expires. Absent if it never expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_until: Option<Micros>,
}

fn as_text<S: serde::Serializer>(criteria: &Criteria, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(criteria)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallState {
    /// Waiting for an agent.
    Pending,
    Assigned(Assignment),
    Cancelled,
    /// Waited longer than `maxWait`. The call is in the dead-letter queue or still in the outbox.
    Expired,
    /// The call's item cannot be read, so the call counts as ended. No process writes this state.
    Unreadable,
}

impl CallState {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Assigned(_) => "assigned",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
            Self::Unreadable => "unreadable",
        }
    }

    /// Returns the status as stored in the table.
    pub fn stored(&self) -> &'static str {
        match self {
            Self::Pending => schema::PENDING,
            other => other.as_str(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRecord {
    pub call: Call,
    pub state: CallState,
    /// Time at which DynamoDB may delete the call, in seconds since the Unix epoch; `None` for a
    /// pending call.
    pub ttl: Option<u64>,
}

impl CallRecord {
    pub fn pending(call: Call) -> Self {
        Self {
            call,
            state: CallState::Pending,
            ttl: None,
        }
    }

    /// Creates the record of a call whose wait ended at `at`. The record is kept for [`RETENTION`].
    pub fn ended(call: Call, state: CallState, at: Micros) -> Self {
        Self {
            call,
            state,
            ttl: Some(at.plus(RETENTION).0.div_ceil(1_000_000)),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExpiredCall {
    pub call_id: CallId,
    /// The call's criteria in canonical form.
    #[serde(serialize_with = "as_text")]
    pub criteria: Criteria,
    /// Time at which the call's wait started.
    pub arrived_at: Micros,
}

/// An outbox event, kept in the table until it is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxEntry {
    /// Time of the write. The sort key consists of this time and the call's id.
    pub at: Micros,
    pub event: OutboxEvent,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutboxEvent {
    Assigned(Assignment),
    Expired(ExpiredCall),
}

impl OutboxEvent {
    pub fn call_id(&self) -> &CallId {
        match self {
            Self::Assigned(assignment) => &assignment.call_id,
            Self::Expired(call) => &call.call_id,
        }
    }
}

impl OutboxEntry {
    pub fn assigned(made: Assignment) -> Self {
        Self {
            at: made.assigned_at,
            event: OutboxEvent::Assigned(made),
        }
    }

    pub fn expired(call: &Call, at: Micros) -> Self {
        let expired = ExpiredCall {
            call_id: call.id.clone(),
            criteria: call.criteria.clone(),
            arrived_at: call.arrived,
        };
        let event = OutboxEvent::Expired(expired);
        Self { at, event }
    }

    pub fn sort_key(&self) -> String {
        format!("{}#{}", self.at, self.event.call_id())
    }
}
