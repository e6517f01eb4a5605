//! The rows that the table must contain according to the reference.

use std::fmt::Display;

use agent_queue::agent::{Agent, AgentState};
use agent_queue::call::CallState;
use agent_queue::criteria::QueueName;
use agent_queue::store::QueueCounters;
use agent_queue::transaction::{
    CallLease, QueueEntry, Step, agent_key, call_key, lease_key, line_key, outbox_key,
};

use super::{Line, Reference};
use crate::rows::{self, Row, Rows};

impl Reference {
    pub fn rows(&self) -> Rows {
        let mut rows = Rows::new();
        for agent in self.agents.values() {
            rows.insert(agent_key(&agent.id), rows::agent(agent));
            if let Some(mut lease) = CallLease::of(agent) {
                lease.queued_at = self.places.get(&agent.id).copied();
                lease.queued_at = lease.queued_at.filter(|_| !lease.answered);
                rows.insert(lease_key(&lease), rows::lease(&lease));
            }
        }
        for (name, line) in &self.queues {
            let key = ("AllQueues".to_owned(), name.to_string());
            rows.insert(key, rows::queue(&counters(name, line)));
            let entries = line.agents.iter();
            let entries = entries.filter_map(|(_, id)| entry(name, self.agents.get(id)?));
            rows.extend(
                entries.map(|entry| (Step::Join(entry.clone()).key(), rows::entry(&entry))),
            );
        }
        for (criteria, line) in &self.pending {
            let count = rows::pending(line.len() as u64);
            rows.insert(line_key(criteria), count);
        }
        for (id, record) in &self.calls {
            rows.insert(call_key(id), rows::record(record));
            if record.state == CallState::Pending {
                let place = Step::Wait(record.call.clone()).key();
                rows.insert(place, rows::call(&record.call));
            }
        }
        for entry in &self.outbox {
            rows.insert(outbox_key(entry), rows::outbox_entry(entry));
        }
        rows
    }
}

fn entry(queue: &QueueName, agent: &Agent) -> Option<QueueEntry> {
    let AgentState::Queued { at, queues, .. } = &agent.state else {
        return None;
    };
    Some(QueueEntry {
        queue: queue.clone(),
        at: *at,
        agent: agent.id.clone(),
        agent_name: agent.name.clone(),
        ticket: agent.ticket,
        queues: queues.clone(),
    })
}

pub(super) fn counters(queue: &QueueName, line: &Line) -> QueueCounters {
    QueueCounters {
        queue: queue.clone(),
        version: line.version,
        depth: line.agents.len() as u64,
    }
}

pub(crate) fn named(name: &impl Display, mut row: Row) -> Row {
    row.insert("Name".to_owned(), vec![name.to_string()]);
    row
}
