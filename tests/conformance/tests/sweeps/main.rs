//! Sweeps on tokio's paused clock, on both stores unless they read many tasks.
#![allow(clippy::unwrap_used)]

mod leases;
mod world;

use std::time::Duration;

use conformance::{NOW, claim, insert, new_task, pause, take};
use lifo_queue::control::{
    Author, GroupChange, GroupChanged, GroupPause, LearnedGroup, LearnedGroups,
};
use lifo_queue::depth::Depth;
use lifo_queue::notify::WakeReason;
use lifo_queue::store::Written;
use lifo_queue::sweep::SweepReport;
use lifo_queue::task::{GroupName, TaskId};
use lifo_queue::time::Clock;
use simulator::fault::Fault;
use uuid::Uuid;

use self::world::World;

conformance::on_both_stores! {
    sweep_wakes_only_if_a_task_is_due_and_no_processor_is_active,
    sweep_sends_no_wake_up_for_tasks_of_closed_groups_until_they_open,
    failed_index_read_fails_the_sweep_after_its_other_steps,
}

#[tokio::test(start_paused = true)]
async fn sweep_measures_pending_tasks_without_expired_ones() {
    let world = World::start();
    for n in 0..2_500 {
        let mut task = new_task(&format!("t{n}"), n);
        if n < 500 {
            task.expires_at = NOW.floor_seconds();
        }
        world.store.insert(&task).await.unwrap();
    }
    take(&*world.store, "t2000").await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let report = world.sweep().await;
    let exact = |count| Depth { count, exact: true };
    assert_eq!((report.pending, report.taken), (exact(1_999), exact(1)));
    assert_eq!(report.oldest_pending_ms, Some(2_500));
}

#[tokio::test(start_paused = true)]
async fn sweep_of_a_deep_queue_reports_a_lower_bound_and_the_oldest_task() {
    let world = World::start();
    for n in 0..12_100 {
        let mut task = new_task(&format!("t{n}"), n);
        if n < 1_100 {
            task.expires_at = NOW.floor_seconds();
        }
        world.store.insert(&task).await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(13)).await;
    let report = world.sweep().await;
    let capped = Depth {
        count: 10_000,
        exact: false,
    };
    assert_eq!((report.pending, report.complete), (capped, false));
    assert_eq!(report.pending.to_string(), "at least 10000");
    assert_eq!(report.oldest_pending_ms, Some(13_000 - 1_100));
}

async fn sweep_wakes_only_if_a_task_is_due_and_no_processor_is_active() {
    let world = World::start();
    let nothing = Depth {
        count: 0,
        exact: true,
    };
    let expected = SweepReport {
        pages: 2,
        complete: true,
        pending: nothing,
        taken: nothing,
        ..SweepReport::default()
    };
    assert_eq!(world.sweep().await, expected);
    insert(&*world.store, &["due"]).await;
    world
        .store
        .acquire(&claim("holder", NOW), NOW)
        .await
        .unwrap();
    let before = world.control().await;
    let report = world.sweep().await;
    assert_eq!((report.due, report.woke), (true, false));
    // No request is sent to an active processor.
    assert_eq!(world.control().await, before);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(world.sweep().await.woke);
    let until = world.clock.now().plus(Duration::from_secs(300));
    world.store.pause(&pause(until)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let report = world.sweep().await;
    assert_eq!((report.paused, report.woke), (true, false));
    tokio::time::sleep(Duration::from_secs(240)).await;
    assert!(world.sweep().await.woke, "the pause is over");
}

async fn sweep_sends_no_wake_up_for_tasks_of_closed_groups_until_they_open() {
    let world = World::start();
    insert(&*world.store, &["acme/1", "globex/1", "/1"]).await;
    let minute = Duration::from_secs(60);
    let pause = GroupPause {
        until: NOW.plus(2 * minute),
        reason: "their host is down".to_owned(),
        by: Author {
            name: "ana".to_owned(),
            at: NOW,
        },
    };
    let acme = GroupName::new("acme").unwrap();
    let paused = world
        .store
        .change_group(&acme, &GroupChange::Pause(Some(pause)), NOW)
        .await;
    assert_eq!(paused.unwrap(), GroupChanged::Done);
    let closed = |name: &str| LearnedGroup {
        name: name.to_owned(),
        next_start: Some(NOW.plus(minute)),
        ..LearnedGroup::default()
    };
    let learned = LearnedGroups {
        groups: vec![closed(""), closed("globex")],
        ..LearnedGroups::default()
    };
    let learned = world
        .store
        .save_groups(&learned, Uuid::from_u128(1), None)
        .await;
    assert_eq!(learned.unwrap(), Written::Done);
    // A queue without groups does not derive groups from ids.
    let without = world.sweep().await;
    assert!(without.due && without.woke, "{without:?}");
    let report = world.sweep_with_groups().await;
    assert_eq!((report.due, report.woke), (false, false), "{report:?}");
    assert_eq!(report.pending.count, 3);
    tokio::time::sleep(minute).await;
    let report = world.sweep_with_groups().await;
    assert_eq!((report.due, report.woke), (true, true), "{report:?}");
    let store = world.failing("groups", Fault::Throttled);
    assert!(world.sweep_of(store, true).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn sweep_wakes_if_it_cannot_read_all_pending_tasks() {
    let world = World::start();
    let later = NOW.plus(Duration::from_secs(3_000));
    // More tasks than a sweep counts. All are newer than the due task, but none of them is due.
    for n in 0..11_000 {
        let id = format!("later{n}");
        world.store.insert(&new_task(&id, n)).await.unwrap();
        let mut record = world.record(&id);
        record.not_before = Some(later);
        world.store.put(TaskId::from_stored(&id), record);
    }
    world.store.insert(&new_task("due", -1)).await.unwrap();
    let report = world.sweep().await;
    assert!(!report.due && !report.pending.exact, "{report:?}");
    assert!(report.woke, "{report:?}");
    assert_eq!(world.topics.process_tasks()[0].reason, WakeReason::Sweep);
}

async fn failed_index_read_fails_the_sweep_after_its_other_steps() {
    let world = World::start().with_stranded(1).await;
    let store = world.failing("taken_page", Fault::Throttled);
    let failed = world.sweep_on(store).await.unwrap_err();
    assert!(failed.report.woke && !failed.report.complete, "{failed:?}");
    assert_eq!(failed.report.pending.count, 1);
    let store = world.failing("pending_page", Fault::Throttled);
    let failed = world.sweep_on(store).await.unwrap_err();
    assert_eq!((failed.report.returned, failed.report.woke), (1, true));
}
