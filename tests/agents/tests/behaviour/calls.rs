//! Calls: their single outcome, their wait, and their end.

use std::time::Duration;

use agent_queue::agent::AgentStatus;
use agent_queue::call::CallState;
use agent_queue::matching::one_call::Cancel;
use agents::call_id;
use agents::world::{World, pairs};

pub(crate) async fn a_redelivered_call_gets_its_first_response(world: World) {
    let world = world.with(|settings| settings.max_wait = Duration::from_secs(60));
    world.queued("ana", &["Spanish"], "F").await;
    let first = world.ask("assigned", "Spanish#F").await;
    assert_eq!(pairs(&first.assignments), "assigned→ana");
    world.ask("cancelled", "Spanish#F").await;
    world.queue.cancel(&call_id("cancelled")).await.unwrap();
    world.ask("expired", "Spanish#M").await;
    world.pass(Duration::from_secs(60)).await;
    assert_eq!(world.sweep().await.expired, 1);

    // Other matching agents are now available.
    world.queued("bea", &["Spanish"], "F").await;
    world.queued("bob", &["Spanish"], "M").await;
    let responses = [
        ("assigned", first.state),
        ("cancelled", CallState::Cancelled),
        ("expired", CallState::Expired),
    ];
    let ids = ["assigned", "cancelled", "expired"];
    let before = world.rows(&ids).await;
    // Redeliver the calls with other criteria and earlier arrival times.
    for wanted in ["Spanish#F", "Spanish#*", "French#M"] {
        for (id, response) in &responses {
            let again = world.ask(id, wanted).await;
            assert_eq!(again.state, *response, "{id} as {wanted}");
            assert_eq!((again.assignments.len(), again.queued), (0, false));
            let mut old = world.call(id, wanted);
            old.arrived = old.arrived.minus(Duration::from_secs(600));
            let again = world.queue.match_call(&old).await.unwrap();
            assert_eq!((again.state, again.expired), (response.clone(), 0), "{id}");
        }
    }
    assert_eq!(world.rows(&ids).await, before);
}

pub(crate) async fn pending_call_gets_the_next_queued_agent(world: World) {
    for (call, wanted) in [("c1", "Spanish#F"), ("c2", "Spanish#F"), ("c3", "French#F")] {
        let matched = world.ask(call, wanted).await;
        assert_eq!((matched.state, matched.queued), (CallState::Pending, true));
    }
    let none = world.queued("bob", &["Spanish"], "M").await;
    assert_eq!(pairs(&none), "");
    for (agent, met) in [("ana", "c1→ana"), ("bea", "c2→bea"), ("cleo", "")] {
        assert_eq!(pairs(&world.queued(agent, &["Spanish"], "F").await), met);
    }
    let CallState::Assigned(made) = world.state_of("c1").await else {
        panic!("c1 waits");
    };
    let ana = world.agent("ana").await;
    assert_eq!((made.agent_id, made.ticket), (ana.id, ana.ticket));
    assert_eq!(world.in_call("ana").await.as_deref(), Some("c1"));
    assert_eq!(world.state_of("c3").await, CallState::Pending);
}

/// Calls are ordered by arrival time, not by write time, regardless of their criteria.
pub(crate) async fn oldest_matching_pending_call_is_assigned_first(world: World) {
    world.pass(Duration::from_secs(10)).await;
    world.ask("second", "Spanish#F").await;
    world.ask("third", "*#F").await;
    let mut late = world.call("first", "Spanish#*");
    late.arrived = late.arrived.minus(Duration::from_secs(5));
    world.queue.match_call(&late).await.unwrap();
    world.ask("other", "French#*").await;
    world.ask("fourth", "*#*").await;
    let order = ["first", "second", "third", "fourth"];
    for (number, call) in (0..).zip(order) {
        let agent = format!("a{number}");
        let met = world.queued(&agent, &["English", "Spanish"], "F").await;
        assert_eq!(pairs(&met), format!("{call}→{agent}"));
    }
    assert_eq!(world.state_of("other").await, CallState::Pending);
}

/// Even a queued matching agent is assigned to the pending call first.
pub(crate) async fn new_call_never_overtakes_a_pending_call_of_the_same_criteria(world: World) {
    world.ask("c1", "Spanish#F").await;
    let ana = agents::available(&*world.store, agents::agent("ana", &["Spanish"], "F")).await;
    // A process crashed before its read, so ana is queued while c1 is pending.
    agents::enqueue(&*world.store, ana, 2_000).await;
    let matched = world.ask("c2", "Spanish#F").await;
    assert_eq!((matched.state, matched.queued), (CallState::Pending, true));
    assert_eq!(pairs(&matched.assignments), "c1→ana");
    let met = world.queued("bea", &["Spanish"], "F").await;
    assert_eq!(pairs(&met), "c2→bea");
}

/// The caller hangs up before the call queue delivers the call.
pub(crate) async fn call_cancelled_before_arrival_is_not_assigned(world: World) {
    world.queued("ana", &["Spanish"], "F").await;
    let cancelled = world.queue.cancel(&call_id("c1")).await.unwrap();
    assert!(matches!(cancelled, Cancel::Done { .. }));
    for wanted in ["Spanish#F", "French#F", "*#*"] {
        let asked = world.ask("c1", wanted).await;
        assert_eq!((asked.state, asked.queued), (CallState::Cancelled, false));
    }
    let again = world.queue.cancel(&call_id("c1")).await.unwrap();
    assert_eq!(again, Cancel::Is(CallState::Cancelled));
    assert_eq!(world.status("ana").await, AgentStatus::Queued);
    assert_eq!(world.sweep().await.pending_calls, 0);
}

/// A new agent, a call with the same criteria, or a redelivery of the call expires the call.
pub(crate) async fn calls_past_their_maximum_wait_expire_at_the_next_match(world: World) {
    let world = world.with(|settings| settings.max_wait = Duration::from_secs(60));
    world.ask("c1", "Spanish#F").await;
    world.ask("c2", "French#F").await;
    let c3 = world.call("c3", "English#F");
    world.queue.match_call(&c3).await.unwrap();
    world.pass(Duration::from_secs(60)).await;
    world.available("ana", &["Spanish"], "F").await;
    let enqueued = world.enqueue("ana").await;
    assert_eq!((enqueued.assignments.len(), enqueued.expired), (0, 1));
    assert_eq!(world.state_of("c1").await, CallState::Expired);
    assert_eq!(world.status("ana").await, AgentStatus::Queued);
    let other = world.ask("c4", "French#F").await;
    assert_eq!((other.state, other.expired), (CallState::Pending, 1));
    assert_eq!(world.state_of("c2").await, CallState::Expired);
    let itself = world.queue.match_call(&c3).await.unwrap();
    assert_eq!((itself.state, itself.expired), (CallState::Expired, 1));
    let depths: u64 = world
        .queue
        .pending()
        .await
        .unwrap()
        .iter()
        .map(|is| is.depth)
        .sum();
    assert_eq!(depths, 1, "c4 alone");
    assert_eq!(world.sweep().await.dead_lettered, 3);
}
