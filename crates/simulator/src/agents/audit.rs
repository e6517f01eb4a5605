//! The invariants of the agents' table, which must hold at every moment.

use std::collections::{BTreeMap, BTreeSet};

use agent_queue::agent::AgentState;
use agent_queue::call::CallState;
use agent_queue::name::CallId;
use agent_queue::store::{AgentStore, Order, StoreError};
use agent_queue::time::Micros;
use agent_queue::transaction::CallLease;

/// Page limit, larger than any table in the tests.
const ALL: u16 = 10_000;

/// 9999-12-31T23:59:59.999999Z, later than any time in the tests.
const EVER: Micros = Micros(253_402_300_799_999_999);

/// Returns a description of each broken invariant. `calls` are the ids of all calls ever sent.
pub async fn violations(
    store: &dyn AgentStore,
    calls: &[CallId],
) -> Result<Vec<String>, StoreError> {
    let mut wrong = vec![];
    let agents = store.agents(None, ALL).await?.agents;
    // The entries and the depth of each queue.
    let mut expected: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for agent in &agents {
        if let AgentState::Queued { at, queues, .. } = &agent.state {
            for queue in queues {
                let entry = (*at, agent.id.clone(), agent.ticket.to_string());
                expected.entry(queue.clone()).or_default().insert(entry);
            }
        }
    }
    for counters in store.queues().await? {
        let queue = counters.queue;
        let entries = store.peek(&queue, Order::Fifo, ALL).await?;
        let there: BTreeSet<_> = entries
            .into_iter()
            .map(|entry| (entry.at, entry.agent, entry.ticket.to_string()))
            .collect();
        if counters.depth != there.len() as u64 {
            let depth = counters.depth;
            wrong.push(format!("{queue}: depth {depth}, entries {}", there.len()));
        }
        let expected = expected.remove(&queue).unwrap_or_default();
        if there != expected {
            wrong.push(format!(
                "{queue}: entries {there:?}, queued agents {expected:?}"
            ));
        }
    }
    wrong.extend(expected.keys().map(|queue| format!("{queue}: missing")));
    // A ticket has at most one assigned call, and an attending agent's ticket has the agent's call.
    let mut stays = BTreeMap::new();
    for id in calls {
        let Some(record) = store.call(id).await? else {
            continue;
        };
        if let CallState::Assigned(assignment) = record.state
            && let Some(other) = stays.insert(assignment.ticket.to_string(), id.clone())
        {
            wrong.push(format!("{id} and {other} are assigned with one ticket"));
        }
    }
    let mut leases: BTreeSet<_> = store
        .leases(None, EVER, ALL)
        .await?
        .iter()
        .map(|lease| CallLease {
            queued_at: None,
            ..lease.clone()
        })
        .map(|lease| format!("{lease:?}"))
        .collect();
    for agent in &agents {
        let AgentState::AttendingCall { call, .. } = &agent.state else {
            continue;
        };
        if stays.get(&agent.ticket.to_string()) != Some(call) {
            wrong.push(format!(
                "{} attends {call}, which is not assigned to it",
                agent.id
            ));
        }
        if let Some(lease) = CallLease::of(agent)
            && !leases.remove(&format!("{lease:?}"))
        {
            wrong.push(format!("{} has no lease", agent.id));
        }
    }
    wrong.extend(
        leases
            .iter()
            .map(|lease| format!("{lease} without an agent")),
    );
    pending(store, calls, &mut wrong).await?;
    Ok(wrong)
}

/// Checks the pending calls and the depth of each line.
async fn pending(
    store: &dyn AgentStore,
    calls: &[CallId],
    wrong: &mut Vec<String>,
) -> Result<(), StoreError> {
    let mut expected = BTreeSet::new();
    for id in calls {
        let record = store.call(id).await?;
        if record.is_some_and(|record| record.state == CallState::Pending) {
            expected.insert(id.clone());
        }
    }
    let mut there = BTreeSet::new();
    for count in store.pending().await? {
        let pending = store.calls_in_line(&count.criteria, ALL).await?;
        if pending.len() as u64 != count.depth {
            let (criteria, depth) = (count.criteria, count.depth);
            wrong.push(format!(
                "{criteria}: depth {depth}, pending calls {}",
                pending.len()
            ));
        }
        there.extend(pending.into_iter().map(|call| call.id));
    }
    if there != expected {
        wrong.push(format!(
            "pending calls: in lines {there:?}, by their own items {expected:?}"
        ));
    }
    Ok(())
}
