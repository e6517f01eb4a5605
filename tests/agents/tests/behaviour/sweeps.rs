//! What the sweep does: leases, waits that were too long, news that were not told.

use std::time::Duration;

use agent_queue::agent::{AgentState, AgentStatus};
use agent_queue::call::{CallState, News};
use agent_queue::roster::Changed;
use agent_queue::time::{Clock, Micros};
use agents::world::World;

const MINUTE: Duration = Duration::from_secs(60);

pub(crate) async fn an_agent_comes_back_from_a_call_that_never_ends(world: World) {
    let world = world.with(|settings| settings.call_lease = Some(MINUTE));
    world.queued("ana", &["Spanish"], "F").await;
    let made = world.ask("c1", "Spanish#F").await.assignments.remove(0);
    assert_eq!(made.lease_until, Some(made.assigned_at.plus(MINUTE)));
    world.ask("c2", "Spanish#F").await;
    world.pass(MINUTE - Duration::from_millis(2)).await;
    assert_eq!(world.sweep().await.returned, 0, "it ends at this moment");
    world.tick().await;
    let swept = world.sweep().await;
    assert_eq!((swept.returned, swept.assigned), (1, 0));
    let AgentState::Available { since } = world.agent("ana").await.state else {
        panic!("available, and not queued: c2 waits");
    };
    assert_eq!(since, world.clock.now());
    assert_eq!(world.state_of("c2").await, CallState::Waiting);
    assert_eq!(world.sweep().await.returned, 0, "once");
    let late = world.finish("ana", "c1", made.ticket);
    assert!(matches!(late.await, Changed::Refused { .. }));
    assert_eq!(world.state_of("c1").await, CallState::Assigned(made));
}

pub(crate) async fn a_finish_in_time_ends_the_lease(world: World) {
    let world = world.with(|settings| settings.call_lease = Some(MINUTE));
    world.queued("ana", &["Spanish"], "F").await;
    let first = world.ask("c1", "Spanish#F").await.assignments.remove(0);
    let finished = world.finish("ana", "c1", first.ticket);
    assert!(matches!(finished.await, Changed::Done(_)));
    let leases = world.store.leases(Micros(u64::MAX), 10).await.unwrap();
    assert_eq!(leases, []);
    world.pass(MINUTE / 2).await;
    world.enqueue("ana").await;
    world.ask("c2", "Spanish#F").await;
    world.pass(MINUTE / 2).await;
    assert_eq!(world.sweep().await.returned, 0, "the first one's moment");
    assert_eq!(world.in_call("ana").await.as_deref(), Some("c2"));
    world.pass(MINUTE / 2).await;
    assert_eq!(world.sweep().await.returned, 1);
}

pub(crate) async fn the_sweep_expires_calls_and_tells_the_dead_letters(world: World) {
    let world = world.with(|settings| settings.max_wait = MINUTE);
    world.ask("c1", "Spanish#F").await;
    world.ask("c2", "*#M").await;
    world.pass(MINUTE / 2).await;
    world.ask("c3", "Spanish#F").await;
    world.pass(MINUTE / 2).await;
    let swept = world.sweep().await;
    assert_eq!(
        (swept.expired, swept.dead_lettered, swept.untold),
        (2, 2, 0)
    );
    assert_eq!(swept.waiting_calls, 1, "c3");
    assert!(swept.complete);
    let heard = world.teller.heard();
    let told = heard.iter().map(|news| match news {
        News::Expired(call) => (call.call_id.as_str(), call.criteria.to_string()),
        News::Assigned(made) => panic!("{made:?}"),
    });
    let told: Vec<_> = told.collect();
    assert_eq!(
        told,
        [("c1", "Spanish#F".to_owned()), ("c2", "*#M".to_owned())]
    );
    let swept = world.sweep().await;
    assert_eq!((swept.expired, swept.dead_lettered), (0, 0), "once");
    assert_eq!(world.state_of("c1").await, CallState::Expired);
    assert_eq!(world.state_of("c3").await, CallState::Waiting);
}

/// Whoever matched is about to tell; only after the grace is it forgotten.
pub(crate) async fn the_sweep_tells_forgotten_assignments_after_the_grace(world: World) {
    world.queued("ana", &["Spanish"], "F").await;
    let made = world.ask("c1", "Spanish#F").await.assignments;
    world.pass(Duration::from_millis(4_998)).await;
    let swept = world.sweep().await;
    assert_eq!((swept.published, swept.untold), (0, 0));
    assert!(world.teller.heard().is_empty());
    world.tick().await;
    assert_eq!(world.sweep().await.published, 1);
    assert_eq!(world.teller.heard(), [News::Assigned(made[0].clone())]);
    assert_eq!(world.sweep().await.published, 0, "and told once");

    world.queued("bea", &["Spanish"], "F").await;
    let made = world.ask("c2", "Spanish#F").await.assignments;
    let told = world.queue.tell_assignments(&*world.teller, &made).await;
    assert_eq!(told.unwrap().published, 1);
    world.pass(MINUTE).await;
    assert_eq!(world.sweep().await.published, 0, "told at once");
}

pub(crate) async fn a_teller_that_fails_is_asked_again(world: World) {
    let world = world.with(|settings| settings.max_wait = MINUTE);
    world.ask("late", "French#F").await;
    world.pass(MINUTE - Duration::from_secs(20)).await;
    for (agent, call) in [("ana", "c1"), ("bea", "c2")] {
        world.queued(agent, &["Spanish"], "F").await;
        let made = world.ask(call, "Spanish#F").await.assignments;
        world.teller.fail();
        let told = world.queue.tell_assignments(&*world.teller, &made).await;
        let told = told.unwrap();
        assert_eq!((told.published, told.failed), (0, 1));
        assert_eq!(world.in_call(agent).await.as_deref(), Some(call), "stands");
    }
    world.pass(Duration::from_secs(20)).await;
    let swept = world.sweep().await;
    assert_eq!(
        (swept.published, swept.dead_lettered, swept.untold),
        (0, 0, 3)
    );
    assert_eq!(swept.expired, 1);
    // One of them is told, the others are still kept.
    world.teller.fail_for(&["c1", "late"]);
    let swept = world.sweep().await;
    assert_eq!(
        (swept.published, swept.dead_lettered, swept.untold),
        (1, 0, 2)
    );
    world.teller.fail_for(&[]);
    let swept = world.sweep().await;
    assert_eq!(
        (swept.published, swept.dead_lettered, swept.untold),
        (1, 1, 0)
    );
    let heard: Vec<_> = world.teller.heard();
    let heard = heard.iter().map(|news| news.call_id().to_string());
    assert_eq!(heard.collect::<Vec<_>>(), ["c2", "c1", "late"]);
    let kept = world.store.notices(Micros(u64::MAX), 10).await.unwrap();
    assert_eq!(kept, []);
}

pub(crate) async fn the_sweep_measures(world: World) {
    world
        .queued("ana", &["English", "French", "Spanish"], "F")
        .await;
    world.queued("bea", &["English"], "F").await;
    world.available("cleo", &["English"], "F").await;
    world.ask("c1", "Spanish#M").await;
    world.pass(Duration::from_secs(7)).await;
    world.ask("c2", "Spanish#M").await;
    world.ask("c3", "*#M").await;
    let swept = world.sweep().await;
    assert_eq!(swept.queued_agents, 2, "each once, however many queues");
    assert_eq!(swept.waiting_calls, 3);
    assert_eq!(swept.oldest_waiting_micros, 7_003_000);
    assert!(swept.complete);
    assert_eq!(world.status("cleo").await, AgentStatus::Available);
}
