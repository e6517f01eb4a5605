//! Agents: their allowed transitions, and when each is allowed.

use std::time::Duration;

use agent_queue::agent::{AgentState, AgentStatus, IdleStatus, InvalidTransition, Ticket};
use agent_queue::agent_lifecycle::Changed;
use agent_queue::call::CallState;
use agents::world::{World, pairs};
use agents::{agent_id, call_id, profile};
use tokio::time::Instant;

fn rejected(changed: &Changed) -> Option<String> {
    match changed {
        Changed::Rejected { why, .. } => Some(why.to_string()),
        _ => None,
    }
}

pub(crate) async fn a_late_finish_never_frees_an_agent_in_a_new_call(world: World) {
    world.queued("ana", &["Spanish"], "F").await;
    let (ana, c1) = (agent_id("ana"), call_id("c1"));
    assert_eq!(world.ask_whom("c1", "Spanish#F").await, "ana");
    let old = world.agent("ana").await.ticket;
    let finish = async |call: &str, ticket| {
        let finished = world.queue.finish(&ana, &call_id(call), ticket).await;
        finished.unwrap()
    };
    assert!(matches!(finish("c1", old).await, Changed::Done(_)));
    world.enqueue("ana").await;
    assert!(rejected(&finish("c1", old).await).is_some(), "while queued");
    assert_eq!(world.ask_whom("c2", "Spanish#F").await, "ana");
    let new = world.agent("ana").await.ticket;
    assert_ne!(old, new);
    // The call's id, the ticket, or both are of an earlier call.
    for (call, ticket) in [
        ("c1", old),
        ("c2", old),
        ("c1", new),
        ("c2", Ticket::fresh()),
    ] {
        let late = finish(call, ticket).await;
        let Changed::Rejected { why, agent } = late else {
            panic!("{late:?}");
        };
        assert_eq!(why, InvalidTransition::OtherCall);
        assert_eq!(agent.ticket, new);
        assert_eq!(world.in_call("ana").await.as_deref(), Some("c2"));
    }
    assert!(matches!(finish("c2", new).await, Changed::Done(_)));
    let unknown = world.queue.finish(&agent_id("unknown"), &c1, old).await;
    assert_eq!(unknown.unwrap(), Changed::Unknown);
}

pub(crate) async fn a_finished_agent_is_available_and_not_queued(world: World) {
    world.queued("ana", &["Spanish"], "F").await;
    world.ask("c1", "Spanish#F").await;
    world.ask("c2", "Spanish#F").await;
    world.pass(Duration::from_secs(30)).await;
    let ticket = world.agent("ana").await.ticket;
    let finished = world.finish("ana", "c1", ticket);
    assert!(matches!(finished.await, Changed::Done(_)));
    let AgentState::Available { since } = world.agent("ana").await.state else {
        panic!("not available");
    };
    assert_eq!(since, world.call("now", "*#*").arrived);
    assert_eq!(world.state_of("c2").await, CallState::Pending);
    assert!(matches!(world.state_of("c1").await, CallState::Assigned(_)));
}

pub(crate) async fn an_agent_leaves_all_queues_at_once(world: World) {
    world
        .queued("ana", &["English", "French", "Spanish"], "F")
        .await;
    world.queued("bea", &["English", "Spanish"], "F").await;
    let left = world
        .queue
        .leave(&agent_id("ana"), IdleStatus::Available)
        .await;
    assert!(matches!(left.unwrap(), Changed::Done(_)));
    let depths = [("English#F", 1), ("French#F", 0), ("Spanish#F", 1)];
    let depths = depths.map(|(queue, depth)| (queue.to_owned(), depth));
    assert_eq!(world.depths().await, depths);
    assert_eq!(world.status("ana").await, AgentStatus::Available);
    assert_eq!(world.ask_whom("c1", "*#F").await, "bea");
    assert_eq!(world.ask("c2", "French#F").await.state, CallState::Pending);

    world.queued("cleo", &["English"], "F").await;
    let left = world
        .queue
        .leave(&agent_id("cleo"), IdleStatus::Offline)
        .await;
    assert!(matches!(left.unwrap(), Changed::Done(_)));
    assert_eq!(world.status("cleo").await, AgentStatus::Offline);
    assert!(world.depths().await.iter().all(|(_, depth)| *depth == 0));
    // A returning agent has not kept its place in the queue.
    let place = world.agent("ana").await.state;
    assert!(matches!(place, AgentState::Available { .. }), "{place:?}");
    assert_eq!(pairs(&world.enqueue("ana").await.assignments), "c2→ana");
}

pub(crate) async fn a_profile_changes_only_while_not_queued(world: World) {
    world.available("ana", &["Spanish"], "F").await;
    let before = world.agent("ana").await;
    let (ana, other) = (agent_id("ana"), profile(&["French"], "M"));
    let register = async || world.queue.register(&ana, "Ana B.", &other).await.unwrap();
    world.enqueue("ana").await;
    let rows = world.rows(&[]).await;
    let why = rejected(&register().await).unwrap();
    assert!(why.contains("leave the queues"), "{why}");
    assert_eq!(world.rows(&[]).await, rows, "and changed nothing");

    world
        .queue
        .leave(&ana, IdleStatus::Available)
        .await
        .unwrap();
    assert!(matches!(register().await, Changed::Done(_)));
    let after = world.agent("ana").await;
    assert_eq!((after.name.as_str(), &after.profile), ("Ana B.", &other));
    assert_eq!(after.state, before.state, "available since then");
    assert_ne!(after.ticket, before.ticket);
    world.enqueue("ana").await;
    let depths = [("French#M".to_owned(), 1), ("Spanish#F".to_owned(), 0)];
    assert_eq!(world.depths().await, depths);
    let made = world.ask("c1", "French#M").await.assignments;
    assert_eq!(made[0].agent_name, "Ana B.");
}

pub(crate) async fn profile_change_during_a_call_keeps_the_ticket(world: World) {
    world.queued("ana", &["Spanish"], "F").await;
    let made = world.ask("c1", "Spanish#F").await.assignments;
    let other = profile(&["French"], "F");
    let changed = world.queue.register(&agent_id("ana"), "Ana", &other).await;
    assert!(matches!(changed.unwrap(), Changed::Done(_)));
    assert_eq!(world.in_call("ana").await.as_deref(), Some("c1"));
    let finished = world.finish("ana", "c1", made[0].ticket);
    assert!(matches!(finished.await, Changed::Done(_)));
    world.enqueue("ana").await;
    assert_eq!(world.ask_whom("c2", "French#F").await, "ana");
}

pub(crate) async fn invalid_transition_is_rejected_and_changes_nothing(world: World) {
    world.register("off", &["Spanish"], "F").await;
    world.queued("busy", &["Spanish"], "F").await;
    world.ask("c1", "Spanish#F").await;
    world.available("free", &["Spanish"], "F").await;
    world.queued("queued", &["Spanish"], "F").await;
    let rows = world.rows(&["c1"]).await;
    let queue = &world.queue;
    let available = async |id: &str| queue.become_available(&agent_id(id)).await.unwrap();
    let leave = async |id: &str, rest| queue.leave(&agent_id(id), rest).await.unwrap();
    let enqueue = async |id: &str| queue.enqueue(&agent_id(id)).await.unwrap();
    let wishes = [
        available("free").await,
        available("queued").await,
        available("busy").await,
        enqueue("off").await.changed,
        enqueue("queued").await.changed,
        enqueue("busy").await.changed,
        leave("off", IdleStatus::Offline).await,
        leave("off", IdleStatus::Available).await,
        leave("free", IdleStatus::Available).await,
        leave("busy", IdleStatus::Available).await,
        leave("busy", IdleStatus::Offline).await,
    ];
    for wish in &wishes {
        let why = rejected(wish).unwrap();
        assert!(why.starts_with("the agent is "), "{why}");
    }
    let unknown = [
        available("unknown").await,
        enqueue("unknown").await.changed,
        leave("unknown", IdleStatus::Offline).await,
    ];
    assert!(unknown.iter().all(|wish| *wish == Changed::Unknown));
    assert_eq!(world.rows(&["c1"]).await, rows);
}

pub(crate) async fn available_agents_are_queued_in_order_of_availability(world: World) {
    world.ask("c1", "Spanish#F").await;
    for (id, gender) in [("c", "F"), ("b", "M"), ("a", "F")] {
        world.available(id, &["Spanish"], gender).await;
    }
    world.register("off", &["Spanish"], "F").await;
    let all = world.queue.enqueue_all_available().await.unwrap();
    assert_eq!((all.queued, all.expired), (3, 0));
    assert_eq!(pairs(&all.assignments), "c1→c", "available the longest");
    assert_eq!(world.status("off").await, AgentStatus::Offline);
    let depths = [("Spanish#F".to_owned(), 1), ("Spanish#M".to_owned(), 1)];
    assert_eq!(world.depths().await, depths);
    let again = world.queue.enqueue_all_available().await.unwrap();
    assert_eq!(again.queued, 0);
}

/// Each of them gets its own place, in the order in which they became available.
pub(crate) async fn agents_queued_together_keep_their_order(world: World) {
    let ids: Vec<_> = (0..30)
        .rev()
        .map(|number| format!("a{number:02}"))
        .collect();
    for id in &ids {
        world.available(id, &["Spanish"], "F").await;
    }
    let all = world.queue.enqueue_all_available().await.unwrap();
    assert_eq!((all.queued, all.cut_short), (30, false));
    for (number, id) in ids.iter().enumerate() {
        assert_eq!(
            world.ask_whom(&format!("c{number}"), "Spanish#F").await,
            *id
        );
    }
    let late = world.queue.until(Instant::now());
    world.available("zoe", &["Spanish"], "F").await;
    let all = late.enqueue_all_available().await.unwrap();
    assert_eq!((all.queued, all.cut_short), (0, true), "repeat it");
}
