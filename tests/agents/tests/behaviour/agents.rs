//! Agents: their allowed transitions, and the conditions of each.

use agent_queue::agent::{AgentState, AgentStatus, IdleStatus, InvalidTransition, Ticket};
use agent_queue::agent_lifecycle::Changed;
use agent_queue::call::CallState;
use agents::world::{World, pairs};
use agents::{agent_id, call_id};
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
    // The call id, the ticket, or both belong to an earlier call.
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

pub(crate) async fn an_agent_leaves_all_queues_at_once(world: World) {
    world
        .queued("ana", &["English", "French", "Spanish"], "F")
        .await;
    world.queued("bea", &["English", "Spanish"], "F").await;
    let left = world.leave("ana", IdleStatus::Available).await;
    assert!(matches!(left, Changed::Done(_)));
    let depths = [("English#F", 1), ("French#F", 0), ("Spanish#F", 1)];
    let depths = depths.map(|(queue, depth)| (queue.to_owned(), depth));
    assert_eq!(world.depths().await, depths);
    assert_eq!(world.status("ana").await, AgentStatus::Available);
    assert_eq!(world.ask_whom("c1", "*#F").await, "bea");
    assert_eq!(world.ask("c2", "French#F").await.state, CallState::Pending);

    world.queued("cleo", &["English"], "F").await;
    let left = world.leave("cleo", IdleStatus::Offline).await;
    assert!(matches!(left, Changed::Done(_)));
    assert_eq!(world.status("cleo").await, AgentStatus::Offline);
    assert!(world.depths().await.iter().all(|(_, depth)| *depth == 0));
    // A returning agent does not keep its position in the queue.
    let place = world.agent("ana").await.state;
    assert!(matches!(place, AgentState::Available { .. }), "{place:?}");
    assert_eq!(pairs(&world.enqueue("ana").await.assignments), "c2→ana");
}

/// Each agent gets its own position, in the order in which the agents became available.
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
