//! Assignments that require an answer, while the topic fails.

use std::time::Duration;

use agent_queue::agent::{AgentState, AgentStatus};
use agent_queue::call::{CallState, OutboxEvent};
use agent_queue::time::Micros;
use agent_queue::transaction::{CallLease, Change, Step};
use agents::done;
use agents::world::{World, pairs};

const SECOND: Duration = Duration::from_secs(1);

/// Gives agents ten seconds to answer, and makes every publish fail.
fn unheard(world: World) -> World {
    world.publisher.fail();
    world.with(|settings| {
        settings.answer_within = Some(10 * SECOND);
        settings.max_wait = 600 * SECOND;
    })
}

/// The topic fails for five minutes. A sweep runs every minute.
pub(crate) async fn five_minutes_without_the_topic_cost_no_agent_its_place(world: World) {
    let world = unheard(world);
    for number in 0..20 {
        world
            .queued(&format!("a{number:02}"), &["Spanish"], "F")
            .await;
    }
    for number in 0..20 {
        world.ask(&format!("c{number:02}"), "Spanish#F").await;
    }
    world.queued("late", &["Spanish"], "F").await;
    for _ in 0..5 {
        world.pass(60 * SECOND).await;
        let swept = world.sweep().await;
        assert_eq!((swept.undone, swept.assigned), (20, 20));
        assert_eq!((swept.returned, swept.untold), (0, 20));
    }
    world.publisher.fail_for(&[]);
    world.pass(60 * SECOND).await;
    let swept = world.sweep().await;
    assert_eq!((swept.undone, swept.published), (20, 20));
    for number in 0..20 {
        let call = world.in_call(&format!("a{number:02}")).await;
        assert_eq!(call, Some(format!("c{number:02}")));
    }
    assert_eq!(world.status("late").await, AgentStatus::Queued);
    let heard = world.publisher.heard();
    assert!(
        heard
            .iter()
            .all(|event| matches!(event, OutboxEvent::Assigned(made) if made.number == 7)),
        "only the last assignment of each call is published: {heard:?}"
    );
}

/// The agent was not queued before the assignment, so its position is the assignment's time.
pub(crate) async fn unpublished_assignment_of_an_available_agent_queues_it(world: World) {
    let world = unheard(world);
    world.ask("c1", "Spanish#F").await;
    let made = world.queued("ana", &["Spanish"], "F").await;
    assert_eq!(pairs(&made), "c1→ana");
    world.pass(601 * SECOND).await;
    let swept = world.sweep().await;
    assert_eq!((swept.undone, swept.expired), (1, 1));
    assert_eq!(world.state_of("c1").await, CallState::Expired);
    let AgentState::Queued { at, .. } = world.agent("ana").await.state else {
        panic!("not queued");
    };
    assert_eq!(at, made[0].assigned_at);
}

/// The previous release wrote leases without the agent's position.
pub(crate) async fn unpublished_assignment_without_a_place_queues_its_agent_last(world: World) {
    let world = unheard(world);
    world.queued("ana", &["Spanish"], "F").await;
    world.ask("c1", "Spanish#F").await;
    world.queued("bea", &["Spanish"], "F").await;
    let leases = world.store.leases(None, Micros(u64::MAX), 1).await;
    let queued_at = None;
    let lease = CallLease {
        queued_at,
        ..leases.unwrap().remove(0)
    };
    done(&*world.store, &Change::of(vec![Step::Lease(lease)])).await;
    world.pass(11 * SECOND).await;
    let swept = world.sweep().await;
    assert_eq!((swept.undone, swept.assigned), (1, 1));
    assert_eq!(world.in_call("bea").await.as_deref(), Some("c1"));
    assert_eq!(world.status("ana").await, AgentStatus::Queued);
}
