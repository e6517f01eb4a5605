//! The order in which agents are assigned.

use agent_queue::agent::{AgentStatus, Ticket};
use agent_queue::store::Order;
use agent_queue::transaction::{Change, QueueEntry, Step};
use agents::world::World;
use agents::{agent_id, at, done, queue};

pub(crate) async fn fifo_order_assigns_the_first_queued_agent_first(world: World) {
    for id in ["c", "a", "b"] {
        world.queued(id, &["Spanish"], "M").await;
    }
    for (call, agent) in [("c1", "c"), ("c2", "a"), ("c3", "b")] {
        assert_eq!(world.ask_whom(call, "Spanish#M").await, agent);
    }
    assert_eq!(world.depths().await, [("Spanish#M".to_owned(), 0)]);
}

pub(crate) async fn lifo_order_assigns_the_last_queued_agent_first(world: World) {
    let world = world.with(|settings| settings.order = Order::Lifo);
    for id in ["c", "a", "b"] {
        world.queued(id, &["Spanish"], "M").await;
    }
    assert_eq!(world.ask_whom("c1", "Spanish#M").await, "b");
    world.queued("d", &["Spanish"], "M").await;
    for (call, agent) in [("c2", "d"), ("c3", "a"), ("c4", "c")] {
        assert_eq!(world.ask_whom(call, "Spanish#M").await, agent);
    }
}

pub(crate) async fn wildcard_call_gets_the_oldest_of_the_queue_heads(world: World) {
    world.queued("zoe", &["French"], "F").await;
    for (id, gender) in [("bob", "M"), ("ana", "F"), ("carl", "M"), ("dora", "F")] {
        world.queued(id, &["Spanish", "English"], gender).await;
    }
    assert_eq!(world.ask_whom("c1", "Spanish#*").await, "bob");
    assert_eq!(world.ask_whom("c2", "*#M").await, "carl", "any language");
    assert_eq!(world.ask_whom("c3", "*#*").await, "zoe", "anybody");
    assert_eq!(world.ask_whom("c4", "English#*").await, "ana");
    assert_eq!(world.ask_whom("c5", "*#*").await, "dora");
    assert!(world.depths().await.iter().all(|(_, depth)| *depth == 0));
}

/// Three queues match, and the same agent is first in each of them.
pub(crate) async fn agent_in_several_matching_queues_is_tried_once(world: World) {
    let world = world.with(|settings| settings.page = 2);
    world
        .queued("ana", &["English", "French", "Spanish"], "F")
        .await;
    world.queued("bea", &["French"], "F").await;
    assert_eq!(world.ask_whom("c1", "*#F").await, "ana");
    assert_eq!(world.ask_whom("c2", "*#F").await, "bea");
    assert_eq!(world.queue.counted().lost_matches, 0);
    let left = world.depths().await;
    assert!(left.iter().all(|(_, depth)| *depth == 0), "{left:?}");
}

/// Another writer or a restore left entries of agents that aren't queued, or are queued with
/// another ticket.
pub(crate) async fn outdated_entries_are_passed_over(world: World) {
    world.available("free", &["Spanish"], "M").await;
    world.queued("ana", &["Spanish"], "M").await;
    world.queued("bob", &["Spanish"], "M").await;
    let outdated = |agent: &str, place| QueueEntry {
        queue: queue("Spanish#M"),
        at: at(place),
        agent: agent_id(agent),
        agent_name: "?".to_owned(),
        ticket: Ticket::fresh(),
        queues: vec![queue("Spanish#M")],
    };
    let outdated = [outdated("free", 1), outdated("bob", 2), outdated("gone", 3)];
    for entry in outdated {
        done(&*world.store, &Change::of(vec![Step::Join(entry)])).await;
    }
    assert_eq!(world.ask_whom("c1", "Spanish#M").await, "ana");
    assert_eq!(world.queue.counted().lost_matches, 3);
    assert_eq!(world.ask_whom("c2", "*#M").await, "bob", "a wildcard");
    assert_eq!(world.status("free").await, AgentStatus::Available);
}
