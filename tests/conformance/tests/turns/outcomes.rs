//! The outcomes of a task and its neighbours.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use conformance::NOW;
use lifo_queue::runner::Outcome;
use lifo_queue::task::{Task, TaskStatus, Ttl};
use lifo_queue::time::{Clock, Millis, TokioClock};
use simulator::fault::Fault;

use super::world::*;

conformance::on_both_stores! {
    a_panic_and_a_time_out_cost_one_task_one_attempt,
    a_poison_task_ends_as_failure_after_its_attempts,
    a_failure_is_final,
    a_busy_downstream_slows_the_processor_and_costs_no_attempts,
    tasks_running_at_the_deadline_are_returned,
    lost_acknowledgements_cause_no_second_run,
    failed_settlement_is_counted_as_a_store_error,
}

async fn a_panic_and_a_time_out_cost_one_task_one_attempt() {
    let world = World::of(4, |task| match task.task_id.as_str() {
        "t0002" => panic!("boom"),
        "t0001" => (99 * SECOND, Outcome::Success),
        _ => at_once(),
    })
    .await;
    let turn = world.turn().await;
    assert_eq!((turn.succeeded, world.count(TaskStatus::Success)), (2, 2));
    for (id, error) in [("t0002", "boom"), ("t0001", "task timeout")] {
        let record = world.record(id);
        assert!(record.last_error.unwrap().contains(error), "{id}");
        assert!(record.attempts >= 1);
    }
}

async fn a_poison_task_ends_as_failure_after_its_attempts() {
    let mut world = World::new(|task| match task.task_id.as_str() {
        "t0000" => (Duration::ZERO, retry()),
        _ => at_once(),
    });
    world.settings.backoff.max = 2 * SECOND;
    let world = world.with_tasks(5).await;
    let summary = world.turn().await;
    assert_eq!(
        (summary.succeeded, summary.failed, summary.retried),
        (4, 1, 4)
    );
    let record = world.record("t0000");
    assert_eq!((record.status, record.attempts), (TaskStatus::Failure, 5));
    assert!(record.last_error.unwrap().contains("HTTP 500"));
    assert!(matches!(record.ttl, Ttl::Seconds(at) if at > NOW.floor_seconds()));
}

async fn a_failure_is_final() {
    let reason = "HTTP 400".to_owned();
    let failure = Outcome::Failure { reason };
    let world = World::of(1, move |_| (Duration::ZERO, failure.clone())).await;
    let summary = world.turn().await;
    assert_eq!((summary.failed, summary.retried), (1, 0));
    assert_eq!(world.record("t0000").last_error.unwrap(), "HTTP 400");
}

async fn a_busy_downstream_slows_the_processor_and_costs_no_attempts() {
    let running = Arc::new(Mutex::new(HashMap::<String, Millis>::new()));
    let clock = TokioClock::starting_at(NOW);
    let capacity = move |task: &Task| {
        let mut running = running.lock().unwrap();
        let now = clock.now();
        running.retain(|_, until| *until > now);
        if running.len() >= 3 {
            return (Duration::ZERO, BUSY);
        }
        let run = Duration::from_millis(900);
        running.insert(task.task_id.to_string(), now.plus(run));
        (run, Outcome::Success)
    };
    let world = World::breaking(60, capacity).await;
    let summary = world.turn().await;
    assert_eq!(world.count(TaskStatus::Failure), 0, "{summary:?}");
    assert!(summary.succeeded >= 40, "{summary:?}");
    // The published sample takes each task 2.8 times.
    assert!(summary.taken <= 2 * summary.succeeded, "{summary:?}");
    assert!(world.most_attempts() <= 1);
}

async fn tasks_running_at_the_deadline_are_returned() {
    // The deadline is earlier than the settings guarantee, as in a local runtime.
    let mut world = World::new(|_| (500 * SECOND, Outcome::Success));
    world.settings.task_timeout = 1_000 * SECOND;
    world.settings.deadline_margin = Duration::ZERO;
    world.settings.turn = 5 * SECOND;
    let world = world.with_tasks(3).await;
    let store = world.store.clone();
    let summary = world.turn_until(store, None).await.unwrap();
    assert_eq!(
        summary.succeeded, 3,
        "without a deadline every run is awaited: {summary:?}"
    );

    let mut world = World::new(|_| (500 * SECOND, Outcome::Success));
    world.settings.task_timeout = 80 * SECOND;
    let world = world.with_tasks(3).await;
    let (store, deadline) = (world.store.clone(), NOW.plus(91 * SECOND));
    let summary = world.turn_until(store, Some(deadline)).await.unwrap();
    assert_eq!((summary.taken, summary.retried), (3, 3), "{summary:?}");
    assert_eq!(world.count(TaskStatus::Pending), 3);
    assert!(world.clock.now() <= NOW.plus(81 * SECOND));
}

async fn lost_acknowledgements_cause_no_second_run() {
    let world = World::of(30, |_| at_once()).await;
    // A take is tried up to five times, and a settlement until the lease ends. With four lost
    // acknowledgements in total, no take fails permanently.
    let flaky = world.faulty(|operation, before| match (operation, before % 3) {
        ("take", 2) if before < 12 => Some(Fault::LostAck),
        ("settle", 2) => Some(Fault::LostAck),
        _ => None,
    });
    let summary = world.turn_on(flaky).await.unwrap();
    assert_eq!(
        (summary.succeeded, summary.lost_races, summary.store_errors),
        (30, 0, 0)
    );
    assert_eq!(world.started().len(), 30, "every task ran once");
}

async fn failed_settlement_is_counted_as_a_store_error() {
    let world = World::of(1, |_| at_once()).await;
    let deaf = world.failing("settle", Fault::LostRequest);
    let summary = world.turn_on(deaf).await.unwrap();
    assert_eq!(
        (summary.succeeded, summary.store_errors),
        (0, 1),
        "{summary:?}"
    );
}
