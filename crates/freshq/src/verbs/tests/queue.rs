//! Tests of status, pause, resume, wake and breaker.

use lifo_queue::control::Claim;
use lifo_queue::notify::WakeReason;
use lifo_queue::operate::OperateError;
use lifo_queue::store::ControlStore;
use serde_json::json;
use uuid::Uuid;

use super::*;

async fn hold(world: &World, seconds: u64) {
    let now = world.clock.now();
    let claim = Claim {
        owner: Uuid::from_u128(7),
        message_id: "message-1".to_owned(),
        until: now.plus(Duration::from_secs(seconds)),
        rate_full_at: None,
    };
    world.store.acquire(&claim, now).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn pause_can_be_extended_but_not_shortened() {
    let mut world = World::start();
    let half = pause(HOUR / 2);
    let line = "paused until 2027-01-15T08:30:00.000Z, 30m left: maintenance (by user/ana at 2027-01-15T08:00:00.000Z)";
    world.done(&half, line).await;
    let control = world.store.control().await.unwrap();
    assert!(control.is_paused(NOW.plus(HOUR / 3)));
    // Run the same pause again, as if the client retried a pause whose response was lost. The store
    // rejects it, but the stored pause is the requested one.
    world.done(&half, line).await;
    let line = "paused until 2027-01-15T09:00:00.000Z, 1h left: maintenance (by user/ana at 2027-01-15T08:00:00.000Z)";
    world.done(&pause(HOUR), line).await;
    let line = "not changed: a longer pause exists, until 2027-01-15T09:00:00.000Z, 1h left: maintenance (by user/ana at 2027-01-15T08:00:00.000Z)";
    world.expect(&half, line, Exit::NotAll).await;
    let report = world.run(&half).await.unwrap().json;
    assert_eq!(
        report,
        json!({ "paused": false, "until": "2027-01-15T09:00:00.000Z", "reason": "maintenance" })
    );
}

#[tokio::test(start_paused = true)]
async fn resume_ends_a_pause_and_notifies_a_processor() {
    let mut world = World::start();
    world.run(&pause(HOUR)).await.unwrap();
    let line = "resumed: a processor was notified";
    world.done(&Resume::default(), line).await;
    assert_eq!(world.store.control().await.unwrap().paused_until, None);
    let published = world.topics.process_tasks();
    assert_eq!(published.len(), 1);
    assert_eq!(published[0].reason, WakeReason::Operator);
    let again = world.run(&Wake {}).await.unwrap();
    assert_eq!(again.json, json!({ "wake": "alreadyNotified" }));
}

#[tokio::test(start_paused = true)]
async fn resume_without_notification_ends_the_pause_and_reports_an_error() {
    let mut world = World::start();
    world.run(&pause(HOUR)).await.unwrap();
    world.topics.set_broken(true);
    let failure = world.run(&Resume::default()).await.unwrap_err();
    assert!(
        matches!(failure, Failure::Operate(OperateError::Wake(_))),
        "{failure:?}"
    );
    let line = failure.line();
    begins(&line, "the command is done, but no processor was woken");
    has(&line, "the topic is broken");
    assert_eq!(world.store.control().await.unwrap().paused_until, None);
}

#[tokio::test(start_paused = true)]
async fn wake_reports_its_outcome() {
    let mut world = World::start();
    world.done(&Wake {}, "a processor was notified").await;
    let line = "an earlier notification is on its way to a processor; if no task starts within 10 s, freshq doctor names a setting that prevents it; then run freshq wake again";
    world.done(&Wake {}, line).await;
    hold(&world, 20).await;
    let line = "an active processor checks the queue again before it ends";
    world.done(&Wake {}, line).await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    world.run(&pause(HOUR)).await.unwrap();
    let line = "no processor was woken, because the queue is paused";
    world.expect(&Wake {}, line, Exit::NotAll).await;
    assert_eq!(world.topics.process_tasks().len(), 1);
    assert_eq!(world.store.control().await.unwrap().requested, 4);
}

#[tokio::test(start_paused = true)]
async fn breaker_stays_open_until_its_end_time_or_until_an_operator_closes_it() {
    let mut world = World::start();
    let open = |time, reason: &str| Open {
        time,
        reason: reason.to_owned(),
    };
    let line = "the circuit breaker is held open until 2027-01-15T09:00:00.000Z, 1h left: release";
    world.done(&open(HOUR, "release"), line).await;
    let status = world.run(&Status {}).await.unwrap().json;
    let held = json!({
        "since": null, "failedProbes": null,
        "heldUntil": "2027-01-15T09:00:00.000Z", "reason": "release",
    });
    assert_eq!(status["breaker"], held);
    // A later command replaces the earlier one, even with a shorter time.
    let line = "the circuit breaker is held open until 2027-01-15T08:30:00.000Z, 30m left: other";
    world.done(&open(HOUR / 2, "other"), line).await;
    let line = "the circuit breaker is closed; a processor was notified";
    world.done(&Close {}, line).await;
    assert_eq!(world.topics.process_tasks().len(), 1);
    let status = world.run(&Status {}).await.unwrap().json;
    assert_eq!(status["breaker"], json!(null));
}

#[tokio::test(start_paused = true)]
async fn closing_the_breaker_of_a_paused_queue_succeeds_and_reports_the_pause() {
    let mut world = World::start();
    world.run(&pause(HOUR)).await.unwrap();
    let report = world.run(&Close {}).await.unwrap();
    let text = "the circuit breaker is closed; the queue is still paused, and freshq resume ends the pause";
    assert_eq!((report.text.as_str(), report.exit), (text, Exit::Done));
    assert_eq!(report.json, json!({ "closed": true, "wake": "paused" }));
}

#[tokio::test(start_paused = true)]
async fn long_pause_requires_confirmation_that_shows_pending_tasks() {
    let mut world = World::start();
    world.put("a", TaskStatus::Pending, 60);
    let long = pause(2 * HOUR);
    let failure = world.run(&long).await.unwrap_err();
    has(&failure.line(), "; use --yes");
    let asked = &world.prompt.asked[0];
    has(asked, "pause of 2h");
    has(asked, "1 are pending");
    world.prompt.answer = Some("no".to_owned());
    world.expect(&long, "not paused", Exit::Declined).await;
    assert_eq!(world.store.control().await.unwrap().paused_until, None);
    let yes = Pause { yes: true, ..long };
    let line = "paused until 2027-01-15T10:00:00.000Z, 2h left: maintenance (by user/ana at 2027-01-15T08:00:00.000Z)";
    world.done(&yes, line).await;
    let ended = world.run(&Resume::default()).await.unwrap().text;
    has(&ended, "previous pause: until 2027-01-15T10");
}

#[tokio::test(start_paused = true)]
async fn status_names_tasks_that_may_have_crashed_their_process() {
    let mut world = World::start();
    world.put("fine", TaskStatus::Pending, 60);
    world.edit("fine", |record| {
        record.attempts = 0;
    });
    world.put("marked", TaskStatus::Pending, 50);
    world.edit("marked", |record| {
        record.lease_expired = true;
    });
    world.put("runs", TaskStatus::Taken, 40);
    world.edit("runs", |record| {
        record.lease_token = Some(lifo_queue::task::LeaseToken(Uuid::from_u128(9)));
        record.lease_until = Some(NOW.plus(HOUR));
    });
    let suspects = |report: &Report| -> Vec<String> {
        let suspects = report.json["suspects"].as_array().unwrap().iter();
        suspects
            .map(|there| there["taskId"].as_str().unwrap().to_owned())
            .collect()
    };
    // The lease of the running task has not expired, but no processor is active.
    let report = world.run(&Status {}).await.unwrap();
    assert_eq!(suspects(&report), ["runs", "marked"]);
    hold(&world, 20).await;
    let report = world.run(&Status {}).await.unwrap();
    assert_eq!(suspects(&report), ["marked"]);
}
