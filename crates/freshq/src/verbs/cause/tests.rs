//! Tests the summary for each kind of queue.

use std::num::NonZeroU16;

use lifo_queue::control::{
    Author, Control, OpenBreaker, OperatorLimit, OperatorRate, ProcessorLease,
};
use lifo_queue::depth::Depth;
use lifo_queue::observed::{LimitSettings, LongestRun};
use lifo_queue::operate::Keys;
use lifo_queue::task::TaskId;
use serde_json::json;
use simulator::texts::has;

use super::*;

pub(crate) const NOW: Millis = Millis(1_800_000_000_000);

/// Returns the status of a queue without tasks, processor or pause.
pub(crate) fn idle() -> Status {
    let none = Depth {
        count: 0,
        exact: true,
    };
    Status {
        now: NOW,
        control: Control::default(),
        pending: none,
        oldest_pending: None,
        taken: none,
        failed: none,
        keys: Keys::default(),
        suspects: Vec::new(),
    }
}

/// Returns the status of a queue of ten slots with 300 pending tasks and these values: running
/// tasks, rate in starts per 1,000 s, median and longest run in milliseconds, and last response.
pub(crate) fn limited(
    taken: u32,
    rate: Option<u64>,
    [median, longest]: [u64; 2],
    response: Option<&str>,
) -> Status {
    let mut status = idle();
    status.pending.count = 300;
    status.taken.count = taken;
    let observed = &mut status.control.observed;
    observed.limits = Some(LimitSettings {
        concurrency: 10,
        starts_per_1000_s: rate,
    });
    observed.median_run_ms = Some(median);
    observed.longest_run = Some(LongestRun {
        at: NOW,
        ms: longest,
    });
    let task = TaskId::from_stored("a");
    observed.last_response = response.map(|text| LastResponse::new(NOW, &task, text));
    status
}

fn text(status: &Status, tasks: &Tasks) -> Option<String> {
    summary(status, tasks).map(|it| it.to_string())
}

/// Returns 300 tasks created in the last minute, and an oldest task that expires in 40 seconds.
fn many() -> Tasks {
    let mut tasks = Tasks::default();
    tasks.created.count = 300;
    let mut oldest = task(json!({}));
    let ttl = NOW.0 / 1_000 + 40;
    oldest.attributes.insert(schema::TTL.to_owned(), ttl.into());
    tasks.oldest = vec![oldest];
    tasks
}

fn task(payload: Value) -> FoundTask {
    FoundTask {
        id: TaskId::from_stored("a"),
        created: NOW,
        attributes: [(schema::PAYLOAD.to_owned(), payload)]
            .into_iter()
            .collect(),
    }
}

/// An operator's limit of this many concurrent tasks and starts per second.
fn operator(concurrency: Option<u16>, rate: Option<f64>) -> OperatorLimit {
    OperatorLimit {
        concurrency: concurrency.and_then(NonZeroU16::new),
        rate: rate.map(|rate| OperatorRate {
            interval: Duration::from_secs_f64(rate.recip()),
        }),
        until: NOW.plus(WINDOW),
        reason: "migration".to_owned(),
        by: Author {
            name: "ana".to_owned(),
            at: NOW,
        },
    }
}

#[test]
fn the_summary_names_what_limits_the_starts_of_a_growing_backlog() {
    let runs = [127, 300];
    let throttled = "Invoke: TooManyRequestsException: Rate Exceeded. (ReservedFunctionConcurrentInvocationLimitExceeded)";
    let mut busy = limited(10, None, [2_000, 25_000], None);
    for _ in 0..240 {
        busy.control.observed.ended.count(NOW, false);
    }
    let mut by_operator = limited(3, None, runs, None);
    by_operator.control.limits.queue = Some(operator(Some(3), None));
    let mut slowed = busy.clone();
    slowed.control.limits.queue = Some(operator(None, Some(5.0)));
    let mut unused = limited(3, None, runs, Some("HTTP 429"));
    unused.control.limits.queue = Some(operator(Some(4), Some(5.0)));
    let cases = [
        (
            by_operator,
            "tasks are created faster than an operator's limit of 3 concurrent tasks allows",
        ),
        (
            slowed,
            "tasks are created faster than an operator's limit of 5 starts/s allows",
        ),
        (unused, "the downstream is busy"),
        (
            busy,
            "tasks are created faster than concurrency 10 can run them",
        ),
        (
            limited(3, None, runs, None),
            "tasks are created faster than they finish",
        ),
        (
            limited(10, None, runs, None),
            "tasks are created faster than concurrency 10 can run them",
        ),
        (
            limited(10, None, [127, 25_000], None),
            "slow tasks take most of the 10 slots, up to 25s each",
        ),
        (
            limited(3, Some(4_000), runs, None),
            "tasks are created faster than ratePerSecond 4 lets them start",
        ),
        (
            limited(3, Some(4_000), runs, Some("HTTP 429")),
            "the downstream is busy",
        ),
        (
            limited(0, None, runs, Some(throttled)),
            "AWS throttles the runner's function at its reserved concurrency",
        ),
    ];
    let mut expiring = many();
    let ttl = (NOW.0 / 1_000 + 2).into();
    expiring.oldest[0]
        .attributes
        .insert(schema::TTL.to_owned(), ttl);
    for (status, cause) in cases {
        let (ended, _) = status.control.observed.ended.within(NOW);
        let surplus = (300 - ended) / 60;
        let expected = format!(
            "{cause}; tasks expire without a run, about {surplus}.0/s; next: freshq doctor"
        );
        assert_eq!(text(&status, &expiring), Some(expected));
        let expected = format!(
            "{cause}; the oldest expires in 40s (surplus: {surplus}.0/s); next: freshq doctor"
        );
        assert_eq!(text(&status, &many()), Some(expected));
    }
}

#[test]
fn summary_of_slow_tasks_names_the_fields_shared_by_most_of_them() {
    let slow = limited(10, None, [127, 25_000], None);
    let filled = |payload: Value| with_field("--payload '<text>'", &vec![task(payload); 2]);
    assert_eq!(filled(json!({ "order": 1 })), "--payload '\"order\":1'");
    for other in [json!({ "name": "O'Neill" }), json!("a text")] {
        assert_eq!(filled(other), "--payload '<text>'");
    }
    let text = |running: &[FoundTask]| {
        let mut tasks = many();
        tasks.running = running.to_vec();
        summary(&slow, &tasks).unwrap().text
    };
    let credit = |n: u32| task(json!({ "check": "credit", "v": 1, "order": n }));
    let mut tasks: Vec<_> = (0..4).map(credit).collect();
    tasks.push(task(json!({ "check": "address", "v": 1, "order": 9 })));
    tasks.push(task(json!("a text")));
    let shared = "slow tasks take most of the 10 slots, up to 25s each; \
                  in a sample of 6 running tasks: 5 with \"v\":1, 4 with \"check\":\"credit\"; the oldest expires in 40s (surplus: 5.0/s)";
    assert_eq!(text(&tasks), shared);
    let none = "slow tasks take most of the 10 slots, up to 25s each; the oldest expires in 40s (surplus: 5.0/s)";
    assert_eq!(text(&tasks[..1]), none, "too few tasks");
    assert_eq!(text(&[]), none);
}

#[test]
fn the_summary_names_a_pause_failed_tasks_and_late_starts() {
    let mut status = idle();
    let summary = |status: &Status, next_start| {
        let tasks = Tasks {
            next_start,
            ..Tasks::default()
        };
        text(status, &tasks)
    };
    assert_eq!(summary(&status, None), None);
    let start = summary(&status, Some(NOW.plus(Duration::from_secs(30_000))));
    let late =
        "no pending task may start before 2027-01-15T16:20:00.000Z, in 8h 20m; next: freshq list";
    assert_eq!(start.as_deref(), Some(late));
    let notice = |seconds| {
        let next_start = Some(NOW.plus(Duration::from_secs(seconds)));
        let tasks = Tasks {
            next_start,
            ..Tasks::default()
        };
        super::notice(NOW, &tasks)
    };
    assert_eq!(notice(5), None, "a retry after its backoff");
    let notice = notice(30_000).unwrap();
    has(
        &notice,
        "; if this is not intended, ask the owner of the producer; ",
    );
    assert!(!notice.contains("wrong unit"), "no delay was counted");
    status.control.observed.ended.count(NOW, true);
    let failed = "1 of 1 tasks that ended in the last minute failed; next: freshq doctor";
    assert_eq!(summary(&status, None).as_deref(), Some(failed));
    status.control.paused_until = Some(NOW.plus(WINDOW));
    let paused = "the queue is paused, so no task starts; next: freshq doctor";
    assert_eq!(summary(&status, None).as_deref(), Some(paused));
}

#[test]
fn summary_states_why_due_tasks_wait() {
    let mut status = limited(10, Some(4_000), [127, 300], None);
    let at = |seconds| NOW.minus(Duration::from_secs(seconds));
    let created = |seconds| FoundTask {
        created: at(seconds),
        ..task(json!({}))
    };
    let mut tasks = Tasks {
        recent: vec![created(4)],
        ..Tasks::default()
    };
    assert_eq!(text(&status, &tasks), None, "a short wait");
    tasks.oldest = vec![created(12)];
    let idle = "due tasks wait, up to 12s: no processor is active; the sweep wakes the queue every minute; next: freshq list";
    assert_eq!(text(&status, &tasks).as_deref(), Some(idle));
    status.control.lease = Some(ProcessorLease {
        owner: uuid::Uuid::nil(),
        message_id: String::new(),
        until: NOW.plus(WINDOW),
    });
    let running = |seconds| {
        let mut task = task(json!({}));
        let started = at(seconds).0.into();
        task.attributes
            .insert(schema::TASK_UPDATED.to_owned(), started);
        task
    };
    tasks.running = vec![running(1), running(25), running(28)];
    let full = "due tasks wait, up to 12s: all 10 slots are in use; 2 runs without a response for 25s; next: freshq list";
    assert_eq!(text(&status, &tasks).as_deref(), Some(full));
    status.taken.count = 2;
    status.control.rate_full_at = Some(NOW.plus(WINDOW));
    let rate = "due tasks wait, up to 12s: ratePerSecond 4 limits the starts; next: freshq list";
    assert_eq!(text(&status, &tasks).as_deref(), Some(rate));
    status.control.limits.queue = Some(operator(Some(5), Some(5.0)));
    assert_eq!(text(&status, &tasks).as_deref(), Some(rate), "no effect");
    for (limit, text_of) in [
        (operator(Some(2), None), "2 concurrent tasks"),
        (operator(None, Some(0.5)), "one start every 2s"),
    ] {
        status.control.limits.queue = Some(limit);
        let limited = format!(
            "due tasks wait, up to 12s: an operator limits it to {text_of}; next: freshq list"
        );
        assert_eq!(text(&status, &tasks), Some(limited));
    }
    status.control.overloaded_since = Some(NOW);
    let overloaded = "due tasks wait, up to 12s: the queue is overloaded, so only new tasks start; next: freshq list";
    assert_eq!(text(&status, &tasks).as_deref(), Some(overloaded));
    let mut postponed = created(12);
    let later = NOW.plus(WINDOW).0.into();
    postponed
        .attributes
        .insert(schema::NOT_BEFORE.to_owned(), later);
    let tasks = Tasks {
        oldest: vec![postponed],
        ..Tasks::default()
    };
    assert_eq!(text(&status, &tasks), None, "a task that is not due");
}

#[test]
fn summary_mentions_tasks_delayed_for_an_hour_among_others() {
    let late = |count| {
        let delay = Some(Duration::from_secs(30_000));
        let mut tasks = Tasks::default();
        tasks.created.count = 8;
        tasks.created.late = Late { count, delay };
        let mut one = task(json!({ "producer": "billing/7.3.0" }));
        tasks.recent = vec![one.clone()];
        let at = NOW.plus(Duration::from_secs(30_000)).0;
        one.attributes
            .insert(schema::NOT_BEFORE.to_owned(), at.into());
        tasks.recent.extend(vec![one; 3]);
        if let Some(notice) = super::notice(NOW, &tasks) {
            has(&notice, "; 30000 s may be 30 s in the wrong unit; if");
            has(
                &notice,
                "cancel --payload '\"producer\":\"billing/7.3.0\"' --dry-run",
            );
        }
        text(&idle(), &tasks)
    };
    assert_eq!(late(4), None);
    let expected = "5 of 8 tasks of the last minute may start only 8h 20m (30000 s) after their creation; in a sample of 3 late tasks: 3 with \"producer\":\"billing/7.3.0\"; next: freshq list";
    assert_eq!(late(5).as_deref(), Some(expected));
}

#[test]
fn the_summary_of_an_open_breaker_names_a_known_cause() {
    let summary = |response| {
        let mut status = limited(0, None, [1, 1], Some(response));
        status.control.breaker = Some(OpenBreaker {
            since: NOW,
            probes: 3,
        });
        text(&status, &Tasks::default()).unwrap()
    };
    let expired = "no response: TLS handshake failed: invalid peer certificate: certificate expired: verification time 1800000000 (UNIX), but certificate is not valid after 1799996400 (3600 seconds ago)";
    let cases = [
        (
            expired,
            "the certificate of the endpoint expired at 2027-01-15T07:00:00.000Z",
        ),
        ("HTTP 502 Bad Gateway", "the downstream is unavailable"),
    ];
    for (response, cause) in cases {
        let expected = format!("{cause}, so only probes start; next: freshq doctor");
        assert_eq!(summary(response), expected);
    }
}
