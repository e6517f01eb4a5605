//! A task that kills its process, and its neighbours (S4).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lifo_queue::runner::Outcome;
use lifo_queue::sweep::{SweepReport, Sweeper};
use lifo_queue::task::TaskStatus;
use lifo_queue::time::{Clock, Millis, TokioClock};
use tokio::sync::Notify;

use super::world::*;

pub(crate) async fn sweep(world: &World) -> SweepReport {
    let settings = simulator::deployed::sweep(&world.settings);
    let (store, clock) = (world.store.clone(), world.clock.clone());
    let sweeper = Sweeper::new(store, world.waker(), clock, settings);
    sweeper.sweep("sweep").await.unwrap()
}

/// Runs turns and sweeps until every task is settled. Each start of a task in `killers` ends its
/// process 50 ms later.
async fn live_with(killers: &'static [&'static str], max_attempts: u32) -> World {
    let bang = Arc::new(Notify::new());
    let fuse = bang.clone();
    let mut world = World::new(move |task| {
        if killers.contains(&task.task_id.as_str()) {
            // No permit is stored, so a second killer of one turn does not end the next turn.
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
        tokio::time::sleep(Duration::from_secs(60)).await;
        sweep(&world).await;
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

#[tokio::test(start_paused = true)]
async fn task_with_two_expired_leases_runs_alone() {
    let spans: Arc<Mutex<Vec<(String, Millis, Millis)>>> = Arc::default();
    let clock = TokioClock::starting_at(conformance::NOW);
    let record = spans.clone();
    let world = World::new(move |task| {
        let time = Duration::from_millis(100 + 37 * u64::from(task.attempt));
        let now = clock.now();
        let span = (task.task_id.to_string(), now, now.plus(time));
        record.lock().unwrap().push(span);
        (time, Outcome::Success)
    });
    let world = world.with_tasks(60).await;
    for id in ["t0020", "t0040", "t0041"] {
        world.suspect(id);
    }
    let summary = world.turn().await;
    assert_eq!(summary.succeeded, 60);
    let spans = spans.lock().unwrap();
    for (id, from, to) in spans.iter() {
        let beside = spans
            .iter()
            .filter(|(other, start, end)| other != id && start < to && from < end);
        let suspect = ["t0020", "t0040", "t0041"].contains(&id.as_str());
        assert_eq!(suspect, beside.count() == 0, "{id} from {from:?} to {to:?}");
    }
    assert!(world.record("t0020").alone && !world.record("t0021").alone);
}

#[test]
fn task_lease_covers_the_timeout_the_margin_and_the_clock_skew() {
    let lease = SETTINGS.task_timeout + SETTINGS.deadline_margin + SETTINGS.clock_skew;
    assert_eq!(SETTINGS.task_lease(), lease);
}
