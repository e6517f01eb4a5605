//! The ten measured defects of the published newest-first sample, each by its number. The part that
//! only a template can show is in the snapshots and rules of `tests/infra`.

use std::sync::Arc;
use std::time::Duration;

use conformance::{NOW, new_task};
use lifo_queue::create::Creator;
use lifo_queue::notify::WakeReason;
use lifo_queue::process::Exit;
use lifo_queue::runner::Outcome;
use lifo_queue::store::{Inserted, QueueStore, TaskStore};
use lifo_queue::task::{TaskId, TaskStatus, Ttl};
use lifo_queue::time::Clock;
use lifo_queue::wake::Wake;
use serde_json::json;
use simulator::faulty::{Fault, FaultyStore};

use super::neighbours::sweep;
use super::world::*;

impl World {
    async fn create(&self, tasks: serde_json::Value) -> Vec<TaskId> {
        let settings = simulator::deployed::INGEST.create;
        let creator = Creator::new(self.store.clone(), self.clock.clone(), settings);
        let report = creator.create(tasks.as_array().unwrap()).await;
        assert!(report.failed.is_empty(), "{report:?}");
        report
            .created
            .into_iter()
            .map(|task| task.task_id)
            .collect()
    }
}

/// Expiry was written in milliseconds, so no task was ever shed, and expired tasks ran.
#[tokio::test(start_paused = true)]
async fn defect_1_expiry_in_the_wrong_unit() {
    let world = World::new(|_| at_once());
    let ids = world.create(json!([{"ttlSeconds": 60}, {}])).await;
    let expiries = ids
        .iter()
        .map(|id| match world.store.record(id).unwrap().ttl {
            Ttl::Seconds(at) => at.0 - NOW.floor_seconds().0,
            other => panic!("{other:?}"),
        });
    assert_eq!(expiries.collect::<Vec<_>>(), [60, 3_600]);
    let in_milliseconds = Ttl::from_number(NOW.0);
    assert_eq!(in_milliseconds, Ttl::Milliseconds(NOW), "told apart");
    // DynamoDB has not deleted the expired task yet, and the turn does not start it.
    tokio::time::sleep(Duration::from_secs(60)).await;
    let summary = world.turn().await;
    assert_eq!(
        (summary.taken, world.started()),
        (1, vec![ids[1].to_string()])
    );
    assert_eq!(
        world.store.record(&ids[0]).unwrap().status,
        TaskStatus::Pending
    );
}

/// The ten newest tasks throw, and 90 healthy tasks follow. In the sample, none of those was done
/// in 40 s.
#[tokio::test(start_paused = true)]
async fn defect_2_a_poison_task_starves_the_queue() {
    let world = World::new(|task| match task.task_id.as_str() {
        newest if newest >= "t0090" => (Duration::from_millis(100), retry()),
        _ => (Duration::from_millis(100), Outcome::Success),
    });
    let world = world.with_tasks(100).await;
    let healthy_by = async {
        while world.count(TaskStatus::Success) < 90 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        world.clock.now().since(NOW)
    };
    let (summary, healthy_by) = tokio::join!(world.turn(), healthy_by);
    assert!(healthy_by < Duration::from_secs(3), "{healthy_by:?}");
    assert_eq!((summary.succeeded, summary.failed), (90, 10));
    assert_eq!(summary.taken, 90 + 10 * world.settings.max_attempts);
}

/// A crash between TAKEN and the final state stranded the task permanently.
#[tokio::test(start_paused = true)]
async fn defect_3_a_crash_strands_the_task() {
    let world = World::new(|_| (Duration::from_secs(10), Outcome::Success))
        .with_tasks(10)
        .await;
    let crashed = tokio::time::timeout(Duration::from_secs(1), world.turn()).await;
    assert!(crashed.is_err());
    assert_eq!(world.count(TaskStatus::Taken), 10);
    // The longer of the task lease and the processor lease, and 2 s more.
    tokio::time::sleep(world.settings.task_lease() + Duration::from_secs(2)).await;
    sweep(&world).await;
    assert_eq!(
        world.topics.process_tasks().len(),
        1,
        "and a processor was woken"
    );
    let summary = world.turn().await;
    assert_eq!((summary.succeeded, world.count(TaskStatus::Taken)), (10, 0));
}

/// Lambda's loop detection ended the tail calls after about 16 rounds. The stack allows the loop.
/// Only the queue's own count of turns without a settled task bounds it.
#[tokio::test(start_paused = true)]
async fn defect_4_the_tail_call_is_bounded_by_progress_alone() {
    let world = World::new(|_| (Duration::from_secs(29), Outcome::Success))
        .with_tasks(1_300)
        .await;
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

/// A wake-up was lost after a failed query (`ending::a_query_that_fails_is_not_an_empty_queue`), a
/// failed publish (`wakes`), a stale index, and the return of a task.
#[tokio::test(start_paused = true)]
async fn defect_5_a_wake_up_is_lost() {
    // The index shows the task only shortly before the processor ends.
    let world = World::new(|_| at_once());
    let late = async {
        tokio::time::sleep(Duration::from_millis(1_900)).await;
        let wake = world.waker().request("batch", WakeReason::Insert).await;
        assert_eq!(wake.unwrap(), Wake::AlreadyAwake);
        tokio::time::sleep(Duration::from_millis(1_900)).await;
        world.store.insert(&new_task("late", 0)).await.unwrap();
    };
    let (summary, ()) = tokio::join!(world.turn(), late);
    assert_eq!(summary.succeeded, 1);

    // A returned task is due only after the turn. The sweep wakes a processor for it when it is
    // due.
    let world = World::new(|_| at_once()).with_tasks(1).await;
    let mut put_back = world.record("t0000");
    put_back.not_before = Some(NOW.plus(Duration::from_secs(100)));
    world.store.put(TaskId::from_stored("t0000"), put_back);
    assert_eq!(world.turn().await.exit, Exit::Empty);
    for (seconds, notifications) in [(60, 0), (60, 1)] {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        sweep(&world).await;
        assert_eq!(world.topics.process_tasks().len(), notifications);
    }
    assert_eq!(world.turn().await.succeeded, 1);
}

/// Tasks were taken before a slot was free: 2.8 times each on average.
#[tokio::test(start_paused = true)]
async fn defect_6_tasks_are_taken_before_a_slot_is_free() {
    let mut world = World::new(|_| (Duration::from_secs(2), Outcome::Success));
    world.settings.slots = 3;
    let world = world.with_tasks(80).await;
    let summary = world.turn().await;
    assert_eq!((summary.taken, summary.succeeded), (80, 80));
    assert!(
        world
            .store
            .records()
            .iter()
            .all(|(_, record)| record.total_attempts == 1)
    );
}

/// A newer task waited for the slowest task of a page, and up to 10 s for the trigger.
#[tokio::test(start_paused = true)]
async fn defect_7_a_newer_task_waits_for_the_slowest_of_a_page() {
    let slow = |task: &lifo_queue::task::Task| match task.task_id.as_str() {
        "t0029" => (Duration::from_secs(25), Outcome::Success),
        _ => (Duration::from_millis(500), Outcome::Success),
    };
    let world = World::new(slow).with_tasks(30).await;
    let newer = async {
        tokio::time::sleep(Duration::from_millis(1_100)).await;
        world.store.insert(&new_task("newer", 1_100)).await.unwrap();
        // The time of a quick task, its own run, and the age of a page.
        tokio::time::sleep(Duration::from_millis(1_100)).await;
        assert_eq!(world.record("newer").status, TaskStatus::Success);
    };
    tokio::join!(world.turn(), newer);
}

/// A burst of notifications was throttled, and the backoff delayed the next real wake-up.
#[tokio::test(start_paused = true)]
async fn defect_8_a_burst_of_notifications_delays_the_next_wake_up() {
    let world = World::new(|_| at_once()).with_tasks(1_000).await;
    for batch in 0..100 {
        let event = format!("batch {batch}");
        world
            .waker()
            .request(&event, WakeReason::Insert)
            .await
            .unwrap();
    }
    assert_eq!(
        world.topics.process_tasks().len(),
        1,
        "one for a hundred batches"
    );
    assert_eq!(world.turn().await.succeeded, 1_000);
    // The marker of that burst does not delay the next batch.
    let wake = world.waker().request("next", WakeReason::Insert).await;
    assert_eq!(wake.unwrap(), Wake::Published);
}

/// The index projected the payload, so each of the two index writes of a transition grew with it.
/// Here, the payload does not change the size of an index entry.
#[tokio::test]
async fn defect_9_the_index_carries_the_payload() {
    let embedded = conformance::embedded().await;
    let store = lifo_queue::store::dynamodb::DynamoStore::new(
        embedded.client.clone(),
        simulator::dynamodb::TABLE,
    );
    let mut task = new_task("heavy", 0);
    task.payload = Some(json!("x".repeat(100_000)));
    assert_eq!(store.insert(&task).await.unwrap(), Inserted::Created);
    let entries = embedded
        .client
        .query()
        .table_name(simulator::dynamodb::TABLE)
        .index_name("task-status-created-index")
        .key_condition_expression("taskStatus = :pending")
        .expression_attribute_values(
            ":pending",
            aws_sdk_dynamodb::types::AttributeValue::S("PENDING".into()),
        );
    let response = entries.send().await.unwrap();
    assert!(!response.items()[0].contains_key("payload"));
    // A take still returns the whole item.
    let taken = conformance::take(&store, "heavy").await;
    assert_eq!(taken.task.payload, task.payload.unwrap());
}

/// Create was not idempotent, the query's projection dropped the payload, and a lost race was
/// logged as an error. (Logs, metrics, failure queues and policy: `tests/infra`.)
#[tokio::test(start_paused = true)]
async fn defect_10_no_idempotence_no_payload_and_lost_races_as_errors() {
    let world = World::new(|task| match task.payload["device"].as_i64() {
        Some(7) => at_once(),
        _ => panic!("the payload was lost: {task:?}"),
    });
    let task = json!([{"taskId": "twice", "payload": {"device": 7}}]);
    assert_eq!(world.create(task.clone()).await.len(), 1);
    assert_eq!(
        world.create(task).await.len(),
        0,
        "the second time it is a duplicate"
    );
    let summary = world.turn().await;
    assert_eq!(
        (summary.succeeded, summary.failed, summary.store_errors),
        (1, 0, 0)
    );

    // A take that loses a race is counted as a value, and is not an error.
    let world = World::new(|_| at_once()).with_tasks(1).await;
    let store: Arc<dyn QueueStore> = world.store.clone();
    let mut gone = world.record("t0000");
    gone.status = TaskStatus::Success;
    let rival = FaultyStore::new(store, {
        let store = world.store.clone();
        move |operation| {
            if operation == "take" {
                store.put(TaskId::from_stored("t0000"), gone.clone());
            }
            Fault::None
        }
    });
    let summary = world.turn_on(Arc::new(rival)).await.unwrap();
    assert_eq!((summary.lost_races, summary.store_errors), (1, 0));
    assert_eq!(summary.exit, Exit::Empty);
}
