//! Items to agents, entries and calls, and back.

use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use uuid::Uuid;

use crate::agent::{Agent, AgentState, AgentStatus, Ticket};
use crate::call::{Assignment, Call, CallRecord, CallState, ExpiredCall, News, Notice};
use crate::change::{CallLease, Key, QueueEntry};
use crate::criteria::{Criteria, QueueName};
use crate::dimension::Dimensions;
use crate::name::{AgentId, CallId, Value};
use crate::profile::Profile;
use crate::schema;
use crate::store::StoreError;
use crate::time::Micros;

/// An item, or a part of one, as the client has it.
pub(super) type Item = HashMap<String, AttributeValue>;

/// A string attribute's value.
pub(super) fn string(value: impl ToString) -> AttributeValue {
    AttributeValue::S(value.to_string())
}

/// A string set attribute's value; sets are never empty here.
pub(super) fn strings<T: ToString>(values: impl IntoIterator<Item = T>) -> AttributeValue {
    AttributeValue::Ss(values.into_iter().map(|value| value.to_string()).collect())
}

/// An item's key.
pub(super) fn key((pk, sk): Key) -> Item {
    Item::from([
        (schema::PK.to_owned(), string(pk)),
        (schema::SK.to_owned(), string(sk)),
    ])
}

/// The attributes that an agent's state brings; all others of a state are absent.
pub(super) fn state_attributes(state: &AgentState) -> Vec<(&'static str, AttributeValue)> {
    match state {
        AgentState::Offline => vec![],
        AgentState::Available { since } => vec![(schema::AVAILABLE_SINCE, string(since))],
        AgentState::Queued { since, at, queues } => vec![
            (schema::AVAILABLE_SINCE, string(since)),
            (schema::QUEUED_AT, string(at)),
            (schema::QUEUES, strings(queues)),
        ],
        AgentState::AttendingCall { call, until } => {
            let until = until.map(|until| (schema::LEASE_UNTIL, string(until)));
            let call = (schema::CALL_ID, string(call));
            std::iter::once(call).chain(until).collect()
        }
    }
}

/// The attributes of a name and a profile.
pub(super) fn profile_attributes(
    name: &str,
    profile: &Profile,
    dimensions: &Dimensions,
) -> Vec<(String, AttributeValue)> {
    let mut single = profile.single().iter();
    let values = dimensions.all().iter().filter_map(|dimension| {
        let value = if dimension.multi_valued {
            Some(strings(profile.several()))
        } else {
            single.next().map(string)
        };
        value.map(|value| (dimension.attribute.clone(), value))
    });
    let name = (schema::AGENT_NAME.to_owned(), string(name));
    std::iter::once(name).chain(values).collect()
}

/// A whole agent.
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

/// An entry of a queue.
pub(super) fn entry_item(entry: &QueueEntry) -> Vec<(&'static str, AttributeValue)> {
    vec![
        (schema::AGENT_ID, string(&entry.agent)),
        (schema::AGENT_NAME, string(&entry.agent_name)),
        (schema::TICKET, string(entry.ticket)),
        (schema::QUEUED_AT, string(entry.at)),
        (schema::QUEUES, strings(&entry.queues)),
    ]
}

/// A call.
pub(super) fn call_item(call: &Call) -> Vec<(&'static str, AttributeValue)> {
    vec![
        (schema::CALL_ID, string(&call.id)),
        (schema::CRITERIA, string(&call.criteria)),
        (schema::ARRIVED_AT, string(call.arrived)),
        (schema::SEQUENCE, string(call.sequence)),
    ]
}

/// A call and what became of it.
pub(super) fn record_item(record: &CallRecord) -> Vec<(&'static str, AttributeValue)> {
    let mut item = call_item(&record.call);
    item.push((schema::CALL_STATUS, string(record.state.as_str())));
    if let CallState::Assigned(assignment) = &record.state {
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
    ];
    attributes.into_iter().chain(until).collect()
}

/// A lease on a call.
pub(super) fn lease_item(lease: &CallLease) -> Vec<(&'static str, AttributeValue)> {
    vec![
        (schema::LEASE_UNTIL, string(lease.until)),
        (schema::AGENT_ID, string(&lease.agent)),
        (schema::TICKET, string(lease.ticket)),
        (schema::CALL_ID, string(&lease.call)),
    ]
}

/// What is to be told.
pub(super) fn notice_item(notice: &Notice) -> Vec<(&'static str, AttributeValue)> {
    match &notice.news {
        News::Assigned(assignment) => {
            let mut item = vec![
                (schema::CALL_STATUS, string("assigned")),
                (schema::CALL_ID, string(&assignment.call_id)),
                (schema::CRITERIA, string(&assignment.criteria)),
            ];
            item.extend(assigned_attributes(assignment));
            item
        }
        News::Expired(call) => vec![
            (schema::CALL_STATUS, string("expired")),
            (schema::CALL_ID, string(&call.call_id)),
            (schema::CRITERIA, string(&call.criteria)),
            (schema::ARRIVED_AT, string(call.arrived_at)),
        ],
    }
}

/// Reads an item's attributes; what cannot be read is named.
pub(super) struct Attributes<'a> {
    item: &'a Item,
    operation: &'static str,
}

impl<'a> Attributes<'a> {
    pub(super) fn of(item: &'a Item, operation: &'static str) -> Self {
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

    pub(super) fn number(&self, attribute: &str) -> Result<u64, StoreError> {
        let value = self.item.get(attribute).and_then(|value| value.as_n().ok());
        value
            .and_then(|digits| digits.parse().ok())
            .ok_or_else(|| self.undecodable(attribute))
    }

    pub(super) fn sort_key(&self) -> Result<&'a str, StoreError> {
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

    pub(super) fn agent(&self, dimensions: &Dimensions) -> Result<Agent, StoreError> {
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

    pub(super) fn entry(&self) -> Result<QueueEntry, StoreError> {
        Ok(QueueEntry {
            queue: self.read(schema::PK, |text| Some(QueueName::from_stored(text)))?,
            at: self.moment(schema::QUEUED_AT)?,
            agent: self.agent_id()?,
            agent_name: self.read(schema::AGENT_NAME, |text| Some(text.to_owned()))?,
            ticket: self.ticket()?,
            queues: self.queues()?,
        })
    }

    pub(super) fn call(&self) -> Result<Call, StoreError> {
        Ok(Call {
            id: self.call_id()?,
            criteria: self.criteria()?,
            arrived: self.moment(schema::ARRIVED_AT)?,
            sequence: self.read(schema::SEQUENCE, |digits| digits.parse().ok())?,
        })
    }

    pub(super) fn record(&self) -> Result<CallRecord, StoreError> {
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

    pub(super) fn lease(&self) -> Result<CallLease, StoreError> {
        Ok(CallLease {
            until: self.moment(schema::LEASE_UNTIL)?,
            agent: self.agent_id()?,
            ticket: self.ticket()?,
            call: self.call_id()?,
        })
    }

    pub(super) fn notice(&self) -> Result<Notice, StoreError> {
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
