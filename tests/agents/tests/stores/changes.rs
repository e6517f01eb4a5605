//! Changes take effect once and completely. Also covers the effect of each kind of change.

use std::sync::Arc;

use agent_queue::agent::{AgentState, IdleStatus};
use agent_queue::call::{CallRecord, CallState, OutboxEntry, OutboxEvent};
use agent_queue::dimension::{Dimensions, ITEMS_BESIDE_QUEUES, MAX_QUEUES, MAX_TRANSACTION};
use agent_queue::store::{AgentStore, Committed, Order};
use agent_queue::transaction::{Before, CallLease, Change, Step};
use agents::*;
use futures::future::join_all;

async fn depths(store: &dyn AgentStore) -> Vec<(u64, u64)> {
    let all = store.queues().await.unwrap();
    all.iter().map(|is| (is.version, is.depth)).collect()
}

pub(crate) async fn repeated_change_is_applied_once(store: Arc<dyn AgentStore>) {
    let ana = available(&*store, agent("ana", &["Spanish"], "M")).await;
    let change = ana.enqueue(at(3), &Dimensions::default()).unwrap();
    let enqueue = Change::enqueue(change.clone(), &ana);
    for _ in 0..3 {
        done(&*store, &enqueue).await;
    }
    assert_eq!(depths(&*store).await, [(1, 1)]);

    // A repeated change has no effect even if the first response was lost and the change's
    // condition is no longer met.
    let ana = change.applied_to(ana);
    let c1 = call("c1", "Spanish#M", 4);
    let entry = &entries(&ana)[0];
    let (assign, _) = Change::assign(&c1, Before::New, entry, at(5), Some(at(90)));
    done(&*store, &assign).await;
    let calls = [c1.id];
    let before = rows::stored(&*store, &calls).await.unwrap();
    done(&*store, &assign).await;
    assert_eq!(rows::stored(&*store, &calls).await.unwrap(), before);
    // The same steps with a different token are rejected.
    let other = Change::of(assign.steps);
    let other = store.commit(&other).await.unwrap();
    assert!(matches!(other, Committed::Rejected(_)), "{other:?}");
}

pub(crate) async fn rejected_change_can_succeed_later(store: Arc<dyn AgentStore>) {
    let c1 = call("c1", "Spanish#M", 4);
    let open = Step::OpenQueue(queue("Spanish#M"));
    let mut later = Change::cancel(&c1, at(9));
    later.steps.push(open);
    let rejected = store.commit(&later).await.unwrap();
    assert!(matches!(rejected, Committed::Rejected(_)), "{rejected:?}");
    assert_eq!(depths(&*store).await, []);
    wait(&*store, &c1).await;
    done(&*store, &later).await;
    assert_eq!(depths(&*store).await, [(0, 0)]);
}

pub(crate) async fn an_assignment_is_one_change(store: Arc<dyn AgentStore>) {
    let store = &*store;
    let ana = queued(store, agent("ana", &["Spanish", "English"], "M"), 3).await;
    let bob = queued(store, agent("bob", &["Spanish"], "M"), 4).await;
    let c1 = call("c1", "*#M", 5);
    let (change, made) = Change::assign(&c1, Before::New, &entries(&ana)[1], at(6), Some(at(90)));
    done(store, &change).await;

    let there = store.agent(&ana.id).await.unwrap().unwrap();
    let state = AgentState::AttendingCall {
        call: c1.id.clone(),
        until: Some(at(90)),
        answered: true,
    };
    assert_eq!((there.state, there.ticket), (state, ana.ticket));
    assert_eq!(depths(store).await, [(2, 0), (3, 1)], "English, Spanish");
    let left = store.peek(&queue("Spanish#M"), Order::Fifo, 5).await;
    assert_eq!(left.unwrap(), entries(&bob));
    let left = store.peek(&queue("English#M"), Order::Fifo, 5).await;
    assert_eq!(left.unwrap(), []);
    let lease = CallLease {
        until: at(90),
        agent: ana.id,
        ticket: ana.ticket,
        call: c1.id.clone(),
        answered: true,
        queued_at: None,
    };
    assert_eq!(store.leases(None, at(91), 5).await.unwrap(), [lease]);
    let entry = OutboxEntry {
        at: at(6),
        event: OutboxEvent::Assigned(made.clone()),
    };
    assert_eq!(store.outbox_entries(None, at(7), 5).await.unwrap(), [entry]);
    let record = CallRecord::ended(c1.clone(), CallState::Assigned(made), at(6));
    assert_eq!(store.call(&c1.id).await.unwrap(), Some(record));
}

/// The change has as many items as one DynamoDB transaction allows.
pub(crate) async fn the_largest_agent_is_matched_in_one_change(store: Arc<dyn AgentStore>) {
    let store = &*store;
    let languages: Vec<_> = (0..MAX_QUEUES).map(|n| format!("l{n}")).collect();
    let languages: Vec<_> = languages.iter().map(String::as_str).collect();
    let ana = queued(store, agent("ana", &languages, "F"), 3).await;
    let left = ana.leave(IdleStatus::Available).unwrap();
    done(store, &Change::leave(left.clone(), &ana)).await;
    let ana = enqueue(store, left.applied_to(ana), 4).await;

    let c1 = call("c1", "l7#F", 5);
    wait(store, &c1).await;
    let entry = &entries(&ana)[0];
    let (assign, _) = Change::assign(&c1, Before::Pending, entry, at(6), Some(at(90)));
    assert_eq!(assign.steps.len(), MAX_TRANSACTION);
    assert_eq!(assign.steps.len(), MAX_QUEUES + ITEMS_BESIDE_QUEUES);
    done(store, &assign).await;
    assert_eq!(depths(store).await, vec![(4, 0); MAX_QUEUES]);
}

pub(crate) async fn one_of_many_calls_wins_an_agent(store: Arc<dyn AgentStore>) {
    let ana = queued(&*store, agent("ana", &["Spanish"], "M"), 3).await;
    let entry = &entries(&ana)[0];
    let tries = (0..16).map(|n| {
        let store = &store;
        async move {
            let call = call(&format!("c{n}"), "Spanish#M", n);
            let (change, made) = Change::assign(&call, Before::New, entry, at(20 + n), None);
            loop {
                match store.commit(&change).await.unwrap() {
                    Committed::Done => return Some(made),
                    Committed::Rejected(_) => return None,
                    Committed::Conflict => tokio::task::yield_now().await,
                }
            }
        }
    });
    let won: Vec<_> = join_all(tries).await.into_iter().flatten().collect();
    assert_eq!(won.len(), 1, "{won:?}");
    let ana = store.agent(&ana.id).await.unwrap().unwrap();
    let AgentState::AttendingCall { call, .. } = ana.state else {
        panic!("{ana:?}");
    };
    assert_eq!(call, won[0].call_id);
    assert_eq!(depths(&*store).await, [(2, 0)]);
}
