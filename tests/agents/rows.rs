//! The entire content of a store, in the format of the documented table: one row per item.

use std::collections::BTreeMap;

use agent_queue::agent::{Agent, AgentState};
use agent_queue::call::{Assignment, Call, CallRecord, CallState, OutboxEntry, OutboxEvent};
use agent_queue::criteria::QueueName;
use agent_queue::dimension::Dimensions;
use agent_queue::name::CallId;
use agent_queue::store::{AgentStore, Order, QueueCounters, StoreError};
use agent_queue::time::Micros;
use agent_queue::transaction::{
    CallLease, Key, QueueEntry, Step, agent_key, call_key, lease_key, line_key, outbox_key,
};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use simulator::dynamodb::AGENT_TABLE;

/// An item without its key. Each attribute has one text, or the sorted texts of a set.
pub type Row = BTreeMap<String, Vec<String>>;

pub type Rows = BTreeMap<Key, Row>;

/// Limit that is larger than the number of items of one kind in any suite.
const ALL: u16 = 1_000;

/// Time later than any in a suite.
const END_OF_TIME: Micros = Micros(u64::MAX);

/// Reads the entire content of a store with its own methods. Reads only the given calls.
pub async fn stored(store: &dyn AgentStore, calls: &[CallId]) -> Result<Rows, StoreError> {
    let mut rows = Rows::new();
    for one in store.agents(None, ALL).await?.agents {
        rows.insert(agent_key(&one.id), agent(&one));
    }
    for counters in store.queues().await? {
        for one in store.peek(&counters.queue, Order::Fifo, ALL).await? {
            rows.insert(Step::Join(one.clone()).key(), entry(&one));
        }
        let key = ("AllQueues".to_owned(), counters.queue.to_string());
        rows.insert(key, queue(&counters));
    }
    for count in store.pending().await? {
        for one in store.calls_in_line(&count.criteria, ALL).await? {
            rows.insert(Step::Wait(one.clone()).key(), call(&one));
        }
        rows.insert(line_key(&count.criteria), pending(count.depth));
    }
    for one in store.leases(None, END_OF_TIME, ALL).await? {
        rows.insert(lease_key(&one), lease(&one));
    }
    for one in store.outbox_entries(None, END_OF_TIME, ALL).await? {
        rows.insert(outbox_key(&one), outbox_entry(&one));
    }
    for id in calls {
        if let Some(one) = store.call(id).await? {
            rows.insert(call_key(id), record(&one));
        }
    }
    Ok(rows)
}

/// Scans the entire content of the agents' table: every attribute of every writer.
pub async fn scanned(client: &Client) -> Result<Rows, Box<dyn std::error::Error + Send + Sync>> {
    let (mut rows, mut start) = (Rows::new(), None);
    loop {
        let scan = client.scan().table_name(AGENT_TABLE).consistent_read(true);
        let page = scan.set_exclusive_start_key(start).send().await?;
        for item in page.items.unwrap_or_default() {
            let mut row = Row::new();
            for (name, value) in item {
                let texts = match value {
                    AttributeValue::S(text) | AttributeValue::N(text) => vec![text],
                    AttributeValue::Ss(mut texts) => {
                        texts.sort();
                        texts
                    }
                    other => return Err(format!("{name} is {other:?}").into()),
                };
                row.insert(name, texts);
            }
            let mut key = |name: &str| row.remove(name).and_then(|mut texts| texts.pop());
            let (Some(pk), Some(sk)) = (key("pk"), key("sk")) else {
                return Err("an item without its key".into());
            };
            rows.insert((pk, sk), row);
        }
        start = page.last_evaluated_key;
        if start.is_none() {
            return added_up(rows);
        }
    }
}

/// Computes each queue's version and depth, as the store does, from the agents' joins and the
/// number of entries. In each line's row, the number of pending calls replaces the time at which
/// the line was opened.
fn added_up(mut rows: Rows) -> Result<Rows, Box<dyn std::error::Error + Send + Sync>> {
    let mut joins: BTreeMap<String, u64> = BTreeMap::new();
    for ((pk, _), row) in &mut rows {
        if pk.starts_with("Agents#") {
            row.retain(|name, number| {
                let joined = name.starts_with("Q#");
                if joined {
                    *joins.entry(name.clone()).or_default() += number[0].parse().unwrap_or(0);
                }
                !joined
            });
        }
    }
    let depth = |partition: &str| rows.keys().filter(|(pk, _)| pk == partition).count() as u64;
    let lines: Vec<_> = rows
        .keys()
        .filter(|(pk, _)| pk == "AllCriteria")
        .map(|key| (key.clone(), pending(depth(&key.1))))
        .collect();
    let mut queues = vec![];
    for (key, _) in rows.iter().filter(|((pk, _), _)| pk == "AllQueues") {
        let joins = joins.get(&key.1).copied().unwrap_or(0);
        let depth = depth(&key.1);
        let row = texts([
            ("QueueVersionId", (2 * joins - depth).to_string()),
            ("QueueDepth", depth.to_string()),
        ]);
        queues.push((key.clone(), row));
    }
    rows.extend(queues);
    rows.extend(lines);
    Ok(rows)
}

pub fn agent(agent: &Agent) -> Row {
    let mut row = Row::new();
    let mut set = |name: &str, text: String| row.insert(name.to_owned(), vec![text]);
    set("AgentID", agent.id.to_string());
    set("AgentName", agent.name.clone());
    set("AgentStatus", agent.state.status().to_string());
    set("Ticket", agent.ticket.to_string());
    match &agent.state {
        AgentState::Offline => {}
        AgentState::Available { since } => {
            set("AvailableSince", since.to_string());
        }
        AgentState::Queued { since, at, .. } => {
            set("AvailableSince", since.to_string());
            set("QueuedAt", at.to_string());
        }
        AgentState::AttendingCall {
            call,
            until,
            answered,
        } => {
            set("CallID", call.to_string());
            if let Some(until) = until {
                set("LeaseUntil", until.to_string());
                if !answered {
                    set("AnswerBy", until.to_string());
                }
            }
        }
    }
    let dimensions = Dimensions::default();
    for (dimension, values) in std::iter::zip(dimensions.all(), agent.profile.values()) {
        let values = values.iter().map(ToString::to_string);
        row.insert(dimension.attribute.clone(), values.collect());
    }
    if let AgentState::Queued { queues, .. } = &agent.state {
        row.insert("Queues".to_owned(), names(queues));
    }
    row
}

fn names(queues: &[QueueName]) -> Vec<String> {
    let mut names: Vec<_> = queues.iter().map(ToString::to_string).collect();
    names.sort();
    names
}

pub fn queue(counters: &QueueCounters) -> Row {
    texts([
        ("QueueVersionId", counters.version.to_string()),
        ("QueueDepth", counters.depth.to_string()),
    ])
}

pub fn entry(entry: &QueueEntry) -> Row {
    let mut row = texts([
        ("AgentID", entry.agent.to_string()),
        ("AgentName", entry.agent_name.clone()),
        ("Ticket", entry.ticket.to_string()),
        ("QueuedAt", entry.at.to_string()),
    ]);
    row.insert("Queues".to_owned(), names(&entry.queues));
    row
}

pub fn pending(depth: u64) -> Row {
    texts([("PendingDepth", depth.to_string())])
}

pub fn call(call: &Call) -> Row {
    let mut row = texts([
        ("CallID", call.id.to_string()),
        ("Criteria", call.criteria.to_string()),
        ("ArrivedAt", call.arrived.to_string()),
        ("Sequence", call.sequence.to_string()),
    ]);
    let unanswered = (call.unanswered > 0).then_some(call.unanswered);
    set(&mut row, "Assignment", unanswered);
    row
}

pub fn record(record: &CallRecord) -> Row {
    let mut row = call(&record.call);
    set(&mut row, "CallStatus", Some(record.state.stored()));
    set(&mut row, "ttl", record.ttl);
    if let CallState::Assigned(assignment) = &record.state {
        row.extend(assigned(assignment));
    }
    row
}

pub fn assigned(assignment: &Assignment) -> Row {
    let mut row = texts([
        ("CallID", assignment.call_id.to_string()),
        ("Criteria", assignment.criteria.to_string()),
        ("AgentID", assignment.agent_id.to_string()),
        ("AgentName", assignment.agent_name.clone()),
        ("Ticket", assignment.ticket.to_string()),
        ("AssignedAt", assignment.assigned_at.to_string()),
        ("Assignment", assignment.number.to_string()),
    ]);
    set(&mut row, "LeaseUntil", assignment.lease_until);
    row
}

pub fn lease(lease: &CallLease) -> Row {
    let mut row = texts([
        ("LeaseUntil", lease.until.to_string()),
        ("AgentID", lease.agent.to_string()),
        ("Ticket", lease.ticket.to_string()),
        ("CallID", lease.call.to_string()),
    ]);
    set(
        &mut row,
        "AnswerBy",
        (!lease.answered).then_some(lease.until),
    );
    set(&mut row, "QueuedAt", lease.queued_at);
    row
}

pub fn outbox_entry(entry: &OutboxEntry) -> Row {
    let (status, mut row) = match &entry.event {
        OutboxEvent::Assigned(assignment) => ("assigned", assigned(assignment)),
        OutboxEvent::Expired(call) => (
            "expired",
            texts([
                ("CallID", call.call_id.to_string()),
                ("Criteria", call.criteria.to_string()),
                ("ArrivedAt", call.arrived_at.to_string()),
            ]),
        ),
    };
    row.insert("CallStatus".to_owned(), vec![status.to_owned()]);
    row
}

fn set(row: &mut Row, name: &str, value: Option<impl ToString>) {
    row.extend(value.map(|value| (name.to_owned(), vec![value.to_string()])));
}

fn texts<const N: usize>(attributes: [(&str, String); N]) -> Row {
    let own = |(name, text): (&str, String)| (name.to_owned(), vec![text]);
    attributes.into_iter().map(own).collect()
}
