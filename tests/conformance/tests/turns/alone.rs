//! A task that must run alone, the tasks beside it, and newly arriving tasks (S4, S5).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use conformance::new_task;
use lifo_queue::process::Exit;
use lifo_queue::runner::Outcome;
use lifo_queue::task::{Task, TaskStatus};
use lifo_queue::time::{Clock, Millis, TokioClock};

use super::world::*;

conformance::on_both_stores! {
    task_with_two_expired_leases_runs_alone,
    suspect_runs_first_in_the_next_turn_if_this_one_has_no_time,
}

/// A run's task id, start time and end time.
type Span = (String, Millis, Millis);
type Spans = Arc<Mutex<Vec<Span>>>;

/// A world whose runs succeed after the time that `run` returns, and a record of all runs.
fn recorded(run: impl Fn(&Task) -> Duration + Send + Sync + 'static) -> (World, Spans) {
    let (clock, spans) = (TokioClock::starting_at(conformance::NOW), Spans::default());
    let record = spans.clone();
    let world = World::new(move |task| {
        let (now, run) = (clock.now(), run(task));
        let span = (task.task_id.to_string(), now, now.plus(run));
        record.lock().unwrap().push(span);
        (run, Outcome::Success)
    });
    (world, spans)
}

/// Whether another task ran during this run.
fn crowded(spans: &[Span], (id, from, until): &Span) -> bool {
    let mut others = spans.iter().filter(|(other, ..)| other != id);
    others.any(|(_, start, end)| start < until && from < end)
}

/// A world in which a run takes `run`, and a record of all runs. Two leases of its only task have expired.
async fn with_suspect(run: Duration) -> (World, Spans) {
    let (world, spans) = recorded(move |_| run);
    let world = world.with_tasks(1).await;
    world.suspect("t0000");
    (world, spans)
}

/// The start and end of the suspect's run. No other task may have run during it.
fn suspects_run(spans: &Mutex<Vec<Span>>) -> (Millis, Millis) {
    let spans = spans.lock().unwrap();
    let run = spans.iter().find(|(id, ..)| id == "t0000").unwrap();
    assert!(!crowded(&spans, run), "{spans:?}");
    (run.1, run.2)
}

/// Runs one turn after another while `count` tasks arrive: one immediately, then one per `every`.
async fn under_load(world: &World, every: Duration, count: i64) {
    let arrive = async {
        for n in 0..count {
            let age = i64::try_from(world.clock.now().since(conformance::NOW).as_millis());
            let task = new_task(&format!("a{n:03}"), age.unwrap());
            world.store.insert(&task).await.unwrap();
            tokio::time::sleep(every).await;
        }
    };
    let work = async {
        while world.count(TaskStatus::Success) <= usize::try_from(count).unwrap() {
            world.turn().await;
        }
    };
    tokio::join!(arrive, work);
}

/// Each task's arrival time, and the time from its arrival to its start.
fn waits(spans: &[Span], every: Duration) -> Vec<(Millis, Duration)> {
    let wait = |(id, from, _): &Span| {
        let number: u32 = id.strip_prefix('a')?.parse().ok()?;
        let arrived = conformance::NOW.plus(every * number);
        Some((arrived, from.since(arrived)))
    };
    spans.iter().filter_map(wait).collect()
}

async fn task_with_two_expired_leases_runs_alone() {
    let (world, spans) = recorded(|task| Duration::from_millis(100 + 37 * u64::from(task.attempt)));
    let world = world.with_tasks(60).await;
    let suspects = ["t0020", "t0040", "t0041"];
    for id in suspects {
        world.suspect(id);
    }
    let summary = world.turn().await;
    assert_eq!(summary.succeeded, 60);
    let spans = spans.lock().unwrap();
    for run in spans.iter() {
        let suspect = suspects.contains(&run.0.as_str());
        assert_eq!(suspect, !crowded(&spans, run), "{run:?}");
    }
    assert!(world.record("t0020").alone && !world.record("t0021").alone);
}

#[tokio::test(start_paused = true)]
async fn suspect_delays_new_tasks_only_during_its_gap_and_runs_in_one_turn() {
    let (run, every) = (25 * SECOND, 7 * SECOND);
    let (world, spans) = with_suspect(run).await;
    under_load(&world, every, 40).await;
    let (from, until) = suspects_run(&spans);
    // The gap starts at 50 s: 110 s minus two task timeouts.
    let gap = conformance::NOW.plus(50 * SECOND);
    assert!(from.since(gap) <= SETTINGS.task_timeout, "{from:?}");
    for (arrived, wait) in waits(&spans.lock().unwrap(), every) {
        // A task starts immediately while slots are free. A task that arrives in the gap waits
        // until the gap and the run in it have ended.
        let most = match arrived {
            arrived if arrived < gap => Duration::from_millis(300),
            arrived if arrived < until => 2 * SETTINGS.task_timeout + SECOND,
            _ => SETTINGS.task_timeout + SECOND,
        };
        assert!(wait <= most, "arrived {arrived:?}, waited {wait:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn suspect_runs_within_a_turn_under_any_load() {
    for (run, every) in [
        (SECOND, SECOND / 5),
        (2 * SECOND, SECOND / 2),
        (9 * SECOND, SECOND),
    ] {
        let (world, spans) = with_suspect(run).await;
        let count = i64::try_from(150 * SECOND.as_millis() / every.as_millis()).unwrap();
        under_load(&world, every, count).await;
        let (from, _) = suspects_run(&spans);
        let bound = SETTINGS.turn + SETTINGS.task_timeout;
        assert!(from.since(conformance::NOW) <= bound, "{from:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn suspect_runs_within_a_turn_behind_pages_of_tasks_that_may_not_start() {
    for resting in [200, 3_500] {
        let (world, spans) = with_suspect(SECOND).await;
        world.put_resting(resting);
        under_load(&world, SECOND / 5, 600).await;
        let (from, _) = suspects_run(&spans);
        let bound = SETTINGS.turn + SETTINGS.task_timeout;
        assert!(from.since(conformance::NOW) <= bound, "{from:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn suspect_behind_pages_runs_in_a_turn_with_an_early_gap() {
    let (mut world, spans) = with_suspect(SECOND).await;
    world.settings.task_timeout = 50 * SECOND;
    world.put_resting(3_500);
    world.turn().await;
    assert_eq!(spans.lock().unwrap().len(), 1);
}

async fn suspect_runs_first_in_the_next_turn_if_this_one_has_no_time() {
    let (run, every) = (50 * SECOND, 11 * SECOND);
    let (mut world, spans) = with_suspect(run).await;
    // With this task timeout, the minimum function timeout is exactly the world's 120 s: the
    // turn (60 s), the task timeout and the margin (10 s). A task timeout of 60 s would exceed it.
    world.settings.task_timeout = 50 * SECOND;
    // The turn reads a newer task first.
    let newer = new_task("newer", 0);
    world.store.insert(&newer).await.unwrap();
    under_load(&world, every, 20).await;
    let (from, _) = suspects_run(&spans);
    let bound = world.settings.turn + world.settings.task_timeout;
    assert!(from.since(conformance::NOW) <= bound, "{from:?}");
}

#[tokio::test(start_paused = true)]
async fn task_created_at_the_end_of_a_turn_starts_beside_a_long_run() {
    let world = World::new(|task| match task.task_id.as_str() {
        "t0009" => (Duration::from_millis(19_900), Outcome::Success),
        _ => (SECOND / 10, Outcome::Success),
    });
    let arrive = async {
        // A long run starts just before the regular end of the turn.
        tokio::time::sleep(Duration::from_millis(59_700)).await;
        world.add("t0009", 59_700).await;
        let mut waited = Vec::new();
        for n in 0..20 {
            tokio::time::sleep(Duration::from_millis(700)).await;
            let id = format!("late{n}");
            world.add(&id, 60_300 + n * 700).await;
            let added = world.clock.now();
            while world.record(&id).status != TaskStatus::Success {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            waited.push(world.clock.now().since(added));
        }
        waited
    };
    let stay = async {
        // Tasks that arrive every second keep the turn from ending as empty.
        for n in 0..60 {
            let task = new_task(&format!("k{n}"), n * 1_000);
            world.store.insert(&task).await.unwrap();
            tokio::time::sleep(SECOND).await;
        }
    };
    let ((), waited, summary) = tokio::join!(stay, arrive, world.turn());
    assert_eq!(summary.exit, Exit::TimeUp);
    assert!(waited.iter().all(|waited| *waited < SECOND), "{waited:?}");
    assert_eq!(world.topics.trigger().len(), 1, "a tail call follows");
    let over = world.clock.now().since(conformance::NOW);
    assert!(
        over < Duration::from_secs(81),
        "{over:?}: the turn ended with the long run"
    );
}
