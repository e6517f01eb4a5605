//! The order in which tasks start.

use std::time::Duration;

use conformance::NOW;
use lifo_queue::process::Exit;
use lifo_queue::runner::Outcome;
use lifo_queue::task::{TaskId, TaskStatus};

use super::world::*;

conformance::on_both_stores! {
    a_turn_drains_the_queue_newest_first_and_releases_the_lease,
    a_newer_task_overtakes_the_backlog_at_the_next_free_slot,
    turn_waits_only_for_tasks_that_are_due_within_it,
}

async fn a_turn_drains_the_queue_newest_first_and_releases_the_lease() {
    let mut world = World::new(|_| (Duration::from_millis(500), Outcome::Success));
    world.settings.slots = 1;
    let world = world.with_tasks(40).await;
    let summary = world.turn().await;
    assert_eq!((summary.exit, summary.tail_call), (Exit::Empty, false));
    assert_eq!((summary.taken, summary.succeeded), (40, 40));
    let newest_first: Vec<_> = (0..40).rev().map(|n| format!("t{n:04}")).collect();
    assert_eq!(world.started(), newest_first);
    assert_eq!(world.control().await.lease, None);
    assert!(world.topics.trigger().is_empty());
}

async fn a_newer_task_overtakes_the_backlog_at_the_next_free_slot() {
    let mut world = World::new(|_| (SECOND, Outcome::Success));
    world.settings.slots = 1;
    let world = world.with_tasks(10).await;
    let late = async {
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        world.add("late", 2_500).await;
    };
    let (summary, ()) = tokio::join!(world.turn(), late);
    assert_eq!(summary.succeeded, 11);
    assert_eq!(world.started()[3], "late");
}

async fn turn_waits_only_for_tasks_that_are_due_within_it() {
    let world = World::of(2, |task| match task.attempt {
        1 => (Duration::ZERO, retry()),
        _ => at_once(),
    })
    .await;
    let mut later = world.record("t0000");
    later.not_before = Some(NOW.plus(600 * SECOND));
    world.store.put(TaskId::from_stored("later"), later);
    let summary = world.turn().await;
    assert_eq!(
        (summary.exit, summary.succeeded, summary.retried),
        (Exit::Empty, 2, 2)
    );
    assert_eq!(world.record("later").status, TaskStatus::Pending);
}
