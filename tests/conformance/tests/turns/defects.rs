//! The measured defects of the published newest-first sample, by number. The eighth is in `wakes`
//! (`burst_publishes_once_until_its_marker_expires`), and the rest of the tenth is in `ingest`
//! (`redelivered_message_creates_no_task_twice_and_makes_none_newer`). The snapshots and rules of
//! `tests/infra` cover the ninth and everything else that only a template can show.

use std::time::Duration;

use conformance::NOW;
use lifo_queue::create::Creator;
use lifo_queue::notify::WakeReason;
use lifo_queue::process::Exit;
use lifo_queue::runner::Outcome;
use lifo_queue::task::{TaskId, TaskStatus, Ttl};
use lifo_queue::time::Clock;
use lifo_queue::wake::Wake;
use serde_json::json;

use super::world::*;

/// The expiry was written in milliseconds, so no task was ever shed, and expired tasks ran.
#[tokio::test(start_paused = true)]
async fn defect_1_expiry_in_the_wrong_unit() {
    let world = World::new(|_| at_once());
    let settings = simulator::deployed::INGEST.create;
    let creator = Creator::new(world.store.clone(), world.clock.clone(), settings);
    let tasks = [
        json!({"taskId": "short", "ttlSeconds": 60}),
        json!({"taskId": "long"}),
    ];
    assert_eq!(creator.create(&tasks).await.created.len(), 2);
    for (id, time) in [("short", 60 * SECOND), ("long", HOUR)] {
        let expiry = Ttl::Seconds(NOW.floor_seconds().plus(time));
        assert_eq!(world.record(id).ttl, expiry);
    }
    let in_milliseconds = Ttl::from_number(NOW.0);
    assert_eq!(in_milliseconds, Ttl::Milliseconds(NOW), "told apart");
    // DynamoDB has not yet deleted the expired task, but the turn does not start it.
    tokio::time::sleep(60 * SECOND).await;
    let summary = world.turn().await;
    assert_eq!((summary.taken, world.started()), (1, vec!["long".into()]));
    assert_eq!(world.record("short").status, TaskStatus::Pending);
}

/// The ten newest tasks throw, and 90 healthy tasks follow. In the sample, no healthy task
/// completed within 40 s.
#[tokio::test(start_paused = true)]
async fn defect_2_a_poison_task_starves_the_queue() {
    let world = World::of(100, |task| match task.task_id.as_str() {
        newest if newest >= "t0090" => (Duration::from_millis(100), retry()),
        _ => (Duration::from_millis(100), Outcome::Success),
    })
    .await;
    let healthy_by = async {
        while world.count(TaskStatus::Success) < 90 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        world.clock.now().since(NOW)
    };
    let (summary, healthy_by) = tokio::join!(world.turn(), healthy_by);
    assert!(healthy_by < 3 * SECOND, "{healthy_by:?}");
    assert_eq!((summary.succeeded, summary.failed), (90, 10));
    assert_eq!(summary.taken, 90 + 10 * world.settings.max_attempts);
}

/// A crash between TAKEN and the final status stranded the task permanently.
#[tokio::test(start_paused = true)]
async fn defect_3_a_crash_strands_the_task() {
    let world = World::of(10, |_| (10 * SECOND, Outcome::Success)).await;
    let crashed = tokio::time::timeout(SECOND, world.turn()).await;
    assert!(crashed.is_err());
    assert_eq!(world.count(TaskStatus::Taken), 10);
    // The longer of the task lease and the processor lease, plus 2 s.
    tokio::time::sleep(world.settings.task_lease() + 2 * SECOND).await;
    world.sweep().await;
    assert_eq!(world.notifications(), 1, "and a processor was woken");
    let summary = world.turn().await;
    assert_eq!((summary.succeeded, world.count(TaskStatus::Taken)), (10, 0));
}

/// Lambda's loop detection ended the tail calls after about 16 rounds. The stack allows the loop,
/// which is bounded only by the queue's own count of turns without a settled task.
#[tokio::test(start_paused = true)]
async fn defect_4_the_tail_call_is_bounded_by_progress_alone() {
    let world = World::of(1_300, |_| (29 * SECOND, Outcome::Success)).await;
    for turn in 1..=40 {
        let summary = world.turn().await;
        assert_eq!(
            (summary.exit, summary.tail_call),
            (Exit::TimeUp, true),
            "turn {turn}"
        );
    }
    assert_eq!(world.topics.trigger().len(), 40);
}

/// Wake-ups were lost after a failed query (`ending::a_query_that_fails_is_not_an_empty_queue`), a
/// failed publish (`wakes`), a stale index read, and the return of a task.
#[tokio::test(start_paused = true)]
async fn defect_5_a_wake_up_is_lost() {
    // The index shows the task only just before the processor ends.
    let world = World::new(|_| at_once());
    let late = async {
        tokio::time::sleep(Duration::from_millis(1_900)).await;
        let wake = world.waker().request("batch", WakeReason::Insert).await;
        assert_eq!(wake.unwrap(), Wake::AlreadyAwake);
        tokio::time::sleep(Duration::from_millis(1_900)).await;
        world.add("late", 0).await;
    };
    let (summary, ()) = tokio::join!(world.turn(), late);
    assert_eq!(summary.succeeded, 1);

    // A returned task is due only after the turn. When it is due, the sweep wakes a processor.
    let world = World::of(1, |_| at_once()).await;
    let mut put_back = world.record("t0000");
    put_back.not_before = Some(NOW.plus(100 * SECOND));
    world.store.put(TaskId::from_stored("t0000"), put_back);
    assert_eq!(world.turn().await.exit, Exit::Empty);
    for (seconds, notifications) in [(60, 0), (60, 1)] {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        world.sweep().await;
        assert_eq!(world.notifications(), notifications);
    }
    assert_eq!(world.turn().await.succeeded, 1);
}

/// Tasks were taken before a slot was free: 2.8 times each on average.
#[tokio::test(start_paused = true)]
async fn defect_6_tasks_are_taken_before_a_slot_is_free() {
    let mut world = World::new(|_| (2 * SECOND, Outcome::Success));
    world.settings.slots = 3;
    let world = world.with_tasks(80).await;
    let summary = world.turn().await;
    assert_eq!((summary.taken, summary.succeeded), (80, 80));
}

/// A newer task waited for the slowest task of a page and up to 10 s for the trigger.
#[tokio::test(start_paused = true)]
async fn defect_7_a_newer_task_waits_for_the_slowest_of_a_page() {
    let slow = |task: &lifo_queue::task::Task| match task.task_id.as_str() {
        "t0029" => (25 * SECOND, Outcome::Success),
        _ => (Duration::from_millis(500), Outcome::Success),
    };
    let world = World::of(30, slow).await;
    let newer = async {
        tokio::time::sleep(Duration::from_millis(1_100)).await;
        world.add("newer", 1_100).await;
        // The sum of a quick task's duration, the newer task's own run, and the age of a page.
        tokio::time::sleep(Duration::from_millis(1_100)).await;
        assert_eq!(world.record("newer").status, TaskStatus::Success);
    };
    tokio::join!(world.turn(), newer);
}

/// A lost race was logged as an error. Here, it is only counted.
#[tokio::test(start_paused = true)]
async fn defect_10_lost_races_as_errors() {
    let world = World::of(1, |_| at_once()).await;
    let mut gone = world.record("t0000");
    gone.status = TaskStatus::Success;
    let store = world.store.clone();
    let rival = world.faulty(move |operation, _| {
        if operation == "take" {
            store.put(TaskId::from_stored("t0000"), gone.clone());
        }
        None
    });
    let summary = world.turn_on(rival).await.unwrap();
    assert_eq!((summary.lost_races, summary.store_errors), (1, 0));
    assert_eq!(summary.exit, Exit::Empty);
}
