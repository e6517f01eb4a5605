//! The values that a turn writes to the control item for operators.

use std::time::Duration;

use conformance::NOW;
use lifo_queue::runner::Outcome;

use super::world::*;

#[tokio::test(start_paused = true)]
async fn a_turn_reports_ended_tasks_run_time_and_the_last_response() {
    let failure = Outcome::Failure {
        reason: "HTTP 422 Unprocessable Entity: no such order".into(),
    };
    let world = World::of(5, move |task| match task.task_id.as_str() {
        "t0000" => (Duration::from_millis(900), failure.clone()),
        _ => (Duration::from_millis(300), Outcome::Success),
    })
    .await;
    world.turn().await;
    let observed = world.control().await.observed;
    assert_eq!(observed.ended.within(NOW), (4, 1));
    assert_eq!(observed.median_run_ms, Some(300));
    assert_eq!(observed.longest_run.map(|run| run.ms), Some(900));
    let limits = observed.limits.unwrap();
    assert_eq!(limits.concurrency, world.settings.slots);
    assert_eq!(limits.starts_per_1000_s, None);
    assert!(!observed.measures_overload, "no codel is set");
    let last = observed.last_response.clone().unwrap();
    assert_eq!(last.task, "t0000");
    assert!(last.text.starts_with("HTTP 422"), "{}", last.text);

    // The next turn continues the counts and keeps the last response.
    let world = world.with_tasks(7).await;
    world.turn().await;
    let next = world.control().await.observed;
    assert_eq!(next.ended.within(NOW), (11, 1));
    assert_eq!(next.last_response, observed.last_response);
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_reports_the_runs_so_far() {
    let world = World::of(2, |task| match task.task_id.as_str() {
        "t0001" => at_once(),
        _ => (25 * SECOND, Outcome::Success),
    })
    .await;
    let store = world.store.clone();
    let midway = async {
        tokio::time::sleep(20 * SECOND).await;
        store.control().await.unwrap()
    };
    let (_, control) = tokio::join!(world.turn(), midway);
    assert!(control.lease.is_some(), "the turn is under way");
    assert_eq!(control.observed.ended.within(NOW), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_busy_response_is_the_last_error_and_the_last_response() {
    let busy = Outcome::Busy {
        retry_after: Some(60 * SECOND),
        reason: "HTTP 429 Too Many Requests: slow down".into(),
    };
    let world = World::of(1, move |_| (Duration::ZERO, busy.clone())).await;
    world.turn().await;
    let text = "HTTP 429 Too Many Requests: slow down";
    assert_eq!(world.record("t0000").last_error.as_deref(), Some(text));
    let observed = world.control().await.observed;
    assert_eq!(observed.last_response.unwrap().text, text);
    assert_eq!(observed.median_run_ms, None, "no run ended a task");
}
