//! Operator commands that hold the circuit breaker open temporarily, or close it.

use std::time::Duration;

use conformance::NOW;
use lifo_queue::control::OpenBreaker;
use lifo_queue::process::Exit;
use lifo_queue::runner::Outcome;
use lifo_queue::task::{Task, TaskStatus};
use lifo_queue::time::Clock;
use lifo_queue::wake::Wake;

use super::world::*;

fn down(_: &Task) -> (Duration, Outcome) {
    (Duration::from_millis(5), unavailable())
}

async fn open(world: &World, time: Duration) {
    let operator = world.operator();
    operator.open_breaker(time, "release").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn held_open_breaker_allows_only_probes_and_the_next_result_closes_it() {
    let world = World::breaking(100, a_second).await;
    open(&world, 20 * SECOND).await;
    let until = async {
        tokio::time::sleep(20 * SECOND).await;
        let control = world.control().await;
        (world.started().len(), control.breaker)
    };
    let (summary, (started, breaker)) = tokio::join!(world.turn(), until);
    // Each probe takes one second and succeeds. The next probe starts one second later.
    assert!((8..=11).contains(&started), "{started} probes: {summary:?}");
    assert!(breaker.is_some());
    assert_eq!((summary.exit, summary.succeeded), (Exit::Empty, 100));
    assert!(!summary.breaker_open);
    // The other tasks ran in all ten slots.
    assert!(world.clock.now() < NOW.plus(40 * SECOND), "{summary:?}");
}

#[tokio::test(start_paused = true)]
async fn running_turn_obeys_breaker_commands_within_a_heartbeat() {
    let world = World::breaking(600, a_second).await;
    let operate = async {
        tokio::time::sleep(10 * SECOND).await;
        open(&world, HOUR).await;
        // The processor learns of the hold within a heartbeat of 5 s. Then the running tasks end.
        tokio::time::sleep(7 * SECOND).await;
        let before = world.started().len();
        tokio::time::sleep(20 * SECOND).await;
        let probes = world.started().len() - before;
        let closed = world.operator().close_breaker().await.unwrap();
        tokio::time::sleep(6 * SECOND).await;
        let before = world.started().len();
        tokio::time::sleep(4 * SECOND).await;
        (probes, closed, world.started().len() - before)
    };
    let (summary, (probes, closed, after)) = tokio::join!(world.turn(), operate);
    assert!((8..=11).contains(&probes), "{probes} probes in 20 s");
    assert_eq!(closed, Wake::AlreadyAwake);
    assert!(after >= 30, "{after} starts in 4 s of ten slots");
    assert_eq!(
        world.count(TaskStatus::Pending),
        600 - summary.succeeded as usize
    );
    assert_eq!(world.control().await.breaker, None);
}

#[tokio::test(start_paused = true)]
async fn closing_an_open_breaker_by_hand_starts_every_slot_at_once() {
    let world = World::breaking(100, down).await;
    let operate = async {
        tokio::time::sleep(30 * SECOND).await;
        let before = world.started().len();
        world.operator().close_breaker().await.unwrap();
        tokio::time::sleep(6 * SECOND).await;
        world.started().len() - before
    };
    let (summary, starts) = tokio::join!(world.turn(), operate);
    // All ten slots start. Without the close, one probe would start every four seconds.
    assert!(starts >= 10, "{starts} starts after the close: {summary:?}");
    assert!(
        summary.breaker_open,
        "the downstream is down, so it opened again"
    );
    assert_eq!(world.count(TaskStatus::Failure), 0);
}

#[tokio::test(start_paused = true)]
async fn hold_protects_the_attempts_of_tasks_too_few_to_open_the_breaker() {
    let world = World::breaking(2, down).await;
    open(&world, HOUR).await;
    let summary = world.turn().await;
    assert_eq!((summary.exit, summary.failed), (Exit::TimeUp, 0));
    assert_eq!(world.count(TaskStatus::Pending), 2);
    assert_eq!(world.most_attempts(), 0);
}

#[tokio::test(start_paused = true)]
async fn hold_works_with_a_breaker_that_the_settings_disable() {
    let world = World::of(50, a_second).await;
    assert_eq!(world.settings.breaker, None);
    open(&world, 10 * SECOND).await;
    let early = tokio::time::timeout(9 * SECOND, world.turn()).await;
    assert!(early.is_err());
    assert!(world.started().len() <= 6, "{:?}", world.started());
    tokio::time::sleep(30 * SECOND).await;
    let summary = world.turn().await;
    assert!(!summary.breaker_open, "{summary:?}");
    assert_eq!(world.count(TaskStatus::Pending), 0);
}

#[tokio::test(start_paused = true)]
async fn breaker_closed_at_the_end_of_a_turn_costs_the_next_turn_at_most_one_probe() {
    let world = World::breaking(20, a_second).await;
    let operator = world.operator();
    operator.close_breaker().await.unwrap();
    // The previous turn had not learned of the close and wrote its own state at its release.
    let open = OpenBreaker {
        since: NOW,
        probes: 3,
    };
    world.leave(Some(open), None).await;
    let first = async {
        tokio::time::sleep(SECOND / 2).await;
        world.started().len()
    };
    let (summary, started) = tokio::join!(world.turn(), first);
    assert_eq!(started, 1);
    assert_eq!((summary.probes, summary.succeeded), (1, 20));
}
