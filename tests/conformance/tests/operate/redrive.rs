//! Redrives.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use conformance::{NOW, insert};
use lifo_queue::notify::WakeReason;
use lifo_queue::operate::{OperateError, RedriveReport};
use lifo_queue::store::{ControlStore, Redriven};
use lifo_queue::task::{TaskId, TaskStatus, Ttl};
use lifo_queue::time::Clock;
use lifo_queue::wake::Wake;
use simulator::faulty::{Fault, FaultyStore};

use super::world::{HOUR, MARKER, World, numbered};

#[tokio::test(start_paused = true)]
async fn redriven_task_gets_a_new_deadline_and_wakes_the_queue() {
    let world = World::start().with_failed(&["a"]).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let id = TaskId::from_stored("a");
    let redriven = world.operator().redrive(&id, HOUR).await.unwrap();
    assert_eq!(redriven, Redriven::Done);
    let record = world.store.record(&id).unwrap();
    let deadline = world.clock.now().ceil_seconds().plus(HOUR);
    assert_eq!((record.created, record.ttl), (NOW, Ttl::Seconds(deadline)));
    let published = world.topics.process_tasks();
    assert_eq!(published.len(), 1);
    assert_eq!(published[0].reason, WakeReason::Operator);
}

#[tokio::test(start_paused = true)]
async fn redrive_of_no_task_sends_no_wake_up() {
    let world = World::start();
    insert(&*world.store, &["waits"]).await;
    let operator = world.operator();
    let redrive = |id: &'static str| {
        let operator = &operator;
        async move {
            operator
                .redrive(&TaskId::from_stored(id), HOUR)
                .await
                .unwrap()
        }
    };
    assert_eq!(redrive("waits").await, Redriven::Is(TaskStatus::Pending));
    assert_eq!(redrive("unknown").await, Redriven::NotFound);
    let nothing = operator.redrive_all(HOUR).await.unwrap();
    assert_eq!(nothing, RedriveReport::default());
    assert_eq!(world.store.control().await.unwrap().requested, 0);
    assert_eq!(world.notifications(), 0);
}

#[tokio::test(start_paused = true)]
async fn all_failed_tasks_are_redriven_with_one_wake_up() {
    let ids = numbered(2_300);
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let world = World::start().with_failed(&ids).await;
    let report = world.operator().redrive_all(HOUR).await.unwrap();
    let expected = RedriveReport {
        redriven: 2_300,
        wake: Some(Wake::Published),
        ..RedriveReport::default()
    };
    assert_eq!(report, expected);
    assert_eq!(world.count(TaskStatus::Pending), 2_300);
    assert_eq!(world.store.control().await.unwrap().requested, 1);
    assert_eq!(world.notifications(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_changes_between_the_page_and_its_redrive_is_counted_as_lost() {
    let world = World::start().with_failed(&["a", "b", "c"]).await;
    let store = world.store.clone();
    let racing = FaultyStore::new(world.store.clone(), move |operation| {
        let id = TaskId::from_stored("a");
        if operation == "redrive"
            && let Some(mut record) = store.record(&id)
        {
            record.status = TaskStatus::Success;
            store.put(id, record);
        }
        Fault::None
    });
    let report = world.operator_on(Arc::new(racing)).redrive_all(HOUR).await;
    let report = report.unwrap();
    assert_eq!((report.redriven, report.lost), (2, 1));
    assert_eq!(world.status("a"), Some(TaskStatus::Success));
}

#[tokio::test(start_paused = true)]
async fn task_that_cannot_be_changed_stops_no_change_of_other_tasks() {
    let ids = numbered(40);
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let world = World::start().with_failed(&ids).await;
    let calls = AtomicU32::new(0);
    let third_fails = FaultyStore::new(world.store.clone(), move |operation| {
        let is_change = matches!(operation, "redrive" | "purge");
        match is_change && calls.fetch_add(1, Ordering::SeqCst) % 40 == 2 {
            true => Fault::Invalid,
            false => Fault::None,
        }
    });
    let operator = world.operator_on(Arc::new(third_fails));
    let redriven = operator.redrive_all(HOUR).await.unwrap();
    assert_eq!((redriven.redriven, redriven.lost), (39, 0));
    let [failed] = redriven.failed.as_slice() else {
        panic!("{redriven:?}");
    };
    assert_eq!(
        world.status(failed.task.as_str()),
        Some(TaskStatus::Failure)
    );
    assert!(
        failed.error.contains("rejected by DynamoDB"),
        "{}",
        failed.error
    );
    assert_eq!(world.notifications(), 1);
    let purged = operator.purge(|_| {}).await.unwrap();
    assert_eq!((purged.deleted, purged.failed.len()), (39, 1));
}

#[tokio::test(start_paused = true)]
async fn interrupted_redrive_wakes_the_queue_for_its_redriven_tasks() {
    let ids = numbered(1_500);
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    for (step, nth, least) in [("pending_page", 2, 1_000), ("redrive", 700, 600)] {
        let world = World::start().with_failed(&ids).await;
        let calls = AtomicU32::new(0);
        let broken = FaultyStore::new(world.store.clone(), move |operation| {
            let is_it = operation == step && calls.fetch_add(1, Ordering::SeqCst) + 1 == nth;
            if is_it {
                Fault::LostRequest
            } else {
                Fault::None
            }
        });
        let redriven = world.operator_on(Arc::new(broken)).redrive_all(HOUR).await;
        assert!(
            matches!(redriven, Err(OperateError::Store(_))),
            "{step}: {redriven:?}"
        );
        let pending = world.count(TaskStatus::Pending);
        assert!((least..1_500).contains(&pending), "{step}: {pending}");
        assert_eq!(world.notifications(), 1, "{step}");
        // A repetition, as the error advises, redrives the other tasks.
        let rest = world.operator().redrive_all(HOUR).await.unwrap();
        assert_eq!(rest.redriven as usize, 1_500 - pending, "{step}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wake_up_that_fails_is_an_error_and_the_task_stays_redriven() {
    let world = World::start().with_failed(&["a", "b", "c"]).await;
    world.topics.set_broken(true);
    let one = world
        .operator()
        .redrive(&TaskId::from_stored("a"), HOUR)
        .await;
    assert!(matches!(one, Err(OperateError::Wake(_))), "{one:?}");
    assert_eq!(world.status("a"), Some(TaskStatus::Pending));
    tokio::time::sleep(MARKER).await;
    let all = world.operator().redrive_all(HOUR).await;
    assert!(matches!(all, Err(OperateError::Wake(_))), "{all:?}");
    assert_eq!(world.count(TaskStatus::Pending), 3);
}
