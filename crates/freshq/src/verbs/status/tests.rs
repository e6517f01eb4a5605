use std::num::NonZeroU16;

use lifo_queue::control::{
    Author, BreakerByHand, BreakerHold, Cause, Control, Health, OpenBreaker, OperatorLimit,
    OperatorLimits, OperatorRate, RedrivenTasks,
};
use lifo_queue::depth::Depth;
use lifo_queue::observed::{LastResponse, LimitSettings, LongestRun, Observed};
use lifo_queue::operate::FoundTask;
use lifo_queue::schema;
use lifo_queue::task::{TaskId, TaskStatus};
use lifo_queue::time::EpochSeconds;
use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
use crate::sample::Created;

const NOW: Millis = Millis(1_800_000_000_000);

fn at(seconds: i64) -> Millis {
    Millis(NOW.0 + seconds * 1_000)
}

fn report(control: Control) -> StatusReport {
    let exactly = |count| Depth { count, exact: true };
    StatusReport {
        queue: "LifoQueue-dev".to_owned(),
        account: Account::example(),
        tasks: Tasks {
            created: Created {
                count: 90,
                ..Created::default()
            },
            ..Tasks::default()
        },
        groups: Unusual::default(),
        status: operate::Status {
            now: NOW,
            control,
            pending: Depth {
                count: 10_000,
                exact: false,
            },
            oldest_pending: Some(at(-3_723)),
            taken: exactly(10),
            failed: exactly(3),
            keys: Keys {
                tasks: 12,
                superseded: 37,
                exact: false,
            },
            suspects: vec![Suspect {
                task: TaskId::from_stored("order-1"),
                status: TaskStatus::Taken,
                attempts: 2,
            }],
        },
    }
}

fn lease(until: Millis) -> Option<ProcessorLease> {
    Some(ProcessorLease {
        owner: Uuid::from_u128(7),
        message_id: "message-1".to_owned(),
        until,
    })
}

fn held(until: Millis) -> BreakerByHand {
    let reason = "a new release".to_owned();
    BreakerByHand {
        commands: 1,
        hold: Some(BreakerHold { until, reason }),
    }
}

fn busy() -> Control {
    let ana = Author {
        name: "user/ana".to_owned(),
        at: at(-30),
    };
    Control {
        requested: 42,
        lease: lease(at(18)),
        paused_until: Some(at(1_770)),
        pause_reason: Some("maintenance".to_owned()),
        paused_by: Some(ana.clone()),
        notified_until: Some(at(9)),
        notified_by: Some("batch".to_owned()),
        idle_turns: 2,
        rate_full_at: Some(at(4)),
        redriven: Some(RedrivenTasks {
            oldest: at(-7_200),
            until: EpochSeconds(1_800_003_600),
        }),
        health: Health {
            cause: Some(Cause::Rejecting),
            next_probe: Some(at(3)),
            ..Health::default()
        },
        breaker: Some(OpenBreaker {
            since: at(-90),
            probes: 24,
        }),
        breaker_by_hand: held(at(300)),
        limits: OperatorLimits {
            queue: Some(OperatorLimit {
                concurrency: NonZeroU16::new(3),
                rate: Some(OperatorRate {
                    interval: Duration::from_secs(1) / 7,
                }),
                until: at(60),
                reason: "a migration".to_owned(),
                by: ana,
            }),
        },
        overloaded_since: Some(at(-10)),
        observed: observed(),
    }
}

/// Returns figures with ten tasks that succeeded and two that failed in the last minute.
fn observed() -> Observed {
    let mut observed = Observed {
        median_run_ms: Some(1_500),
        longest_run: Some(LongestRun { at: NOW, ms: 6_200 }),
        limits: Some(LimitSettings {
            concurrency: 10,
            starts_per_1000_s: Some(4_500),
        }),
        measures_overload: true,
        last_response: Some(LastResponse::new(
            at(-3),
            &TaskId::from_stored("order-7"),
            "HTTP 401 Unauthorized: who are you",
        )),
        ..Observed::default()
    };
    for second in 0..12 {
        observed.ended.count(at(second - 30), second < 2);
    }
    observed
}

fn has_lines(text: &str, lines: &[&str]) {
    for line in lines {
        let is_there = text.lines().any(|there| there == *line);
        assert!(is_there, "{line:?} in\n{text}");
    }
}

#[test]
fn status_shows_every_known_value() {
    let expected = "\
queue                 LifoQueue-dev
account               111122223333
region                eu-central-1
as of                 2027-01-15T08:00:00.000Z
summary               the queue is paused, so no task starts; next: freshq doctor
paused                until 2027-01-15T08:29:30.000Z, 29m 30s left: maintenance (by user/ana at 2027-01-15T07:59:30.000Z)
operator's limit      7 starts/s and 3 concurrent tasks until 2027-01-15T08:01:00.000Z, 1m left: a migration (by user/ana at 2027-01-15T07:59:30.000Z)
processor             active, its lease until 2027-01-15T08:00:18.000Z, in 18s (00000000-0000-0000-0000-000000000007)
PENDING               at least 10000
oldest PENDING        1h 2m 3s, created 2027-01-15T06:57:57.000Z
TAKEN                 10; concurrency 10, ratePerSecond 4.5
FAILURE               3
created               1.5/s in the last minute
ended                 0.2/s succeeded, 0.03/s failed in the last minute
run time              median 1.5s, longest 6.2s of the last runs
last response         3s ago, the last without success, to task order-7: HTTP 401 Unauthorized: who are you
suspects              order-1 (TAKEN, attempts 2)
superseded states     37 by newer ones of 12 pending keys; only the newest pending tasks were read
wake-ups requested    42
last notification     suppresses others until 2027-01-15T08:00:09.000Z, in 9s
idle turns in a row   2
limit on concurrency  only probes start, the next in 3s; the downstream rejects the queue's requests
circuit breaker       open since 2027-01-15T07:58:30.000Z, 1m 30s ago; failed probes: 24; held open until 2027-01-15T08:05:00.000Z, 5m left: a new release
overloaded            since 2027-01-15T07:59:50.000Z, 10s ago; only new tasks start
burst allowance       full again at 2027-01-15T08:00:04.000Z, in 4s if no task starts before
redriven tasks        oldest created 2027-01-15T06:00:00.000Z, last expiry 2027-01-15T09:00:00.000Z";
    assert_eq!(report(busy()).text(), expected);
}

#[test]
fn expired_state_is_not_shown_as_current() {
    let over = Control {
        lease: lease(at(-5)),
        paused_until: Some(NOW),
        pause_reason: Some("maintenance".to_owned()),
        notified_until: Some(NOW),
        rate_full_at: Some(NOW),
        limits: OperatorLimits {
            queue: busy().limits.queue.map(|limit| OperatorLimit {
                until: NOW,
                ..limit
            }),
        },
        breaker_by_hand: held(NOW),
        redriven: Some(RedrivenTasks {
            oldest: at(-7_200),
            until: EpochSeconds(1_800_000_000),
        }),
        ..Control::default()
    };
    let mut report = report(over);
    report.status.oldest_pending = None;
    let lines = [
        "paused                no",
        "operator's limit      none",
        "processor             probably crashed, its lease expired 2027-01-15T07:59:55.000Z, 5s ago (00000000-0000-0000-0000-000000000007)",
        "oldest PENDING        -",
        "last notification     none",
        "circuit breaker       closed",
        "burst allowance       full",
        "redriven tasks        none pending",
    ];
    has_lines(&report.text(), &lines);
    assert_eq!(report.json()["paused"], Value::Null);
    assert_eq!(report.json()["processor"]["active"], json!(false));
}

#[test]
fn wait_that_the_downstream_asked_for_is_named() {
    let mut control = busy();
    control.health.cause = Some(Cause::Busy);
    control.health.asked_until = Some(at(3));
    let lines = [
        "limit on concurrency  only probes start, the next in 3s; the downstream is busy and asked for this wait",
    ];
    has_lines(&report(control).text(), &lines);
}

#[test]
fn json_status_has_exact_figures() {
    let expected = json!({
        "queue": "LifoQueue-dev",
        "account": "111122223333",
        "region": "eu-central-1",
        "now": "2027-01-15T08:00:00.000Z",
        "summary": "the queue is paused, so no task starts",
        "paused": {
            "until": "2027-01-15T08:29:30.000Z", "remainingMs": 1_770_000, "reason": "maintenance",
            "by": "user/ana", "since": "2027-01-15T07:59:30.000Z",
        },
        "processor": {
            "active": true, "leaseUntil": "2027-01-15T08:00:18.000Z",
            "owner": "00000000-0000-0000-0000-000000000007", "messageId": "message-1",
        },
        "pending": { "count": 10_000, "exact": false },
        "nextStart": null,
        "oldestPending": { "created": "2027-01-15T06:57:57.000Z", "ageMs": 3_723_000 },
        "taken": { "count": 10, "exact": true },
        "failed": { "count": 3, "exact": true },
        "lastMinute": { "created": 90, "createdIsExact": true, "succeeded": 10, "failed": 2 },
        "medianRunMs": 1_500,
        "longestRunMs": 6_200,
        "limitSettings": { "concurrency": 10, "ratePerSecond": 4.5 },
        "lastResponse": { "at": "2027-01-15T07:59:57.000Z", "taskId": "order-7",
            "text": "HTTP 401 Unauthorized: who are you" },
        "suspects": [{ "taskId": "order-1", "status": "TAKEN", "attempts": 2 }],
        "superseded": { "states": 37, "pendingKeys": 12, "exact": false },
        "groups": { "paused": [], "limited": [], "closed": [] },
        "limit": { "ratePerSecond": 7.0, "concurrency": 3, "until": "2027-01-15T08:01:00.000Z",
            "remainingMs": 60_000, "reason": "a migration", "by": "user/ana",
            "since": "2027-01-15T07:59:30.000Z" },
        "wakeUpsRequested": 42,
        "notifiedUntil": "2027-01-15T08:00:09.000Z",
        "idleTurns": 2,
        "health": {
            "limit": null,
            "cause": "the downstream rejects the queue's requests",
            "nextProbe": "2027-01-15T08:00:03.000Z",
        },
        "breaker": { "since": "2027-01-15T07:58:30.000Z", "failedProbes": 24,
            "heldUntil": "2027-01-15T08:05:00.000Z", "reason": "a new release" },
        "measuresOverload": true,
        "overloadedSince": "2027-01-15T07:59:50.000Z",
        "rateFullAt": "2027-01-15T08:00:04.000Z",
        "redriven": {
            "oldestCreated": "2027-01-15T06:00:00.000Z", "lastDeadline": "2027-01-15T09:00:00.000Z",
        },
    });
    assert_eq!(report(busy()).json(), expected);
}

#[test]
fn status_of_an_unused_queue_is_shown() {
    let untouched = report(Control::default());
    let lines = [
        "paused                no",
        "processor             none",
        "wake-ups requested    0",
        "circuit breaker       closed",
        "overloaded            probably: tasks are created faster than they finish",
        "run time              not measured yet",
        "burst allowance       no rate limit was applied yet",
    ];
    has_lines(&untouched.text(), &lines);
    for key in [
        "paused",
        "limit",
        "processor",
        "notifiedUntil",
        "breaker",
        "overloadedSince",
        "rateFullAt",
        "redriven",
    ] {
        assert_eq!(untouched.json()[key], Value::Null, "{key}");
    }
}

#[test]
fn status_counts_pending_tasks_that_may_start_later() {
    let mut status = report(Control::default());
    let task = |not_before: i64| FoundTask {
        id: TaskId::from_stored("a"),
        created: at(0),
        attributes: [(schema::NOT_BEFORE.to_owned(), not_before.into())]
            .into_iter()
            .collect(),
    };
    status.tasks.recent = vec![task(at(90).0), task(at(0).0), task(at(1).0)];
    let line = "PENDING               at least 10000; 2 of the newest 3 may start later";
    has_lines(&status.text(), &[line]);
}

#[test]
fn status_reports_a_creation_time_in_seconds() {
    let mut report = report(Control::default());
    report.status.oldest_pending = Some(Millis(1_800_000_000));
    let line = "oldest PENDING        created 1970-01-21T20:00:00.000Z; its taskCreated is in seconds instead of milliseconds";
    has_lines(&report.text(), &[line]);
}
