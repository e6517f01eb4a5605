//! S5.2 at the moment when an overload begins: index pages and tasks from before it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use conformance::{NOW, new_task};
use lifo_queue::process::{CodelSettings, MAX_PAGE_AGE, TurnSummary};
use lifo_queue::runner::Outcome;
use lifo_queue::time::{Clock, Millis, TokioClock};

use super::slots::{MS, turn};
use super::world::*;

/// For each start, its time and the task's age.
type Starts = Arc<Mutex<Vec<(Millis, Duration)>>>;

const HEARTBEAT: Duration = Duration::from_millis(10);

/// The start of each overload, and a time shortly before its end.
type Overloads = BTreeMap<Millis, Millis>;

/// A world with these tasks, as milliseconds after [`NOW`].
async fn world(
    slots: u16,
    run: Duration,
    codel: CodelSettings,
    tasks: impl Iterator<Item = i64>,
) -> (World, Starts) {
    let starts = Starts::default();
    let (clock, record) = (TokioClock::starting_at(NOW), starts.clone());
    let mut world = World::new(move |task| {
        let now = clock.now();
        let start = (now, now.since(task.task_created));
        record.lock().unwrap().push(start);
        (run, Outcome::Success)
    });
    world.settings.slots = slots;
    world.settings.codel = Some(codel);
    world.settings.heartbeat = HEARTBEAT;
    for (n, created) in tasks.enumerate() {
        let task = new_task(&format!("t{n:04}"), created);
        world.store.insert(&task).await.unwrap();
    }
    (world, starts)
}

/// Runs a turn whose store calls take this long, and reads its overloads from the control item.
async fn observe(world: &World, latency: fn(&str) -> Duration) -> (TurnSummary, Overloads) {
    let mut overloads = Overloads::new();
    let watch = async {
        loop {
            if let Some(since) = world.control().await.overloaded_since {
                // The item still contains an overload that ended since the last heartbeat.
                overloads.insert(since, world.clock.now().minus(2 * HEARTBEAT));
            }
            tokio::time::sleep(HEARTBEAT).await;
        }
    };
    let summary = tokio::select! {
        (summary, _) = turn(world, latency) => summary,
        () = watch => unreachable!("it never ends"),
    };
    (summary, overloads)
}

/// The starts of tasks that were too old, while the queue was overloaded. `requests` is the time of a
/// read and a take. A task that was taken ahead waits for up to 100 ms.
fn too_old(
    starts: &Starts,
    overloads: &Overloads,
    codel: CodelSettings,
    requests: Duration,
) -> Vec<(Millis, Duration)> {
    let oldest = codel.reach() + requests + 2 * MAX_PAGE_AGE;
    let is_overloaded = |at: &Millis| {
        let mut overloads = overloads.iter();
        overloads.any(|(since, seen)| (since..=seen).contains(&at))
    };
    let starts = starts.lock().unwrap();
    let starts = starts.iter().copied();
    starts
        .filter(|(at, age)| *age > oldest && is_overloaded(at))
        .collect()
}

const SLOW: CodelSettings = CodelSettings {
    target: Duration::from_secs(10),
    interval: Duration::from_secs(1),
};

#[tokio::test(start_paused = true)]
async fn old_tasks_of_the_page_with_which_an_overload_begins_do_not_start() {
    // The last new task begins the overload, and the other slot is free.
    let tasks = (-1_007..-1_000).chain([-60_000]);
    let (world, starts) = world(2, 400 * MS, SLOW, tasks).await;
    let (summary, overloads) = observe(&world, |_| Duration::ZERO).await;
    assert_eq!((summary.succeeded, overloads.len()), (8, 1));
    let old = too_old(&starts, &overloads, SLOW, Duration::ZERO);
    assert!(old.is_empty(), "{old:?} {overloads:?}");
}

#[tokio::test(start_paused = true)]
async fn old_tasks_of_a_page_that_arrives_after_an_overload_began_do_not_start() {
    let latency = |operation: &str| match operation {
        "pending_page" => 30 * MS,
        _ => Duration::ZERO,
    };
    // With one of these numbers of new tasks, a page is being read in advance at that moment.
    let mut overloaded = 0;
    for new in 20..60 {
        let tasks = (-1_000 - new..-1_000).chain(-60_040..-60_000);
        let (world, starts) = world(2, 60 * MS, SLOW, tasks).await;
        let (_, overloads) = observe(&world, latency).await;
        overloaded += overloads.len();
        let old = too_old(&starts, &overloads, SLOW, 30 * MS);
        assert!(old.is_empty(), "{new} new tasks: {old:?} {overloads:?}");
    }
    assert!(overloaded > 10, "{overloaded}");
}

/// A task that is taken ahead may wait for a slot while an overload begins. An old one restarts the
/// interval, so it has started or returned by then.
#[tokio::test(start_paused = true)]
async fn old_tasks_that_are_taken_ahead_do_not_start_in_an_overload() {
    let codel = CodelSettings {
        target: 100 * MS,
        interval: 200 * MS,
    };
    let (world, starts) = world(8, 20 * MS, codel, -62_000..-60_000).await;
    let arrivals = async {
        for wave in 0..3 {
            tokio::time::sleep(SECOND).await;
            for n in 0..500 {
                let at = world.clock.now().0 - NOW.0;
                let task = new_task(&format!("n{wave}-{n:03}"), at);
                world.store.insert(&task).await.unwrap();
                tokio::time::sleep(MS).await;
            }
        }
    };
    let ((summary, overloads), ()) = tokio::join!(observe(&world, |_| 5 * MS), arrivals);
    assert_eq!((summary.succeeded, overloads.len()), (3_500, 3));
    let old = too_old(&starts, &overloads, codel, 10 * MS);
    assert!(old.is_empty(), "{old:?} {overloads:?}");
}
