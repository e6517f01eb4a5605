//! Circuit breakers of individual groups.

use lifo_queue::control::{Cause, LearnedGroup, LearnedGroups, OpenBreaker};
use lifo_queue::process::{Exit, GroupSettings};
use lifo_queue::runner::Outcome;
use lifo_queue::store::Written;
use lifo_queue::task::{Task, TaskStatus};
use lifo_queue::time::Clock;
use tokio::time::Instant;
use uuid::Uuid;

use super::group_limits::{starts, starts_in, world};
use super::world::*;

const BREAKERS: GroupSettings = GroupSettings {
    max_concurrency: None,
    rate: None,
    breaker: true,
};

#[tokio::test(start_paused = true)]
async fn outage_of_a_group_fails_none_of_its_tasks_and_delays_no_other_group() {
    let began = Instant::now();
    let script = move |task: &Task| match task.task_id.group() {
        "down" if began.elapsed() < 20 * SECOND => (SECOND / 100, unavailable()),
        _ => (SECOND, Outcome::Success),
    };
    let world = world(script, BREAKERS, &[("up", 400), ("down", 30)]).await;
    let (_, started) = tokio::join!(world.turn(), starts_in(&world, 20 * SECOND));
    // The group uses almost all of the ten slots, because the other group's probes are short.
    assert!((190..=200).contains(&started["up"]), "{started:?}");
    assert!(started["down"] <= 12, "{started:?}");
    assert_eq!(world.count(TaskStatus::Failure), 0);
    assert!(starts(&world)["down"] >= 30, "all of them ran afterwards");
    let attempts = (0..30).map(|n| world.record(&format!("down/{n}")).attempts);
    assert_eq!(attempts.sum::<u32>(), 30, "the outage cost no attempt");
}

#[tokio::test(start_paused = true)]
async fn poison_task_at_the_head_of_a_group_delays_its_recovery_by_a_probe() {
    let script = |task: &Task| match task.task_id.as_str() {
        "a/2" => (SECOND / 100, unavailable()),
        _ => (SECOND, Outcome::Success),
    };
    let world = world(script, BREAKERS, &[("a", 3)]).await;
    let open = LearnedGroup {
        name: "a".to_owned(),
        breaker: Some(OpenBreaker {
            since: world.clock.now(),
            probes: 0,
        }),
        ..LearnedGroup::default()
    };
    let learned = LearnedGroups {
        groups: vec![open],
        ..LearnedGroups::default()
    };
    let by = Uuid::from_u128(1);
    let written = world.store.save_groups(&learned, by, None).await;
    assert_eq!(written.unwrap(), Written::Done);
    let (_, ()) = tokio::join!(world.turn(), async {
        tokio::time::sleep(10 * SECOND).await;
        assert_eq!(world.count(TaskStatus::Success), 2);
    });
}

#[tokio::test(start_paused = true)]
async fn next_turn_continues_the_open_breaker_of_a_group() {
    let script = |_: &Task| (SECOND / 100, unavailable());
    let world = world(script, BREAKERS, &[("a", 3), ("b", 1)]).await;
    let summary = world.turn().await;
    assert_eq!((summary.exit, summary.failed), (Exit::TimeUp, 0));
    let learned = world.store.groups().await.unwrap().learned.groups;
    let open: Vec<_> = learned.iter().map(|group| group.breaker).collect();
    assert!(open.iter().all(Option::is_some), "{learned:?}");
    let (_, started) = tokio::join!(world.turn(), starts_in(&world, SECOND));
    assert!(started["a"] <= 1 && started["b"] <= 1, "{started:?}");
}

#[tokio::test(start_paused = true)]
async fn rejected_group_is_probed_and_the_others_start() {
    let script = |task: &Task| match task.task_id.group() {
        "a" => (SECOND / 100, rejecting()),
        _ => (SECOND, Outcome::Success),
    };
    let world = world(script, BREAKERS, &[("a", 30), ("b", 30)]).await;
    let summary = world.turn().await;
    assert_eq!((summary.succeeded, summary.failed), (30, 0), "{summary:?}");
    let learned = world.store.groups().await.unwrap().learned.groups;
    assert_eq!(
        learned[0].health.cause,
        Some(Cause::Rejecting),
        "{learned:?}"
    );
    assert!(starts(&world)["a"] <= 25, "{:?}", starts(&world));
}
