//! Tasks far from the head of the index: tasks in backoff, expired tasks, and redriven tasks.

use std::time::Duration;

use conformance::{NOW, new_task};
use lifo_queue::depth;
use lifo_queue::process::{DEEP_PAGE, DEEP_PAGE_PAUSE, Exit};
use lifo_queue::store::Redriven;
use lifo_queue::task::{TaskId, TaskStatus, Ttl};
use lifo_queue::time::Clock;

use super::world::*;

/// Inserts `count` tasks that are newer than [`NOW`] and due only after 3,000 s.
async fn backoff(world: &World, count: i64) {
    for n in 0..count {
        let id = format!("later{n}");
        world.add(&id, n).await;
        let mut record = world.record(&id);
        record.not_before = Some(NOW.plus(3_000 * SECOND));
        world.store.put(TaskId::from_stored(id), record);
    }
}

#[tokio::test(start_paused = true)]
async fn tasks_in_backoff_delay_an_older_one_by_at_most_the_stated_time() {
    let count = 4_500;
    let world = World::new(|_| at_once());
    backoff(&world, count).await;
    world.add("old", -1).await;
    let began = world.clock.now();
    let turn = world.turn();
    let seen = async {
        while world.record("old").status != TaskStatus::Success {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        world.clock.now().since(began)
    };
    let (summary, seen) = tokio::join!(turn, seen);
    let pages = u32::try_from(count / i64::from(DEEP_PAGE)).unwrap() + 1;
    let stated = DEEP_PAGE_PAUSE * pages;
    assert!(seen <= stated, "{seen:?}, stated {stated:?}");
    assert_eq!(summary.exit, Exit::Empty);
    // At most ten further pages per second, each with a read of the head, plus the polls of the
    // empty queue.
    let most = summary.duration_ms / 100 * 2 + 20;
    assert!(u64::from(summary.queries) <= most, "{summary:?}");
}

#[tokio::test(start_paused = true)]
async fn depth_is_exact_up_to_the_count_limit() {
    let world = World::new(|_| at_once());
    let depth = async || {
        let count = depth::measure(&*world.store, TaskStatus::Pending, None, NOW);
        count.await.unwrap()
    };
    let most = i64::from(depth::MAX_COUNT);
    for n in 0..most {
        let task = new_task(&format!("t{n}"), n);
        world.store.insert(&task).await.unwrap();
    }
    // This task is older than all others and expired. It is read but not counted.
    let mut expired = new_task("expired", -1);
    expired.expires_at = NOW.floor_seconds();
    world.store.insert(&expired).await.unwrap();
    let counted = depth().await;
    assert_eq!((counted.count, counted.exact), (depth::MAX_COUNT, true));

    world.add("one more", most).await;
    let counted = depth().await;
    assert_eq!((counted.count, counted.exact), (depth::MAX_COUNT, false));
}

#[tokio::test(start_paused = true)]
async fn expiry_bound_avoids_reads_of_an_expired_backlog() {
    let mut queries = Vec::new();
    for bound in [None, Some(600 * SECOND)] {
        let mut world = World::new(|_| at_once());
        world.settings.expiry_bound = bound;
        for n in 0..20_000 {
            let mut task = new_task(&format!("expired{n}"), -700_000 - n);
            task.expires_at = NOW.floor_seconds();
            world.store.insert(&task).await.unwrap();
        }
        world.add("fresh", -599_000).await;
        let summary = world.turn().await;
        assert_eq!((summary.exit, summary.succeeded), (Exit::Empty, 1));
        queries.push(summary.queries);
    }
    let [all, bounded] = queries[..] else {
        panic!()
    };
    assert!(all > 40 && bounded <= 12, "{all} and {bounded} pages");
}

#[tokio::test(start_paused = true)]
async fn bound_that_passes_the_current_page_ends_the_pass_not_the_turn() {
    let mut world = World::new(|_| at_once());
    world.settings.expiry_bound = Some(600 * SECOND);
    // The bound is three seconds before the expiry. It passes these tasks within 50 ms, between two
    // reads of further pages.
    for n in 0..1_500 {
        let id = format!("later{n}");
        let task = new_task(&id, -602_950 - n / 100);
        world.store.insert(&task).await.unwrap();
        let mut record = world.record(&id);
        record.not_before = Some(NOW.plus(3_000 * SECOND));
        world.store.put(task.id, record);
    }
    let summary = world.turn().await;
    assert_eq!((summary.exit, summary.store_errors), (Exit::Empty, 0));
}

#[tokio::test(start_paused = true)]
async fn processor_about_to_end_finds_a_redriven_task_below_the_bound() {
    let mut world = World::new(|_| at_once());
    world.settings.expiry_bound = Some(600 * SECOND);
    let mut old = new_task("old", -10_000_000);
    old.expires_at = NOW.floor_seconds();
    world.store.insert(&old).await.unwrap();
    let mut record = world.record("old");
    record.status = TaskStatus::Failure;
    record.ttl = Ttl::Seconds(NOW.floor_seconds().plus(9_000 * SECOND));
    world.store.put(TaskId::from_stored("old"), record);
    let redrive = async {
        // Just before the wait on an empty queue ends, and before the next heartbeat.
        tokio::time::sleep(Duration::from_millis(1_950)).await;
        let id = TaskId::from_stored("old");
        let redriven = world.operator().redrive(&id, 60 * SECOND).await;
        assert_eq!(redriven.unwrap(), Redriven::Done);
    };
    let (summary, ()) = tokio::join!(world.turn(), redrive);
    assert_eq!((summary.exit, summary.succeeded), (Exit::Empty, 1));
    assert_eq!(world.record("old").status, TaskStatus::Success);
    assert!(world.topics.process_tasks().is_empty(), "it was awake");
}
