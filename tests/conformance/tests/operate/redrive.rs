//! Redrives.

use std::time::Duration;

use conformance::{MARKER, NOW, Queue, insert, numbered};
use lifo_queue::notify::WakeReason;
use lifo_queue::operate::{OperateError, RedriveReport};
use lifo_queue::store::Redriven;
use lifo_queue::task::{TaskId, TaskStatus, Ttl};
use lifo_queue::time::Clock;
use lifo_queue::wake::Wake;
use simulator::fault::Fault;

use super::world::{HOUR, with_failed};

conformance::on_both_stores! {
    redriven_task_gets_a_new_deadline_and_wakes_the_queue,
    redrive_that_changes_no_task_requests_no_wake_up,
    task_that_changes_between_index_read_and_redrive_is_counted_as_lost,
    task_that_cannot_be_changed_does_not_block_changes_to_others,
    failed_wake_up_is_an_error_but_the_task_stays_redriven,
}

async fn redriven_task_gets_a_new_deadline_and_wakes_the_queue() {
    let queue = with_failed(&["a"]).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let id = TaskId::from_stored("a");
    let redriven = queue.operator().redrive(&id, HOUR).await.unwrap();
    assert_eq!(redriven, Redriven::Done);
    let record = queue.store.record(&id).unwrap();
    let deadline = queue.clock.now().ceil_seconds().plus(HOUR);
    assert_eq!((record.created, record.ttl), (NOW, Ttl::Seconds(deadline)));
    let published = queue.topics.process_tasks();
    assert_eq!(published.len(), 1);
    assert_eq!(published[0].reason, WakeReason::Operator);
}

async fn redrive_that_changes_no_task_requests_no_wake_up() {
    let queue = Queue::start();
    insert(&*queue.store, &["waits"]).await;
    let operator = queue.operator();
    for (id, expected) in [
        ("waits", Redriven::Is(TaskStatus::Pending)),
        ("unknown", Redriven::NotFound),
    ] {
        let redriven = operator.redrive(&TaskId::from_stored(id), HOUR).await;
        assert_eq!(redriven.unwrap(), expected, "{id}");
    }
    let nothing = operator.redrive_all(HOUR).await.unwrap();
    assert_eq!(nothing, RedriveReport::default());
    assert_eq!(queue.control().await.requested, 0);
    assert_eq!(queue.notifications(), 0);
}

#[tokio::test(start_paused = true)]
async fn all_failed_tasks_are_redriven_with_one_wake_up() {
    let queue = with_failed(&numbered(2_300)).await;
    let report = queue.operator().redrive_all(HOUR).await.unwrap();
    let expected = RedriveReport {
        redriven: 2_300,
        wake: Some(Wake::Published),
        ..RedriveReport::default()
    };
    assert_eq!(report, expected);
    assert_eq!(queue.count(TaskStatus::Pending), 2_300);
    assert_eq!(queue.control().await.requested, 1);
    assert_eq!(queue.notifications(), 1);
}

async fn task_that_changes_between_index_read_and_redrive_is_counted_as_lost() {
    let queue = with_failed(&["a", "b", "c"]).await;
    let store = queue.store.clone();
    let racing = queue.faulty(move |operation, _| {
        let id = TaskId::from_stored("a");
        if operation == "redrive"
            && let Some(mut record) = store.record(&id)
        {
            record.status = TaskStatus::Success;
            store.put(id, record);
        }
        None
    });
    let report = queue.operator_on(racing).redrive_all(HOUR).await;
    let report = report.unwrap();
    assert_eq!((report.redriven, report.lost), (2, 1));
    assert_eq!(queue.status("a"), Some(TaskStatus::Success));
}

async fn task_that_cannot_be_changed_does_not_block_changes_to_others() {
    let queue = with_failed(&numbered(40)).await;
    let third_fails = queue.faulty(|operation, before| match (operation, before) {
        ("redrive" | "purge", 2) => Some(Fault::Invalid),
        _ => None,
    });
    let operator = queue.operator_on(third_fails);
    let redriven = operator.redrive_all(HOUR).await.unwrap();
    assert_eq!((redriven.redriven, redriven.lost), (39, 0));
    let [failed] = redriven.failed.as_slice() else {
        panic!("{redriven:?}");
    };
    assert_eq!(
        queue.status(failed.task.as_str()),
        Some(TaskStatus::Failure)
    );
    assert!(failed.error.contains("rejected by DynamoDB"), "{failed:?}");
    assert_eq!(queue.notifications(), 1);
    let purged = operator.purge(|_| {}).await.unwrap();
    assert_eq!((purged.deleted, purged.failed.len()), (39, 1));
}

#[tokio::test(start_paused = true)]
async fn interrupted_redrive_wakes_the_queue_for_its_redriven_tasks() {
    let ids = numbered(1_500);
    for (step, nth, least) in [("pending_page", 2, 1_000), ("redrive", 700, 600)] {
        let queue = with_failed(&ids).await;
        let broken = queue.faulty(move |operation, before| {
            (operation == step && before + 1 == nth).then_some(Fault::LostRequest)
        });
        let redriven = queue.operator_on(broken).redrive_all(HOUR).await;
        assert!(
            matches!(redriven, Err(OperateError::Store(_))),
            "{step}: {redriven:?}"
        );
        let pending = queue.count(TaskStatus::Pending);
        assert!((least..1_500).contains(&pending), "{step}: {pending}");
        assert_eq!(queue.notifications(), 1, "{step}");
        // Retrying, as the error advises, redrives the remaining tasks.
        let rest = queue.operator().redrive_all(HOUR).await.unwrap();
        assert_eq!(rest.redriven as usize, 1_500 - pending, "{step}");
    }
}

async fn failed_wake_up_is_an_error_but_the_task_stays_redriven() {
    let queue = with_failed(&["a", "b", "c"]).await;
    queue.topics.set_broken(true);
    let one = queue
        .operator()
        .redrive(&TaskId::from_stored("a"), HOUR)
        .await;
    assert!(matches!(one, Err(OperateError::Wake(_))), "{one:?}");
    assert_eq!(queue.status("a"), Some(TaskStatus::Pending));
    tokio::time::sleep(MARKER).await;
    let all = queue.operator().redrive_all(HOUR).await;
    assert!(matches!(all, Err(OperateError::Wake(_))), "{all:?}");
    assert_eq!(queue.count(TaskStatus::Pending), 3);
}
