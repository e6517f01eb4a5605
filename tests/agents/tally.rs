//! Invariants that hold for every table at all times, for all writers and orders. The checks use
//! only the rows.

use std::collections::{BTreeMap, BTreeSet};

use crate::rows::{Row, Rows};

/// Checks the invariants of a table.
pub fn check(rows: &Rows) -> Result<(), String> {
    let depths = queues(rows)?;
    counters(rows, "AllQueues", "QueueDepth", &depths)?;
    let pending = calls(rows)?;
    counters(rows, "AllCriteria", "PendingDepth", &pending)?;
    attending(rows)?;
    leases(rows)
}

pub fn text<'a>(row: &'a Row, attribute: &str) -> &'a str {
    let texts = row.get(attribute);
    texts
        .and_then(|texts| texts.first())
        .map_or("", String::as_str)
}

pub fn agents(rows: &Rows) -> impl Iterator<Item = (&str, &Row)> {
    let agents = rows.iter().filter(|((pk, _), _)| pk.starts_with("Agents#"));
    agents.map(|((_, sort), row)| (sort.trim_start_matches("Agent#"), row))
}

fn part<'a>(rows: &'a Rows, partition: &str) -> impl Iterator<Item = (&'a str, &'a Row)> {
    let of = move |(pk, _): &&(String, String)| pk == partition;
    let keys: Vec<_> = rows.keys().filter(of).collect();
    keys.into_iter().map(|key| (key.1.as_str(), &rows[key]))
}

/// Checks that each entry belongs to an agent queued there, with the agent's ticket and position,
/// and that each queued agent has one entry in each of its queues. Returns each queue's depth.
fn queues(rows: &Rows) -> Result<BTreeMap<&str, u64>, String> {
    let queued: BTreeMap<_, _> = agents(rows)
        .filter(|(_, row)| text(row, "AgentStatus") == "queued")
        .collect();
    let mut depths = BTreeMap::new();
    let mut found = BTreeSet::new();
    for ((queue, place), entry) in rows.iter().filter(|((pk, _), _)| pk.starts_with("Q#")) {
        let id = text(entry, "AgentID");
        let Some(agent) = queued.get(id) else {
            return Err(format!("{queue} {place}: the agent is not queued"));
        };
        for same in ["Ticket", "QueuedAt", "AgentName", "Queues"] {
            if entry.get(same) != agent.get(same) {
                return Err(format!("{queue} {place}: another {same} than the agent's"));
            }
        }
        if *place != format!("{}#{id}", text(agent, "QueuedAt")) {
            return Err(format!("{queue} {place}: not the agent's place"));
        }
        found.insert((id, queue.as_str()));
        *depths.entry(queue.as_str()).or_default() += 1;
    }
    let expected = queued.iter().flat_map(|(id, row)| {
        let queues = row.get("Queues").into_iter().flatten();
        queues.map(move |queue| (*id, queue.as_str()))
    });
    let expected: BTreeSet<_> = expected.collect();
    let entries: u64 = depths.values().sum();
    if found != expected || entries != found.len() as u64 {
        return Err(format!("queued are {expected:?}, and there are {found:?}"));
    }
    Ok(depths)
}

pub fn place(row: &Row) -> String {
    let (arrived, call) = (text(row, "ArrivedAt"), text(row, "CallID"));
    format!("{arrived}#{:0>39}#{call}", text(row, "Sequence"))
}

/// Checks that each line entry belongs to a pending call, and that each pending call has an entry.
/// Returns the number of entries per line.
fn calls(rows: &Rows) -> Result<BTreeMap<&str, u64>, String> {
    let mut pending = BTreeMap::new();
    let (mut found, mut expected) = (BTreeSet::new(), BTreeSet::new());
    for ((pk, sk), row) in rows {
        if pk.starts_with("C#") {
            *pending.entry(pk.as_str()).or_default() += 1;
            found.insert((pk.clone(), sk.clone()));
        } else if pk.starts_with("Call#") && text(row, "CallStatus") == "waiting" {
            let criteria = format!("C#{}", text(row, "Criteria"));
            let place = place(row);
            expected.insert((criteria, place));
        }
    }
    if found != expected {
        return Err(format!("pending are {expected:?}, and there are {found:?}"));
    }
    Ok(pending)
}

fn counters(
    rows: &Rows,
    partition: &str,
    attribute: &str,
    exact: &BTreeMap<&str, u64>,
) -> Result<(), String> {
    let mut left = exact.clone();
    for (name, row) in part(rows, partition) {
        let exact = left.remove(name).unwrap_or(0);
        if text(row, attribute) != exact.to_string() {
            return Err(format!("{name} has {exact} and counts {row:?}"));
        }
    }
    match left.first_key_value() {
        None => Ok(()),
        Some((name, depth)) => Err(format!("{name} has {depth} and no counters")),
    }
}

/// Checks that no agent is in two calls: an attending agent and its call must reference each other
/// with the same ticket. No two assigned calls may share a ticket.
fn attending(rows: &Rows) -> Result<(), String> {
    let mut tickets = BTreeSet::new();
    for ((pk, _), record) in rows.iter().filter(|((pk, _), _)| pk.starts_with("Call#")) {
        let assigned = text(record, "CallStatus") == "assigned";
        if assigned && !tickets.insert(text(record, "Ticket")) {
            return Err(format!("{pk} has the ticket of another call: {record:?}"));
        }
    }
    for (id, agent) in agents(rows) {
        if text(agent, "AgentStatus") != "attendingCall" {
            continue;
        }
        let call = text(agent, "CallID");
        let key = (format!("Call#{call}"), "Call".to_owned());
        let Some(record) = rows.get(&key) else {
            return Err(format!("{id} attends {call}, which does not exist"));
        };
        let same = text(record, "CallStatus") == "assigned"
            && text(record, "AgentID") == id
            && record.get("Ticket") == agent.get("Ticket");
        if !same {
            return Err(format!("{id} is {agent:?}, and the call {record:?}"));
        }
    }
    Ok(())
}

/// Checks that each lease has an attending agent, and each call with a lease expiry has a lease.
fn leases(rows: &Rows) -> Result<(), String> {
    let lease = |row: &Row| {
        ["LeaseUntil", "AnswerBy", "AgentID", "Ticket", "CallID"]
            .map(|name| text(row, name).to_owned())
    };
    let found = rows.iter().filter(|((pk, _), _)| pk.starts_with("Leases#"));
    let found: BTreeSet<_> = found.map(|(_, row)| lease(row)).collect();
    let leased = agents(rows).filter(|(_, row)| row.contains_key("LeaseUntil"));
    let expected: BTreeSet<_> = leased.map(|(_, row)| lease(row)).collect();
    if found == expected {
        return Ok(());
    }
    Err(format!("leased are {expected:?}, and there are {found:?}"))
}
