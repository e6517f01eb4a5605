//! Expired leases and the outbox, both ordered by time.

use std::sync::Arc;

use agent_queue::agent::Ticket;
use agent_queue::call::{OutboxEntry, OutboxEvent};
use agent_queue::store::AgentStore;
use agent_queue::transaction::{CallLease, Change, Step};
use agents::*;

fn lease(agent: &str, until: u64) -> CallLease {
    CallLease {
        until: at(until),
        agent: agent_id(agent),
        ticket: Ticket::fresh(),
        call: call_id(&format!("call-of-{agent}")),
        answered: until.is_multiple_of(2),
        queued_at: (!until.is_multiple_of(2)).then(|| at(1)),
    }
}

pub(crate) async fn expired_leases_are_read_in_order_of_expiry(store: Arc<dyn AgentStore>) {
    let leases = [
        lease("c", 9),
        lease("a", 10),
        lease("b", 10),
        lease("a", 99),
    ];
    for lease in leases.iter().rev() {
        done(&*store, &Change::of(vec![Step::Lease(lease.clone())])).await;
    }
    let until = async |until, limit| store.leases(None, at(until), limit).await.unwrap();
    assert_eq!(until(9, 10).await, [], "it ends at this very moment");
    assert_eq!(until(10, 10).await, leases[..1]);
    assert_eq!(until(11, 10).await, leases[..3]);
    assert_eq!(until(100, 10).await, leases);
    assert_eq!(until(100, 2).await, leases[..2]);
    for (number, after) in leases.iter().enumerate() {
        let behind = store.leases(Some(after), at(100), 10).await.unwrap();
        assert_eq!(behind, leases[number + 1..]);
    }

    let renewed = lease("c", 9);
    done(&*store, &Change::of(vec![Step::Lease(renewed.clone())])).await;
    assert_eq!(until(10, 10).await, std::slice::from_ref(&renewed));
    for _ in 0..2 {
        // Ending an absent lease also succeeds.
        done(&*store, &Change::end_lease(&renewed)).await;
    }
    assert_eq!(until(100, 10).await, leases[1..]);
}

fn expired(call: &str, at_micros: u64) -> OutboxEntry {
    OutboxEntry {
        at: at(at_micros),
        event: OutboxEvent::Expired(agents::expired(call, "*#M", 1)),
    }
}

fn assigned(call: &str, at_micros: u64, until: Option<u64>) -> OutboxEntry {
    OutboxEntry {
        at: at(at_micros),
        event: OutboxEvent::Assigned(assignment(call, "Spanish#M", at_micros, until)),
    }
}

pub(crate) async fn outbox_entries_are_kept_until_published(store: Arc<dyn AgentStore>) {
    let events = [
        expired("c4", 9),
        assigned("c2", 10, None),
        expired("c3", 10),
        assigned("c1", 99, Some(500)),
    ];
    for entry in events.iter().rev() {
        done(&*store, &Change::of(vec![Step::OutboxEntry(entry.clone())])).await;
    }
    let until = async |until, limit| store.outbox_entries(None, at(until), limit).await.unwrap();
    assert_eq!(until(9, 10).await, [], "written at this very moment");
    assert_eq!(until(11, 10).await, events[..3]);
    assert_eq!(until(100, 10).await, events, "whole");
    assert_eq!(until(100, 1).await, events[..1]);
    for (number, after) in events.iter().enumerate() {
        let behind = store
            .outbox_entries(Some(after), at(100), 10)
            .await
            .unwrap();
        assert_eq!(behind, events[number + 1..]);
    }
    for _ in 0..2 {
        // The second deletion finds nothing left to delete.
        store
            .delete_published(&[events[0].clone(), events[2].clone()])
            .await
            .unwrap();
    }
    assert_eq!(
        until(100, 10).await,
        [events[1].clone(), events[3].clone()],
        "those that were not published"
    );
    store.delete_published(&[]).await.unwrap();
}

pub(crate) async fn more_outbox_entries_than_a_batch_are_deleted_together(
    store: Arc<dyn AgentStore>,
) {
    let events: Vec<_> = (0..60).map(|n| expired(&format!("c{n}"), n)).collect();
    for some in events.chunks(20) {
        let steps = some.iter().cloned().map(Step::OutboxEntry);
        done(&*store, &Change::of(steps)).await;
    }
    store.delete_published(&events[..53]).await.unwrap();
    let left = store.outbox_entries(None, at(100), 100).await.unwrap();
    assert_eq!(left, events[53..]);
}
