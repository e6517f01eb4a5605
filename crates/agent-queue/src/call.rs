//! A call, its outcome, and its assignment.
//!
//! | from | to | by |
//! |---|---|---|
//! | – | waiting | no agent fits, or others wait for the same |
//! | –, waiting | assigned | match |
//! | waiting | cancelled | the caller |
//! | –, waiting | expired | it waited for longer than `maxWait` |
//! | assigned | waiting | the sweep: the agent did not answer in time |
//!
//! Nothing else. A redelivered call gets the answer that it has. A call that is waiting again is
//! assigned under the next number. A finished call is kept for [`RETENTION`].

use std::time::Duration;

use serde::Serialize;

use crate::agent::Ticket;
use crate::criteria::Criteria;
use crate::name::{AgentId, CallId};
use crate::time::Micros;

/// How long a finished call is kept at least: a day longer than SQS may redeliver its message
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>).
pub const RETENTION: Duration = Duration::from_secs(15 * 24 * 60 * 60);

/// A call that asks for an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The identity; one live assignment at a time.
    pub id: CallId,
    /// Which agents fit.
    pub criteria: Criteria,
    /// Since when it waits: when it was sent, not when it was delivered.
    pub arrived: Micros,
    /// Tells calls apart that arrived in one moment: SQS tells milliseconds only, but numbers
    /// the messages of a group.
    pub sequence: u128,
    /// How often it was assigned to an agent who did not answer.
    pub unanswered: u32,
}

impl Call {
    /// Its sort key among those waiting: the moment, the number, the id, each as wide as it gets.
    #[must_use]
    pub fn sort_key(&self) -> String {
        format!("{}#{:039}#{}", self.arrived, self.sequence, self.id)
    }
}

/// A call and its agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Assignment {
    /// The call; subscribers deduplicate by it and the number.
    pub call_id: CallId,
    /// The number of this assignment among the call's, from 1. A higher one replaces it.
    #[serde(rename = "assignment")]
    pub number: u32,
    /// What it asked for, canonical: `Spanish#M`.
    #[serde(serialize_with = "as_text")]
    pub criteria: Criteria,
    /// The agent.
    pub agent_id: AgentId,
    /// The agent's name, for people.
    pub agent_name: String,
    /// To finish the call with.
    pub ticket: Ticket,
    /// When they met.
    pub assigned_at: Micros,
    /// When the lease expires that the agent has at first; absent: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_until: Option<Micros>,
}

fn as_text<S: serde::Serializer>(criteria: &Criteria, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(criteria)
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallState {
    /// Waits for an agent.
    Waiting,
    /// MatchOutcome its agent.
    Assigned(Assignment),
    /// Cancelled by the caller.
    Cancelled,
    /// Waited for too long; it is in the dead-letter queue, or on its way there.
    Expired,
}

impl CallState {
    /// As it stands in the table.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Assigned(_) => "assigned",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
        }
    }
}

/// A call as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRecord {
    /// The call.
    pub call: Call,
    /// Its outcome.
    pub state: CallState,
    /// When DynamoDB may delete it, in seconds since the Unix epoch; a waiting call stays.
    pub ttl: Option<u64>,
}

impl CallRecord {
    /// A call that waits.
    #[must_use]
    pub fn waiting(call: Call) -> Self {
        Self {
            call,
            state: CallState::Waiting,
            ttl: None,
        }
    }

    /// A call whose wait ended at this moment.
    #[must_use]
    pub fn ended(call: Call, state: CallState, at: Micros) -> Self {
        Self {
            call,
            state,
            ttl: Some(at.plus(RETENTION).0.div_ceil(1_000_000)),
        }
    }
}

/// A call in the dead-letter queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExpiredCall {
    /// The call.
    pub call_id: CallId,
    /// What it asked for, canonical.
    #[serde(serialize_with = "as_text")]
    pub criteria: Criteria,
    /// Since when it waited.
    pub arrived_at: Micros,
}

/// An event of the outbox, kept in the table until it is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxEntry {
    /// When it was written; with the call's id its key.
    pub at: Micros,
    /// The event.
    pub event: OutboxEvent,
}

/// Something to publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutboxEvent {
    /// For the topic.
    Assigned(Assignment),
    /// For the dead-letter queue.
    Expired(ExpiredCall),
}

impl OutboxEvent {
    /// The call it is about.
    #[must_use]
    pub fn call_id(&self) -> &CallId {
        match self {
            Self::Assigned(assignment) => &assignment.call_id,
            Self::Expired(call) => &call.call_id,
        }
    }
}

impl OutboxEntry {
    /// Its sort key.
    #[must_use]
    pub fn sort_key(&self) -> String {
        format!("{}#{}", self.at, self.event.call_id())
    }
}
