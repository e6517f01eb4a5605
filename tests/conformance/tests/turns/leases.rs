//! Leases while DynamoDB throttles or does not respond, and the expired-lease mark.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use conformance::NOW;
use lifo_queue::process::Exit;
use lifo_queue::runner::Outcome;
use lifo_queue::store::QueueStore;
use lifo_queue::task::TaskStatus;
use lifo_queue::time::{Clock, Millis, TokioClock};
use simulator::fault::Fault;

use super::world::*;

conformance::on_both_stores! {
    a_settlement_is_retried_while_the_lease_lasts,
    return_is_retried_until_the_lease_expires,
    settlement_retries_end_before_the_deadline_of_the_turn,
    task_whose_lease_is_too_short_is_returned_unstarted,
    suspect_runs_alone_until_a_run_settles_it,
    returned_suspect_stays_a_suspect,
    retry_after_of_zero_waits_and_does_not_use_up_the_busy_returns,
    a_retry_after_is_honoured_beyond_the_longest_backoff,
}

fn throttled(world: &World, operation: &'static str, until: Millis) -> Arc<dyn QueueStore> {
    let clock = world.clock.clone();
    world.faulty(move |step, _| {
        (step == operation && clock.now() < until).then_some(Fault::Throttled)
    })
}

async fn a_settlement_is_retried_while_the_lease_lasts() {
    let world = World::of(1, |_| at_once()).await;
    let store = throttled(&world, "settle", NOW.plus(35 * SECOND));
    let summary = world.turn_on(store).await.unwrap();
    assert_eq!((summary.succeeded, summary.store_errors), (1, 0));
    assert_eq!(world.started().len(), 1);
}

async fn return_is_retried_until_the_lease_expires() {
    let world = World::of(1, |task| match task.attempt {
        1 => (Duration::ZERO, retry()),
        _ => at_once(),
    })
    .await;
    let store = throttled(&world, "return_task", NOW.plus(35 * SECOND));
    let summary = world.turn_on(store).await.unwrap();
    assert_eq!(
        (summary.retried, summary.succeeded, summary.store_errors),
        (1, 1, 0)
    );
}

async fn settlement_retries_end_before_the_deadline_of_the_turn() {
    let mut world = World::new(|_| (15 * SECOND, Outcome::Success));
    world.settings.task_timeout = 20 * SECOND;
    let world = world.with_tasks(1).await;
    let store = world.failing("settle", Fault::Throttled);
    // The deadline is before the end of the lease.
    let deadline = NOW.plus(32 * SECOND);
    let summary = world.turn_until(store, Some(deadline)).await.unwrap();
    assert_eq!((summary.exit, summary.tail_call), (Exit::TimeUp, true));
    assert_eq!(summary.store_errors, 1);
    let margin = deadline.since(world.clock.now());
    assert!(margin >= SETTINGS.deadline_margin / 4, "{margin:?} left");
    let retried = world.clock.now().since(NOW);
    assert!(retried >= 26 * SECOND, "stopped after {retried:?}");
}

async fn task_whose_lease_is_too_short_is_returned_unstarted() {
    let mut world = World::new(|_| at_once());
    // The retries of a take last at least 0.75 s.
    world.settings.deadline_margin = Duration::from_millis(500);
    world.settings.clock_skew = Duration::ZERO;
    let world = world.with_tasks(1).await;
    let store = world.faulty(|step, before| match (step, before) {
        ("take", 0..4) => Some(Fault::LostAck),
        _ => None,
    });
    let summary = world.turn_on(store).await.unwrap();
    assert_eq!(
        (summary.taken, summary.cut_off, summary.succeeded),
        (1, 1, 1),
        "{summary:?}"
    );
    let record = world.record("t0000");
    assert_eq!((record.attempts, record.total_attempts), (1, 1));
}

async fn suspect_runs_alone_until_a_run_settles_it() {
    let running = Arc::<Mutex<Vec<(String, Millis)>>>::default();
    let crowded = Arc::<Mutex<BTreeSet<String>>>::default();
    let (clock, met) = (TokioClock::starting_at(NOW), crowded.clone());
    let world = World::of(200, move |task| {
        let now = clock.now();
        let mut running = running.lock().unwrap();
        running.retain(|(_, until)| *until > now);
        let id = task.task_id.to_string();
        running.push((id, now.plus(Duration::from_millis(300))));
        if running.len() > 1 {
            let ids = running.iter().map(|(id, _)| id.clone());
            met.lock().unwrap().extend(ids);
        }
        let outcome = match (task.task_id.as_str(), task.total_attempts) {
            ("t0020", 3) => BUSY,
            ("t0020", 4) => retry(),
            _ => Outcome::Success,
        };
        (Duration::from_millis(300), outcome)
    })
    .await;
    world.suspect("t0020");
    for _ in 0..3 {
        world.turn().await;
    }
    assert_eq!(world.count(TaskStatus::Success), 200);
    assert_eq!(world.record("t0020").total_attempts, 5);
    let crowded = crowded.lock().unwrap();
    assert!(
        crowded.len() > 100 && !crowded.contains("t0020"),
        "{crowded:?}"
    );
}

async fn returned_suspect_stays_a_suspect() {
    for outcome in [BUSY, retry()] {
        let mut world = World::new(move |_| (Duration::ZERO, outcome.clone()));
        world.settings.max_attempts = 100;
        let world = world.with_tasks(1).await;
        world.suspect("t0000");
        world.turn().await;
        let task = world.record("t0000");
        let state = (task.status, task.lease_expired);
        assert_eq!(state, (TaskStatus::Pending, true), "{task:?}");
    }
}

async fn retry_after_of_zero_waits_and_does_not_use_up_the_busy_returns() {
    let last_run = Arc::new(Mutex::new(NOW));
    let (clock, run) = (TokioClock::starting_at(NOW), last_run.clone());
    let world = World::of(1, move |_| {
        *run.lock().unwrap() = clock.now();
        (Duration::ZERO, busy_for(Duration::ZERO))
    })
    .await;
    let summary = world.turn().await;
    assert_eq!(world.count(TaskStatus::Failure), 0, "{summary:?}");
    assert!(summary.busy < SETTINGS.max_busy_returns, "{summary:?}");
    let wait = world.record("t0000").not_before.unwrap();
    let wait = wait.since(*last_run.lock().unwrap());
    assert!(wait >= Duration::from_millis(200), "{wait:?}");
}

async fn a_retry_after_is_honoured_beyond_the_longest_backoff() {
    for (asked, honoured) in [(600, 600), (86_400, 900)] {
        let mut world = World::new(move |_| (Duration::ZERO, busy_for(asked * SECOND)));
        world.settings.backoff.max = 10 * SECOND;
        let world = world.with_tasks(1).await;
        world.turn().await;
        let waits = world.record("t0000").not_before.unwrap().since(NOW);
        let expected = Duration::from_secs(honoured);
        assert!(waits >= expected && waits < expected * 2, "{waits:?}");
    }
}
