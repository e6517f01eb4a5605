//! Converts agents, entries and calls to items; [`attributes`] converts them back.

mod attributes;

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

pub(super) use self::attributes::Attributes;
use crate::agent::{Agent, AgentState};
use crate::call::{Assignment, Call, CallRecord, CallState, OutboxEntry, OutboxEvent};
use crate::dimension::Dimensions;
use crate::profile::Profile;
use crate::schema;
use crate::time::Micros;
use crate::transaction::{CallLease, Key, QueueEntry};

pub(super) type Item = HashMap<String, AttributeValue>;

pub(super) fn string(value: impl ToString) -> AttributeValue {
    AttributeValue::S(value.to_string())
}

pub(super) fn number(value: impl ToString) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

/// Converts values to a string set attribute. Sets are never empty here.
pub(super) fn strings<T: ToString>(values: impl IntoIterator<Item = T>) -> AttributeValue {
    AttributeValue::Ss(values.into_iter().map(|value| value.to_string()).collect())
}

pub(super) fn key((pk, sk): Key) -> Item {
    Item::from([
        (schema::PK.to_owned(), string(pk)),
        (schema::SK.to_owned(), string(sk)),
    ])
}

pub(super) fn state_attributes(state: &AgentState) -> Vec<(&'static str, AttributeValue)> {
    match state {
        AgentState::Offline => vec![],
        AgentState::Available { since } => vec![(schema::AVAILABLE_SINCE, string(since))],
        AgentState::Queued { since, at, queues } => vec![
            (schema::AVAILABLE_SINCE, string(since)),
            (schema::QUEUED_AT, string(at)),
            (schema::QUEUES, strings(queues)),
        ],
        AgentState::AttendingCall {
            call,
            until,
            answered,
        } => {
            let mut attributes = vec![(schema::CALL_ID, string(call))];
            attributes.extend(until.map(|until| (schema::LEASE_UNTIL, string(until))));
            attributes.extend(answer_by(*until, *answered));
            attributes
        }
    }
}

/// Returns the time by which an agent must answer, if it has not answered yet.
fn answer_by(until: Option<Micros>, answered: bool) -> Option<(&'static str, AttributeValue)> {
    let until = until.filter(|_| !answered)?;
    Some((schema::ANSWER_BY, string(until)))
}

pub(super) fn profile_attributes(
    name: &str,
    profile: &Profile,
    dimensions: &Dimensions,
) -> Vec<(String, AttributeValue)> {
    let values = std::iter::zip(dimensions.all(), profile.values());
    let values = values.filter_map(|(dimension, values)| {
        let value = match dimension.multi_valued {
            true => Some(strings(values)),
            false => values.first().map(string),
        };
        value.map(|value| (dimension.attribute.clone(), value))
    });
    let name = (schema::AGENT_NAME.to_owned(), string(name));
    std::iter::once(name).chain(values).collect()
}

pub(super) fn agent_item(agent: &Agent, dimensions: &Dimensions) -> Vec<(String, AttributeValue)> {
    let own = |name: &str, value| (name.to_owned(), value);
    let mut item = vec![
        own(schema::AGENT_ID, string(&agent.id)),
        own(schema::AGENT_STATUS, string(agent.state.status())),
        own(schema::TICKET, string(agent.ticket)),
    ];
    let state = state_attributes(&agent.state);
    item.extend(state.into_iter().map(|(name, value)| own(name, value)));
    item.extend(profile_attributes(&agent.name, &agent.profile, dimensions));
    item
}

pub(super) fn entry_item(entry: &QueueEntry) -> Vec<(&'static str, AttributeValue)> {
    vec![
        (schema::AGENT_ID, string(&entry.agent)),
        (schema::AGENT_NAME, string(&entry.agent_name)),
        (schema::TICKET, string(entry.ticket)),
        (schema::QUEUED_AT, string(entry.at)),
        (schema::QUEUES, strings(&entry.queues)),
    ]
}

pub(super) fn call_item(call: &Call) -> Vec<(&'static str, AttributeValue)> {
    let mut item = vec![
        (schema::CALL_ID, string(&call.id)),
        (schema::CRITERIA, string(&call.criteria)),
        (schema::ARRIVED_AT, string(call.arrived)),
        (schema::SEQUENCE, string(call.sequence)),
    ];
    if call.unanswered > 0 {
        item.push((schema::ASSIGNMENT, number(call.unanswered)));
    }
    item
}

pub(super) fn record_item(record: &CallRecord) -> Vec<(&'static str, AttributeValue)> {
    let mut item = call_item(&record.call);
    item.push((schema::CALL_STATUS, string(record.state.stored())));
    item.extend(record.ttl.map(|ttl| (schema::TTL, number(ttl))));
    if let CallState::Assigned(assignment) = &record.state {
        item.retain(|(name, _)| *name != schema::ASSIGNMENT);
        item.extend(assigned_attributes(assignment));
    }
    item
}

fn assigned_attributes(assignment: &Assignment) -> Vec<(&'static str, AttributeValue)> {
    let until = assignment.lease_until;
    let until = until.map(|until| (schema::LEASE_UNTIL, string(until)));
    let attributes = [
        (schema::AGENT_ID, string(&assignment.agent_id)),
        (schema::AGENT_NAME, string(&assignment.agent_name)),
        (schema::TICKET, string(assignment.ticket)),
        (schema::ASSIGNED_AT, string(assignment.assigned_at)),
        (schema::ASSIGNMENT, number(assignment.number)),
    ];
    attributes.into_iter().chain(until).collect()
}

pub(super) fn lease_item(lease: &CallLease) -> Vec<(&'static str, AttributeValue)> {
    let attributes = [
        (schema::LEASE_UNTIL, string(lease.until)),
        (schema::AGENT_ID, string(&lease.agent)),
        (schema::TICKET, string(lease.ticket)),
        (schema::CALL_ID, string(&lease.call)),
    ];
    let answer_by = answer_by(Some(lease.until), lease.answered);
    let queued_at = lease.queued_at.map(|at| (schema::QUEUED_AT, string(at)));
    let further = answer_by.into_iter().chain(queued_at);
    attributes.into_iter().chain(further).collect()
}

pub(super) fn notice_item(entry: &OutboxEntry) -> Vec<(&'static str, AttributeValue)> {
    match &entry.event {
        OutboxEvent::Assigned(assignment) => {
            let mut item = vec![
                (schema::CALL_STATUS, string("assigned")),
                (schema::CALL_ID, string(&assignment.call_id)),
                (schema::CRITERIA, string(&assignment.criteria)),
            ];
            item.extend(assigned_attributes(assignment));
            item
        }
        OutboxEvent::Expired(call) => vec![
            (schema::CALL_STATUS, string("expired")),
            (schema::CALL_ID, string(&call.call_id)),
            (schema::CRITERIA, string(&call.criteria)),
            (schema::ARRIVED_AT, string(call.arrived_at)),
        ],
    }
}
