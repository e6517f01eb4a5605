//! Crashes between a write and the read that follows it. Other processes recover from them.

use std::collections::BTreeSet;

use agent_queue::agent::AgentStatus;
use agent_queue::call::{CallState, OutboxEvent};
use agent_queue::transaction::Change;
use agents::world::{World, pairs};
use agents::{agent_id, done, wait};

async fn written(world: &World, id: &str, wanted: &str) {
    wait(&*world.store, &world.call(id, wanted)).await;
    world.tick().await;
}

/// Queues an agent in the same way as a process that crashes before its read.
async fn queued(world: &World, id: &str) {
    world.available(id, &["Spanish"], "F").await;
    let agent = world.agent(id).await;
    let now = world.call("now", "*#*").arrived;
    let dimensions = &world.queue.settings().dimensions;
    let change = agent.enqueue(now, dimensions).unwrap();
    done(&*world.store, &Change::enqueue(change, &agent)).await;
    world.tick().await;
}

pub(crate) async fn sweep_assigns_a_call_whose_matcher_crashed(world: World) {
    world.queued("ana", &["Spanish"], "F").await;
    written(&world, "c1", "Spanish#*").await;
    written(&world, "c2", "Spanish#*").await;
    let swept = world.sweep().await;
    assert_eq!((swept.assigned, swept.published), (1, 1));
    assert_eq!(world.in_call("ana").await.as_deref(), Some("c1"));
    assert_eq!(world.publisher.heard().len(), 1);
    assert_eq!(world.state_of("c2").await, CallState::Pending);
    assert_eq!(world.sweep().await.assigned, 0);
}

pub(crate) async fn sweep_assigns_an_agent_whose_desk_crashed(world: World) {
    world.ask("c1", "*#F").await;
    queued(&world, "ana").await;
    queued(&world, "bea").await;
    assert_eq!(world.state_of("c1").await, CallState::Pending);
    assert_eq!(world.sweep().await.assigned, 1);
    assert_eq!(world.in_call("ana").await.as_deref(), Some("c1"));
    assert_eq!(world.status("bea").await, AgentStatus::Queued);
}

pub(crate) async fn next_enqueue_assigns_the_call_of_a_crashed_matcher(world: World) {
    world.queued("ana", &["Spanish"], "F").await;
    written(&world, "c1", "Spanish#F").await;
    let call = world.call("c1", "Spanish#F");
    let met = world.queued("bea", &["Spanish"], "F").await;
    assert_eq!(pairs(&met), "c1→ana", "queued longer than bea");
    assert_eq!(world.status("bea").await, AgentStatus::Queued);
    let again = world.queue.match_call(&call).await.unwrap();
    assert_eq!(again.state, world.state_of("c1").await);
}

/// A repeated enqueue of a queued agent also serves the agent.
pub(crate) async fn repeated_enqueue_assigns_a_call_after_a_desk_crash(world: World) {
    world.ask("c1", "Spanish#F").await;
    queued(&world, "ana").await;
    let again = world.queue.enqueue(&agent_id("ana")).await.unwrap();
    assert_eq!(pairs(&again.assignments), "c1→ana");
    assert_eq!(world.status("ana").await, AgentStatus::AttendingCall);
}

pub(crate) async fn next_call_assigns_oldest_calls_to_agents_of_a_crashed_desk(world: World) {
    for call in ["c1", "c2"] {
        world.ask(call, "Spanish#F").await;
    }
    for agent in ["ana", "bea", "cleo", "dora"] {
        queued(&world, agent).await;
    }
    let matched = world.ask("c3", "Spanish#F").await;
    assert_eq!(pairs(&matched.assignments), "c1→ana c2→bea c3→cleo");
    assert!(matches!(matched.state, CallState::Assigned(_)));
    assert_eq!(world.status("dora").await, AgentStatus::Queued);
}

pub(crate) async fn two_sweeps_at_once_do_everything_once(world: World) {
    let second = std::time::Duration::from_secs(1);
    let world = world.with(|settings| {
        settings.max_wait = 20 * second;
        settings.call_lease = Some(10 * second);
    });
    world.queued("old", &["French"], "F").await;
    world.ask("leased", "French#F").await;
    for n in 0..5 {
        written(&world, &format!("late{n}"), "Spanish#M").await;
    }
    world.pass(20 * second).await;
    for n in 0..5 {
        written(&world, &format!("c{n}"), "Spanish#F").await;
        queued(&world, &format!("a{n}")).await;
    }
    let (one, other) = tokio::join!(world.sweep(), world.sweep());
    assert_eq!(one.returned + other.returned, 1);
    assert_eq!(one.expired + other.expired, 5);
    // Both sweeps may report the same assignment if they made it in the same microsecond.
    assert!(one.assigned + other.assigned >= 5, "{one:?} {other:?}");
    for n in 0..5 {
        let call = format!("c{n}");
        assert_eq!(world.in_call(&format!("a{n}")).await, Some(call));
    }
    let heard = world.publisher.heard();
    let published: BTreeSet<_> = heard.iter().map(OutboxEvent::call_id).collect();
    assert_eq!(published.len(), 11, "at least once each: {published:?}");
}
