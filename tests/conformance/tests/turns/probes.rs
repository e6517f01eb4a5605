//! Probes while the circuit breaker is open: the search for a task, and the end of an outage.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use conformance::{NOW, new_task};
use lifo_queue::process::Exit;
use lifo_queue::task::TaskStatus;
use lifo_queue::time::{Clock, TokioClock};

use super::breaker::{JUST_OPEN, outage};
use super::world::*;

#[tokio::test(start_paused = true)]
async fn open_breaker_closes_behind_pages_of_tasks_that_may_not_start() {
    let world = World::breaking(30, outage(20 * SECOND)).await;
    world.put_resting(3_500);
    let summary = world.turn().await;
    assert_eq!(world.count(TaskStatus::Success), 30, "{summary:?}");
    assert_eq!(summary.exit, Exit::Empty);
    // At most ten further pages per second, each with a read of the head.
    let most = summary.duration_ms / 100 * 2 + 40;
    assert!(u64::from(summary.queries) <= most, "{summary:?}");
    // Each probe reads four pages, so it starts at most 300 ms late.
    assert!((6..=8).contains(&summary.probes), "{summary:?}");
}

#[tokio::test(start_paused = true)]
async fn tried_poison_tasks_do_not_hide_an_untried_task_pages_below() {
    let world = World::breaking(20, |task| match task.task_id.as_str() {
        id if id.starts_with("poison") => (Duration::from_millis(5), unavailable()),
        _ => at_once(),
    })
    .await;
    world.put_resting(1_500);
    for n in 0..10 {
        let task = new_task(&format!("poison{n}"), 2_000 + n);
        world.store.insert(&task).await.unwrap();
    }
    let healthy_by = async {
        while world.count(TaskStatus::Success) < 20 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        world.clock.now().since(NOW)
    };
    let (summary, healthy_by) = tokio::join!(world.turn(), healthy_by);
    assert!(summary.probes > 0, "{summary:?}");
    assert!(healthy_by < 3 * SECOND, "{healthy_by:?}");
}

#[tokio::test(start_paused = true)]
async fn newest_task_starts_first_after_a_probe_from_a_deeper_page() {
    let mut world = World::with_breaker(a_second);
    world.settings.slots = 1;
    let world = world.with_tasks(5).await;
    world.put_resting(1_500);
    world.leave(Some(JUST_OPEN), None).await;
    let late = async {
        while world.started().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        world.add("late", 2_000).await;
    };
    let (summary, ()) = tokio::join!(world.turn(), late);
    assert_eq!((summary.succeeded, summary.probes), (6, 1), "{summary:?}");
    assert_eq!(world.started()[1], "late");
}

#[tokio::test(start_paused = true)]
async fn search_for_a_probe_finds_an_empty_queue() {
    let world = World::with_breaker(|_| at_once());
    world.put_resting(1_500);
    world.leave(Some(JUST_OPEN), None).await;
    let summary = world.turn().await;
    assert_eq!((summary.exit, summary.probes), (Exit::Empty, 0));
    assert!(summary.queries < 30, "{summary:?}");
}

#[tokio::test(start_paused = true)]
async fn breaker_of_an_empty_queue_closes() {
    let world = World::breaking(12, outage(HOUR)).await;
    let cancelled = async {
        tokio::time::sleep(6 * SECOND).await;
        assert!(world.breaker().await.is_some());
        for (id, _) in world.store.records() {
            world.store.remove(&id);
        }
    };
    let (summary, ()) = tokio::join!(world.turn(), cancelled);
    assert_eq!((summary.exit, summary.breaker_open), (Exit::Empty, false));
    assert_eq!(world.breaker().await, None);
}

#[tokio::test(start_paused = true)]
async fn breaker_stays_open_while_tasks_are_delayed() {
    let world = World::with_breaker(|_| at_once());
    world.put_resting(1);
    world.leave(Some(JUST_OPEN), None).await;
    assert_eq!(world.turn().await.exit, Exit::Empty);
    assert_eq!(world.breaker().await, Some(JUST_OPEN));
}

#[tokio::test(start_paused = true)]
async fn probes_wait_as_long_as_a_busy_downstream_asks() {
    let starts = Arc::new(Mutex::new(Vec::new()));
    let (clock, seen) = (TokioClock::starting_at(NOW), starts.clone());
    let world = World::breaking(30, move |_| {
        let now = clock.now();
        seen.lock().unwrap().push(now);
        match now < NOW.plus(22 * SECOND) {
            true => (Duration::ZERO, busy_for(5 * SECOND)),
            false => at_once(),
        }
    })
    .await;
    world.leave(Some(JUST_OPEN), None).await;
    let summary = world.turn().await;
    assert_eq!((summary.succeeded, summary.probes), (30, 6), "{summary:?}");
    let starts = starts.lock().unwrap();
    for pair in starts[..6].windows(2) {
        let wait = pair[1].since(pair[0]);
        assert!(wait >= 5 * SECOND, "{wait:?}");
    }
}
