//! Items back to agents, entries and calls.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use uuid::Uuid;

use super::Item;
use crate::agent::{Agent, AgentState, AgentStatus, Ticket};
use crate::call::{Assignment, Call, CallRecord, CallState, ExpiredCall, News, Notice};
use crate::change::{CallLease, QueueEntry};
use crate::criteria::{Criteria, QueueName};
use crate::dimension::Dimensions;
use crate::name::{AgentId, CallId, Value};
use crate::profile::Profile;
use crate::schema;
use crate::store::StoreError;
use crate::time::Micros;

/// Reads an item's attributes; what cannot be read is named.
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

    fn read<T>(
        &self,
        attribute: &str,
        parse: impl FnOnce(&'a str) -> Option<T>,
    ) -> Result<T, StoreError> {
        let text = self.text(attribute);
        text.and_then(parse)
            .ok_or_else(|| self.undecodable(attribute))
    }

    fn moment(&self, attribute: &str) -> Result<Micros, StoreError> {
        self.read(attribute, Micros::parse)
    }

    /// A moment that may be absent.
    fn until(&self) -> Result<Option<Micros>, StoreError> {
        let there = self.item.contains_key(schema::LEASE_UNTIL);
        there.then(|| self.moment(schema::LEASE_UNTIL)).transpose()
    }

    fn list(&self, attribute: &str) -> Result<&'a [String], StoreError> {
        let list = self
            .item
            .get(attribute)
            .and_then(|value| value.as_ss().ok());
        let list = list.map(Vec::as_slice);
        list.ok_or_else(|| self.undecodable(attribute))
    }

    pub(in crate::store::dynamodb) fn whole(&self, attribute: &str) -> Result<i64, StoreError> {
        let value = self.item.get(attribute).and_then(|value| value.as_n().ok());
        value
            .and_then(|digits| digits.parse().ok())
            .ok_or_else(|| self.undecodable(attribute))
    }

    /// A number of items. A table that was restored or edited may count less than none.
    pub(in crate::store::dynamodb) fn depth(&self, attribute: &str) -> Result<u64, StoreError> {
        Ok(self.whole(attribute)?.try_into().unwrap_or(0))
    }

    /// The numbers of a stripe of the joins, by the queues' names.
    pub(in crate::store::dynamodb) fn joins(&self) -> impl Iterator<Item = (&'a str, u64)> {
        let number = |(name, value): (&'a String, &AttributeValue)| {
            let joins = value.as_n().ok()?.parse().ok()?;
            Some((name.as_str(), joins))
        };
        self.item.iter().filter_map(number)
    }

    pub(in crate::store::dynamodb) fn sort_key(&self) -> Result<&'a str, StoreError> {
        self.read(schema::SK, Some)
    }

    fn ticket(&self) -> Result<Ticket, StoreError> {
        let parse = |text| Uuid::parse_str(text).ok().map(Ticket);
        self.read(schema::TICKET, parse)
    }

    fn agent_id(&self) -> Result<AgentId, StoreError> {
        self.read(schema::AGENT_ID, |text| Some(AgentId::from_stored(text)))
    }

    fn call_id(&self) -> Result<CallId, StoreError> {
        self.read(schema::CALL_ID, |text| Some(CallId::from_stored(text)))
    }

    fn criteria(&self) -> Result<Criteria, StoreError> {
        self.read(schema::CRITERIA, |text| Some(Criteria::from_stored(text)))
    }

    fn queues(&self) -> Result<Vec<QueueName>, StoreError> {
        let mut queues: Vec<_> = self.list(schema::QUEUES)?.to_vec();
        queues.sort_unstable();
        Ok(queues.into_iter().map(QueueName::from_stored).collect())
    }

    pub(in crate::store::dynamodb) fn agent(
        &self,
        dimensions: &Dimensions,
    ) -> Result<Agent, StoreError> {
        let (mut several, mut single) = (BTreeSet::new(), Vec::new());
        for dimension in dimensions.all() {
            if dimension.multi_valued {
                let values = self.list(&dimension.attribute)?;
                several = values.iter().map(Value::from_stored).collect();
            } else {
                let value = |text| Some(Value::from_stored(text));
                single.push(self.read(&dimension.attribute, value)?);
            }
        }
        Ok(Agent {
            id: self.agent_id()?,
            name: self.read(schema::AGENT_NAME, |text| Some(text.to_owned()))?,
            profile: Profile::new(several, single),
            ticket: self.ticket()?,
            state: self.agent_state()?,
        })
    }

    fn agent_state(&self) -> Result<AgentState, StoreError> {
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
            },
        })
    }

    pub(in crate::store::dynamodb) fn entry(&self) -> Result<QueueEntry, StoreError> {
        Ok(QueueEntry {
            queue: self.read(schema::PK, |text| Some(QueueName::from_stored(text)))?,
            at: self.moment(schema::QUEUED_AT)?,
            agent: self.agent_id()?,
            agent_name: self.read(schema::AGENT_NAME, |text| Some(text.to_owned()))?,
            ticket: self.ticket()?,
            queues: self.queues()?,
        })
    }

    pub(in crate::store::dynamodb) fn call(&self) -> Result<Call, StoreError> {
        Ok(Call {
            id: self.call_id()?,
            criteria: self.criteria()?,
            arrived: self.moment(schema::ARRIVED_AT)?,
            sequence: self.read(schema::SEQUENCE, |digits| digits.parse().ok())?,
        })
    }

    pub(in crate::store::dynamodb) fn record(&self) -> Result<CallRecord, StoreError> {
        let state = match self.read(schema::CALL_STATUS, Some)? {
            "waiting" => CallState::Waiting,
            "assigned" => CallState::Assigned(self.assignment()?),
            "cancelled" => CallState::Cancelled,
            "expired" => CallState::Expired,
            _ => return Err(self.undecodable(schema::CALL_STATUS)),
        };
        let call = self.call()?;
        Ok(CallRecord { call, state })
    }

    fn assignment(&self) -> Result<Assignment, StoreError> {
        Ok(Assignment {
            call_id: self.call_id()?,
            criteria: self.criteria()?,
            agent_id: self.agent_id()?,
            agent_name: self.read(schema::AGENT_NAME, |text| Some(text.to_owned()))?,
            ticket: self.ticket()?,
            assigned_at: self.moment(schema::ASSIGNED_AT)?,
            lease_until: self.until()?,
        })
    }

    pub(in crate::store::dynamodb) fn lease(&self) -> Result<CallLease, StoreError> {
        Ok(CallLease {
            until: self.moment(schema::LEASE_UNTIL)?,
            agent: self.agent_id()?,
            ticket: self.ticket()?,
            call: self.call_id()?,
        })
    }

    pub(in crate::store::dynamodb) fn notice(&self) -> Result<Notice, StoreError> {
        let at = self.read(schema::SK, |sk| Micros::parse(sk.split('#').next()?))?;
        let news = match self.read(schema::CALL_STATUS, Some)? {
            "assigned" => News::Assigned(self.assignment()?),
            "expired" => News::Expired(ExpiredCall {
                call_id: self.call_id()?,
                criteria: self.criteria()?,
                arrived_at: self.moment(schema::ARRIVED_AT)?,
            }),
            _ => return Err(self.undecodable(schema::CALL_STATUS)),
        };
        Ok(Notice { at, news })
    }
}
