//! Tests of the cloud itself: scripted faults occur, and no others.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use lifo_queue::task::TaskStatus;
use simulator::cloud::{self, Builder, Cloud, CloudSettings, Deed, FaultKind, Report};

const MINUTE: Duration = Duration::from_secs(60);

/// Plays a scene in which every task succeeds after a second.
fn play(scene: impl AsyncFnOnce(&Cloud)) -> Report {
    let report = cloud::play(1, async |builder: Builder| {
        let cloud = builder
            .script(|_| (Duration::from_secs(1), Deed::Succeed))
            .start();
        scene(&cloud).await;
        cloud.finish()
    });
    assert_eq!(report.violations, Vec::<String>::new());
    report
}

#[test]
fn without_faults_each_task_starts_once() {
    let report = play(async |cloud| {
        cloud.create(&["a", "b", "c"]).await;
        assert!(cloud.run_until_settled(MINUTE).await);
    });
    assert_eq!(report.census.starts, 3);
    assert!(
        report.census.faults.is_empty(),
        "{:?}",
        report.census.faults
    );
    assert_eq!(report.census.ends["SUCCESS"], 3);
}

#[test]
fn sweep_wakes_the_queue_after_a_lost_notification() {
    let report = play(async |cloud| {
        cloud.lose_next_notification();
        cloud.create(&["a"]).await;
        assert!(!cloud.run_until_settled(MINUTE).await);
        assert!(cloud.run_until_settled(MINUTE).await);
    });
    assert_eq!(report.census.faults[&FaultKind::NotificationLost], 1);
}

#[test]
fn sweep_returns_the_task_of_a_processor_killed_after_a_take() {
    let report = play(async |cloud| {
        cloud.kill_processor_after("take", 1);
        cloud.create(&["a"]).await;
        cloud.run_for(MINUTE / 2).await;
        let task = cloud.task("a").unwrap();
        assert_eq!((task.status, task.attempts), (TaskStatus::Taken, 1));
        assert_eq!(cloud.processors(), 0);
        assert!(cloud.run_until_settled(5 * MINUTE).await);
        assert_eq!(cloud.task("a").unwrap().attempts, 2);
    });
    assert_eq!(report.census.faults[&FaultKind::KilledAtCall], 1);
    assert_eq!(report.census.starts, 1);
}

#[test]
fn task_settled_before_its_processor_is_killed_stays_settled() {
    let report = play(async |cloud| {
        cloud.kill_processor_after("settle", 1);
        cloud.create(&["a"]).await;
        assert!(cloud.run_until_settled(5 * MINUTE).await);
    });
    assert_eq!(report.census.starts, 1);
    assert_eq!(report.census.ends["SUCCESS"], 1);
}

#[test]
fn lost_acknowledgements_start_no_task_twice() {
    let report = play(async |cloud| {
        for operation in ["take", "settle", "request", "mark_notified"] {
            cloud.fail(operation, 1, FaultKind::LostAck);
        }
        cloud.create(&["a"]).await;
        assert!(cloud.run_until_settled(5 * MINUTE).await);
    });
    assert_eq!(report.census.faults[&FaultKind::LostAck], 4);
    assert_eq!(report.census.starts, 1);
}

#[test]
fn a_task_that_kills_its_process_ends_as_failure_and_its_neighbour_does_not() {
    let report = cloud::play(1, async |builder: Builder| {
        let deed = |id: &str| match id {
            "killer" => Deed::Kill,
            _ => Deed::Succeed,
        };
        let cloud = builder
            .script(move |task| (Duration::from_secs(2), deed(task.task_id.as_str())))
            .start();
        cloud.create(&["neighbour", "killer"]).await;
        assert!(cloud.run_until_settled(60 * MINUTE).await);
        assert_eq!(cloud.task("killer").unwrap().status, TaskStatus::Failure);
        assert_eq!(cloud.task("neighbour").unwrap().status, TaskStatus::Success);
        cloud.finish()
    });
    assert_eq!(report.violations, Vec::<String>::new());
    assert!(report.census.faults[&FaultKind::KilledByTask] >= 3);
}

#[test]
fn scripted_faults_occur_on_the_embedded_dynamodb() {
    let report = cloud::play(1, async |builder: Builder| {
        let cloud = builder.embedded().unwrap().start();
        cloud.fail("UpdateItem", 2, FaultKind::Throttled);
        cloud.fail("UpdateItem", 3, FaultKind::LostAck);
        cloud.create(&["a", "b"]).await;
        assert!(cloud.run_until_settled(MINUTE).await);
        cloud.finish()
    });
    assert_eq!(report.violations, Vec::<String>::new());
    assert_eq!(
        (report.census.starts, report.census.ends["SUCCESS"]),
        (2, 2)
    );
    assert_eq!(report.census.faults.len(), 2, "{:?}", report.census.faults);
}

/// Plays a queue with work for six minutes, in which an operator publishes a second notification
/// between two turns. Returns the number of discarded events.
fn discarded_with_reserved_concurrency(concurrency: usize) -> u64 {
    let report = cloud::play(1, async |builder: Builder| {
        let mut settings = CloudSettings::default();
        settings.process_tasks.concurrency = Some(concurrency);
        let cloud = builder
            .settings(settings)
            .script(|_| (Duration::from_secs(20), Deed::Succeed))
            .start();
        let ids: Vec<String> = (0..200).map(|number| format!("task-{number}")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        cloud.create(&ids).await;
        cloud.run_for(MINUTE).await;
        while cloud.processors() > 0 {
            cloud.run_for(Duration::from_millis(1)).await;
        }
        cloud.wake();
        assert!(cloud.run_until_settled(10 * MINUTE).await);
        cloud.finish()
    });
    assert_eq!(report.violations, Vec::<String>::new());
    let faults = &report.census.faults;
    faults
        .get(&FaultKind::EventDiscarded)
        .copied()
        .unwrap_or_default()
}

#[test]
fn surplus_notification_is_discarded_only_with_a_reserved_concurrency_of_one() {
    assert_eq!(discarded_with_reserved_concurrency(1), 1);
    let deployed = CloudSettings::default().process_tasks.concurrency;
    assert_eq!(discarded_with_reserved_concurrency(deployed.unwrap()), 0);
}
