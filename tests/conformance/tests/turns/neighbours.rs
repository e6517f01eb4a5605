//! A task that kills its process, and the tasks that run beside it (S4).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use lifo_queue::runner::Outcome;
use lifo_queue::task::TaskStatus;
use tokio::sync::Notify;

use super::world::*;

/// Runs turns and sweeps until every task is settled. Each start of a task in `killers` ends its
/// process 50 ms later.
async fn live_with(killers: &'static [&'static str], max_attempts: u32) -> World {
    let bang = Arc::new(Notify::new());
    let fuse = bang.clone();
    let mut world = World::new(move |task| {
        if killers.contains(&task.task_id.as_str()) {
            // No permit is stored, so a second killer task in the same turn does not end the next turn.
            fuse.notify_waiters();
        }
        (Duration::from_millis(200), Outcome::Success)
    });
    world.settings.max_attempts = max_attempts;
    let world = world.with_tasks(40).await;
    let death = || async {
        bang.notified().await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    for _ in 0..60 {
        tokio::select! {
            biased;
            () = death() => {}
            _ = world.turn() => {}
        }
        tokio::time::sleep(60 * SECOND).await;
        world.sweep().await;
    }
    assert_eq!(
        world.count(TaskStatus::Pending) + world.count(TaskStatus::Taken),
        0
    );
    world
}

fn starts(world: &World) -> BTreeMap<String, u32> {
    let mut starts = BTreeMap::new();
    for id in world.started() {
        *starts.entry(id).or_default() += 1;
    }
    starts
}

#[tokio::test(start_paused = true)]
async fn task_that_kills_its_process_does_not_fail_its_neighbours() {
    for (max_attempts, most) in [(5, 5), (3, 3), (2, 2), (1, 2)] {
        let world = live_with(&["t0030", "t0031", "t0012"], max_attempts).await;
        assert_eq!(world.count(TaskStatus::Success), 37, "{max_attempts}");
        let starts = starts(&world);
        for killer in ["t0030", "t0031", "t0012"] {
            assert_eq!(world.record(killer).status, TaskStatus::Failure);
            assert!(starts[killer] <= most, "{killer}: {starts:?}");
        }
        assert!(starts.values().all(|count| *count <= most), "{starts:?}");
    }
}

#[test]
fn task_lease_covers_the_timeout_the_margin_and_the_clock_skew() {
    let lease = SETTINGS.task_timeout + SETTINGS.deadline_margin + SETTINGS.clock_skew;
    assert_eq!(SETTINGS.task_lease(), lease);
}
