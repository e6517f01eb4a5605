//! Converts items back to agents, entries and calls.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use uuid::Uuid;

use super::Item;
use crate::agent::{Agent, AgentState, AgentStatus, Ticket};
use crate::call::{Assignment, Call, CallRecord, CallState, ExpiredCall, OutboxEntry, OutboxEvent};
use crate::criteria::{Criteria, QueueName};
use crate::dimension::{Dimension, Dimensions};
use crate::name::{AgentId, CallId, Value};
use crate::profile::Profile;
use crate::schema;
use crate::store::{Result, StoreError};
use crate::time::Micros;
use crate::transaction::{CallLease, QueueEntry};

/// Reads an item's attributes. An error names the attribute that cannot be read.
pub(in crate::store::dynamodb) struct Attributes<'a> {
    item: &'a Item,
    operation: &'static str,
}

impl<'a> Attributes<'a> {
    pub(in crate::store::dynamodb) fn of(item: &'a Item, operation: &'static str) -> Self {
        Self { item, operation }
    }

    fn undecodable(&self, attribute: &str) -> StoreError {
        let part = |name| self.text(name).unwrap_or("?");
        StoreError::Undecodable {
            operation: self.operation,
            attribute: attribute.to_owned(),
            key: format!("{}/{}", part(schema::PK), part(schema::SK)),
        }
    }

    fn text(&self, attribute: &str) -> Option<&'a str> {
        let value = self.item.get(attribute)?.as_s().ok()?;
        Some(value.as_str())
    }

    fn read<T>(&self, attribute: &str, parse: impl FnOnce(&'a str) -> Option<T>) -> Result<T> {
        let text = self.text(attribute);
        text.and_then(parse)
            .ok_or_else(|| self.undecodable(attribute))
    }

    fn moment(&self, attribute: &str) -> Result<Micros> {
        self.read(attribute, Micros::parse)
    }

    fn moment_if_there(&self, attribute: &str) -> Result<Option<Micros>> {
        let there = self.item.contains_key(attribute);
        there.then(|| self.moment(attribute)).transpose()
    }

    fn until(&self) -> Result<Option<Micros>> {
        self.moment_if_there(schema::LEASE_UNTIL)
    }

    fn list(&self, attribute: &str) -> Result<&'a [String]> {
        let list = self
            .item
            .get(attribute)
            .and_then(|value| value.as_ss().ok());
        let list = list.map(Vec::as_slice);
        list.ok_or_else(|| self.undecodable(attribute))
    }

    fn whole(&self, attribute: &str) -> Result<i64> {
        let value = self.item.get(attribute).and_then(|value| value.as_n().ok());
        value
            .and_then(|digits| digits.parse().ok())
            .ok_or_else(|| self.undecodable(attribute))
    }

    /// Reads the time at which a line was last opened.
    pub(in crate::store::dynamodb) fn seen(&self) -> Result<Micros> {
        self.moment(schema::SEEN_AT)
    }

    /// Returns the names of the queues that an agent has joined, each with its number of joins.
    pub(in crate::store::dynamodb) fn joins(&self) -> impl Iterator<Item = (&'a str, u64)> {
        let number = |(name, value): (&'a String, &AttributeValue)| {
            let joins = value.as_n().ok()?.parse().ok()?;
            Some((name.as_str(), joins))
        };
        self.item.iter().filter_map(number)
    }

    pub(in crate::store::dynamodb) fn sort_key(&self) -> Result<&'a str> {
        self.read(schema::SK, Some)
    }

    fn assignments(&self) -> Result<Option<u32>> {
        let there = self.item.contains_key(schema::ASSIGNMENT);
        let number = there.then(|| self.whole(schema::ASSIGNMENT)).transpose()?;
        let number = number
            .map(|number| u32::try_from(number).map_err(|_| self.undecodable(schema::ASSIGNMENT)));
        number.transpose()
    }

    /// Whether the assignment needs no further answer.
    fn answered(&self) -> bool {
        !self.item.contains_key(schema::ANSWER_BY)
    }

    fn ticket(&self) -> Result<Ticket> {
        let parse = |text| Uuid::parse_str(text).ok().map(Ticket);
        self.read(schema::TICKET, parse)
    }

    fn agent_id(&self) -> Result<AgentId> {
        self.read(schema::AGENT_ID, |text| Some(AgentId::from_stored(text)))
    }

    fn call_id(&self) -> Result<CallId> {
        self.read(schema::CALL_ID, |text| Some(CallId::from_stored(text)))
    }

    fn criteria(&self) -> Result<Criteria> {
        self.read(schema::CRITERIA, |text| Some(Criteria::from_stored(text)))
    }

    fn queues(&self) -> Result<Vec<QueueName>> {
        let mut queues: Vec<_> = self.list(schema::QUEUES)?.to_vec();
        queues.sort_unstable();
        Ok(queues.into_iter().map(QueueName::from_stored).collect())
    }

    pub(in crate::store::dynamodb) fn agent(&self, dimensions: &Dimensions) -> Result<Agent> {
        let values = dimensions
            .all()
            .iter()
            .map(|dimension| self.values(dimension));
        let values = values.collect::<Result<_, _>>()?;
        Ok(Agent {
            id: self.agent_id()?,
            name: self.read(schema::AGENT_NAME, |text| Some(text.to_owned()))?,
            profile: Profile::new(values),
            ticket: self.ticket()?,
            state: self.agent_state()?,
        })
    }

    /// Reads a dimension's values: one text, or a set of texts if multi-valued. A dimension may
    /// become multi-valued while agents are registered, so one text is always accepted.
    fn values(&self, dimension: &Dimension) -> Result<BTreeSet<Value>> {
        let attribute = &dimension.attribute;
        if let Some(one) = self.text(attribute) {
            return Ok(BTreeSet::from([Value::from_stored(one)]));
        }
        if !dimension.multi_valued {
            return Err(self.undecodable(attribute));
        }
        let values = self.list(attribute)?;
        Ok(values.iter().map(Value::from_stored).collect())
    }

    fn agent_state(&self) -> Result<AgentState> {
        let since = || self.moment(schema::AVAILABLE_SINCE);
        let status = self.read(schema::AGENT_STATUS, AgentStatus::parse)?;
        Ok(match status {
            AgentStatus::Offline => AgentState::Offline,
            AgentStatus::Available => AgentState::Available { since: since()? },
            AgentStatus::Queued => AgentState::Queued {
                since: since()?,
                at: self.moment(schema::QUEUED_AT)?,
                queues: self.queues()?,
            },
            AgentStatus::AttendingCall => AgentState::AttendingCall {
                call: self.call_id()?,
                until: self.until()?,
                answered: self.answered(),
            },
        })
    }

    pub(in crate::store::dynamodb) fn entry(&self) -> Result<QueueEntry> {
        Ok(QueueEntry {
            queue: self.read(schema::PK, |text| Some(QueueName::from_stored(text)))?,
            at: self.moment(schema::QUEUED_AT)?,
            agent: self.agent_id()?,
            agent_name: self.read(schema::AGENT_NAME, |text| Some(text.to_owned()))?,
            ticket: self.ticket()?,
            queues: self.queues()?,
        })
    }

    pub(in crate::store::dynamodb) fn call(&self) -> Result<Call> {
        Ok(Call {
            id: self.call_id()?,
            criteria: self.criteria()?,
            arrived: self.moment(schema::ARRIVED_AT)?,
            sequence: self.read(schema::SEQUENCE, |digits| digits.parse().ok())?,
            unanswered: self.assignments()?.unwrap_or(0),
        })
    }

    pub(in crate::store::dynamodb) fn record(&self) -> Result<CallRecord> {
        let state = match self.read(schema::CALL_STATUS, Some)? {
            schema::PENDING => CallState::Pending,
            "assigned" => CallState::Assigned(self.assignment()?),
            "cancelled" => CallState::Cancelled,
            "expired" => CallState::Expired,
            _ => return Err(self.undecodable(schema::CALL_STATUS)),
        };
        let mut call = self.call()?;
        if let CallState::Assigned(made) = &state {
            call.unanswered = made.number.saturating_sub(1);
        }
        let ttl = self.item.contains_key(schema::TTL);
        let ttl = ttl.then(|| self.whole(schema::TTL)).transpose()?;
        Ok(CallRecord {
            call,
            state,
            ttl: ttl.and_then(|ttl| ttl.try_into().ok()),
        })
    }

    fn assignment(&self) -> Result<Assignment> {
        Ok(Assignment {
            call_id: self.call_id()?,
            number: self.assignments()?.unwrap_or(1),
            criteria: self.criteria()?,
            agent_id: self.agent_id()?,
            agent_name: self.read(schema::AGENT_NAME, |text| Some(text.to_owned()))?,
            ticket: self.ticket()?,
            assigned_at: self.moment(schema::ASSIGNED_AT)?,
            lease_until: self.until()?,
        })
    }

    pub(in crate::store::dynamodb) fn lease(&self) -> Result<CallLease> {
        Ok(CallLease {
            until: self.moment(schema::LEASE_UNTIL)?,
            agent: self.agent_id()?,
            ticket: self.ticket()?,
            call: self.call_id()?,
            answered: self.answered(),
            queued_at: self.moment_if_there(schema::QUEUED_AT)?,
        })
    }

    pub(in crate::store::dynamodb) fn outbox_entry(&self) -> Result<OutboxEntry> {
        let at = self.read(schema::SK, |sk| Micros::parse(sk.split('#').next()?))?;
        let event = match self.read(schema::CALL_STATUS, Some)? {
            "assigned" => OutboxEvent::Assigned(self.assignment()?),
            "expired" => OutboxEvent::Expired(ExpiredCall {
                call_id: self.call_id()?,
                criteria: self.criteria()?,
                arrived_at: self.moment(schema::ARRIVED_AT)?,
            }),
            _ => return Err(self.undecodable(schema::CALL_STATUS)),
        };
        Ok(OutboxEntry { at, event })
    }
}
