//! Queue counters, queue entries, and reads of the first entries.

use std::sync::Arc;

use agent_queue::agent::{IdleStatus, Ticket};
use agent_queue::dimension::Dimensions;
use agent_queue::store::{AgentStore, Committed, Order, QueueCounters, Rejection};
use agent_queue::transaction::{Change, QueueEntry, Step};
use agents::*;

async fn counters(store: &dyn AgentStore) -> Vec<(String, u64, u64)> {
    let all = store.queues().await.unwrap();
    let plain = |is: QueueCounters| (is.queue.to_string(), is.version, is.depth);
    all.into_iter().map(plain).collect()
}

fn rejected() -> Committed {
    Committed::Rejected(vec![Rejection {
        step: 0,
        there: None,
    }])
}

pub(crate) async fn queue_version_counts_joins_and_departures(store: Arc<dyn AgentStore>) {
    let name = |version, depth| [("Q#Spanish#M".to_owned(), version, depth)];
    for number in 0..40 {
        let id = format!("a{number}");
        let ana = queued(&*store, agent(&id, &["Spanish"], "M"), number).await;
        let departed = number / 4;
        let (version, depth) = (number + 1 + departed, number + 1 - departed);
        assert_eq!(counters(&*store).await, name(version, depth), "{id}");
        if number % 4 != 3 {
            continue;
        }
        let left = ana.leave(IdleStatus::Available).unwrap();
        done(&*store, &Change::leave(left, &ana)).await;
    }
    let [(_, version, depth)] = counters(&*store).await.try_into().unwrap();
    assert_eq!((version, depth), (50, 30));
}

pub(crate) async fn queue_version_keeps_the_joins_of_an_earlier_profile(
    store: Arc<dyn AgentStore>,
) {
    let ana = queued(&*store, agent("ana", &["English", "Spanish"], "M"), 1).await;
    let left = ana.leave(IdleStatus::Available).unwrap();
    done(&*store, &Change::leave(left.clone(), &ana)).await;
    let ana = left.applied_to(ana);
    let french = profile(&["French", "Spanish"], "M");
    let change = ana.with_profile("Ana".to_owned(), french.clone()).unwrap();
    let opened = Dimensions::default().queues(&french);
    done(&*store, &Change::profile(change.clone(), opened)).await;
    enqueue(&*store, change.applied_to(ana), 2).await;
    let name = |queue: &str, version, depth| (format!("Q#{queue}#M"), version, depth);
    let all = [
        name("English", 2, 0),
        name("French", 1, 1),
        name("Spanish", 3, 1),
    ];
    assert_eq!(counters(&*store).await, all);
}

pub(crate) async fn entry_joins_and_leaves_a_queue_only_once(store: Arc<dyn AgentStore>) {
    let ana = queued(&*store, agent("ana", &["Spanish", "English"], "F"), 3).await;
    let [first, second]: [QueueEntry; 2] = entries(&ana).try_into().unwrap();
    for entry in [&first, &second] {
        let there = store.peek(&entry.queue, Order::Fifo, 5).await.unwrap();
        assert_eq!(there, std::slice::from_ref(entry), "whole");
    }
    let join = Change::of(vec![Step::Join(first.clone())]);
    assert_eq!(store.commit(&join).await.unwrap(), rejected());
    let mut other = first.clone();
    other.ticket = Ticket::fresh();
    let discard = Change::of(vec![Step::Discard(other)]);
    assert_eq!(store.commit(&discard).await.unwrap(), rejected());
    for _ in 0..2 {
        // The step succeeds even without an entry, because only the agent's item has a condition.
        done(&*store, &Change::of(vec![Step::Leave(first.clone())])).await;
    }
    let discard = Change::of(vec![Step::Discard(first.clone())]);
    assert_eq!(store.commit(&discard).await.unwrap(), rejected());
    let left = store.peek(&first.queue, Order::Fifo, 5).await.unwrap();
    assert_eq!(left, [], "it left this queue");
    let there = store.peek(&second.queue, Order::Fifo, 5).await.unwrap();
    assert_eq!(there, std::slice::from_ref(&second), "and not the other");
    done(&*store, &Change::of(vec![Step::Discard(second.clone())])).await;
    let left = store.peek(&second.queue, Order::Fifo, 5).await.unwrap();
    assert_eq!(left, [], "discarded by its ticket");
}

pub(crate) async fn peek_is_ordered_and_reads_at_most_the_limit(store: Arc<dyn AgentStore>) {
    let names = ["g", "f", "e", "d", "c", "b", "a"];
    // Positions have a fixed width, so 9 sorts before 10, and 999,999 before 1,000,000.
    let places = [2, 9, 10, 99, 100, 999_999, 1_000_000];
    for (name, place) in names.into_iter().zip(places) {
        queued(&*store, agent(name, &["Spanish"], "M"), place).await;
    }
    // Queues whose names share a prefix are separate.
    queued(&*store, agent("x", &["Spanish"], "M2"), 1).await;
    queued(&*store, agent("y", &["Span"], "M"), 1).await;
    let peek = async |order, limit| {
        let entries = store.peek(&queue("Spanish#M"), order, limit).await.unwrap();
        let ids = entries.iter().map(|entry| entry.agent.to_string());
        ids.collect::<Vec<_>>().concat()
    };
    assert_eq!(peek(Order::Fifo, 10).await, "gfedcba");
    assert_eq!(peek(Order::Lifo, 10).await, "abcdefg");
    assert_eq!(peek(Order::Fifo, 3).await, "gfe");
    assert_eq!(peek(Order::Lifo, 3).await, "abc");
    assert_eq!(peek(Order::Fifo, 1).await, "g");
    let empty = store.peek(&queue("French#M"), Order::Fifo, 5).await;
    assert_eq!(empty.unwrap(), []);
}

pub(crate) async fn two_agents_queued_in_one_microsecond_are_both_kept(store: Arc<dyn AgentStore>) {
    for name in ["bob", "ana"] {
        queued(&*store, agent(name, &["Spanish"], "M"), 5).await;
    }
    let peek = async |order| {
        let entries = store.peek(&queue("Spanish#M"), order, 5).await.unwrap();
        let ids = entries.iter().map(|entry| entry.agent.to_string());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(peek(Order::Fifo).await, ["ana", "bob"]);
    assert_eq!(peek(Order::Lifo).await, ["bob", "ana"]);
    assert_eq!(counters(&*store).await, [("Q#Spanish#M".to_owned(), 2, 2)]);
}
