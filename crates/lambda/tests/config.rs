//! What a function says of an environment that is not right.

use std::collections::HashMap;
use std::time::Duration;

use lambda::config::{ConfigError, CountShed, CreateTasks, IngestTasks, ProcessTasks, Trigger};
use lifo_queue::create::LONGEST_TTL;
use lifo_queue::runner::config::RunnerConfig;
use lifo_queue::store::Order;

const TOPIC: &str = "arn:aws:sns:eu-west-1:111122223333:topic";

const PROCESS_TASKS: &[(&str, &str)] = &[
    ("TASK_TABLE_NAME", "tasks"),
    ("PROCESS_TASKS_TOPIC_ARN", TOPIC),
    ("TRIGGER_TOPIC_ARN", TOPIC),
    (
        "TASK_RUNNER",
        r#"{"kind":"simulated","capacity":3,"durationMs":10}"#,
    ),
    ("TASK_SLOTS", "10"),
    ("TASK_TIMEOUT_MS", "30000"),
    ("TURN_MS", "60000"),
    ("DEADLINE_MARGIN_MS", "10000"),
    ("PROCESSOR_LEASE_MS", "20000"),
    ("HEARTBEAT_MS", "5000"),
    ("CLOCK_SKEW_MS", "2000"),
    ("INDEX_LAG_MS", "2000"),
    ("MAX_ATTEMPTS", "5"),
    ("MAX_BUSY_RETURNS", "20"),
    ("MAX_UNAVAILABLE_RETURNS", "500"),
    ("BREAKER_PAUSE_AFTER_SECONDS", "480"),
    ("MAX_IDLE_TURNS", "10"),
    ("NOTIFICATION_MARKER_MS", "10000"),
    ("PAUSE_MS", "300000"),
    ("RETRY_BASE_MS", "1000"),
    ("RETRY_MAX_MS", "300000"),
    ("DEFAULT_TTL_SECONDS", "3600"),
    ("SUCCESS_RETENTION_SECONDS", "3600"),
    ("FAILURE_RETENTION_SECONDS", "604800"),
];

/// `PROCESS_TASKS` with some variables set otherwise.
fn process_tasks(changes: &[(&str, &str)]) -> Result<ProcessTasks, ConfigError> {
    let set: HashMap<_, _> = PROCESS_TASKS.iter().chain(changes).copied().collect();
    ProcessTasks::read(&|name| set.get(name).map(|text| (*text).to_owned()))
}

fn message(error: &ConfigError) -> String {
    error.to_string()
}

#[test]
fn a_complete_environment_is_read_with_its_units() {
    let config = process_tasks(&[]).unwrap();
    assert_eq!(config.settings.turn, Duration::from_secs(60));
    assert_eq!(config.settings.default_ttl, Duration::from_secs(3600));
    assert_eq!(
        config.settings.retention.failure,
        Duration::from_secs(7 * 86_400)
    );
    assert_eq!(config.settings.slots, 10);
    assert_eq!(
        config.runner,
        RunnerConfig::Simulated {
            capacity: 3,
            duration_ms: 10
        }
    );
}

#[test]
fn every_fault_is_told_at_once_with_its_remedy() {
    let error = process_tasks(&[
        ("TASK_TABLE_NAME", ""),
        ("TRIGGER_TOPIC_ARN", "topic"),
        ("TURN_MS", "60s"),
        ("TASK_SLOTS", "0"),
        ("MAX_BUSY_RETURNS", "-1"),
        ("TASK_TIMEOUT_MS", "5000000000"),
        (
            "TASK_RUNNER",
            r#"{"kind":"simulated","capacity":3,"duration":10}"#,
        ),
    ])
    .unwrap_err();
    assert_eq!(error.problems.len(), 7);
    let text = message(&error);
    for part in [
        "TASK_TABLE_NAME is missing (The name of the task table",
        "TRIGGER_TOPIC_ARN is \"topic\" and should be an ARN",
        "TURN_MS is \"60s\" and should be a whole number from 1 ",
        "TASK_SLOTS is \"0\" and should be a whole number from 1 ",
        "MAX_BUSY_RETURNS is \"-1\" and should be a whole number from 0 ",
        "TASK_TIMEOUT_MS is \"5000000000\"",
        "TASK_RUNNER cannot be read: unknown field `duration`",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}

#[test]
fn rules_between_variables_are_told_by_name() {
    let text = message(&process_tasks(&[("HEARTBEAT_MS", "10001")]).unwrap_err());
    assert!(
        text.contains("HEARTBEAT_MS is more than half of PROCESSOR_LEASE_MS"),
        "{text}"
    );
    let text = message(&process_tasks(&[("RETRY_MAX_MS", "999")]).unwrap_err());
    assert!(
        text.contains("RETRY_MAX_MS is less than RETRY_BASE_MS"),
        "{text}"
    );
}

#[test]
fn the_longest_expiry_may_be_left_out() {
    let read = |max: Option<&str>| {
        CreateTasks::read(&|name| match name {
            "MAX_TTL_SECONDS" => max.map(str::to_owned),
            "DEFAULT_TTL_SECONDS" | "KEY_TTL_SECONDS" => Some("3600".to_owned()),
            "SIMULATION_ENABLED" => Some("true".to_owned()),
            "TASK_ORDER" => None,
            _ => Some("tasks".to_owned()),
        })
    };
    assert_eq!(read(None).unwrap().create.max_ttl, LONGEST_TTL);
    assert_eq!(
        read(Some("7200")).unwrap().create.max_ttl,
        Duration::from_secs(7200)
    );
    for (max, part) in [
        ("3599", "shorter than DEFAULT_TTL_SECONDS"),
        ("soon", "MAX_TTL_SECONDS is \"soon\""),
    ] {
        let text = message(&read(Some(max)).unwrap_err());
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_flag_is_true_or_false() {
    let error = CreateTasks::read(&|name| match name {
        "SIMULATION_ENABLED" => Some("yes".to_owned()),
        "TASK_TABLE_NAME" => Some("tasks".to_owned()),
        _ => Some("60".to_owned()),
    })
    .unwrap_err();
    assert!(message(&error).contains("SIMULATION_ENABLED is \"yes\" and should be true or false"));
}

#[test]
fn a_trigger_with_nothing_names_all_three() {
    let error = Trigger::read(&|_| None).unwrap_err();
    let named: Vec<_> = error
        .problems
        .iter()
        .map(|problem| problem.variable.name)
        .collect();
    assert_eq!(
        named,
        [
            "TASK_TABLE_NAME",
            "PROCESS_TASKS_TOPIC_ARN",
            "NOTIFICATION_MARKER_MS"
        ]
    );
}

#[test]
fn a_rate_limit_is_read_with_its_burst() {
    let rate = |changes: &[(&str, &str)]| process_tasks(changes).map(|config| config.settings.rate);
    assert_eq!(rate(&[]).unwrap(), None);
    for (per_second, burst, interval_ms, starts) in [
        ("0.5", None, 2_000, 1),
        ("2.5", None, 400, 3),
        ("20", Some("1"), 50, 1),
    ] {
        let burst: &[_] = &burst.map_or_else(Vec::new, |burst| vec![("RATE_BURST", burst)]);
        let changes = [&[("RATE_PER_SECOND", per_second)], burst].concat();
        let limit = rate(&changes).unwrap().unwrap();
        assert_eq!(limit.interval, Duration::from_millis(interval_ms));
        assert_eq!(limit.burst.get(), starts, "{per_second}");
    }
    for (changes, part) in [
        (
            vec![("RATE_PER_SECOND", "0")],
            "RATE_PER_SECOND is \"0\" and should be a decimal",
        ),
        (
            vec![("RATE_PER_SECOND", "inf")],
            "should be a decimal number",
        ),
        (
            vec![("RATE_BURST", "5")],
            "RATE_BURST has no meaning without RATE_PER_SECOND",
        ),
        (
            vec![("RATE_PER_SECOND", "5"), ("RATE_BURST", "0")],
            "RATE_BURST is \"0\" and should be a whole number from 1",
        ),
    ] {
        let text = message(&rate(&changes).unwrap_err());
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}

#[test]
fn shed_tasks_go_to_a_standard_queue_or_nowhere() {
    const QUEUE: &str = "https://sqs.eu-west-1.amazonaws.com/111122223333/shed";
    let read = |queue: Option<&str>| {
        CountShed::read(&|name| match name {
            "TASK_TABLE_NAME" => Some("tasks".to_owned()),
            _ => queue.map(str::to_owned),
        })
    };
    assert_eq!(read(Some(QUEUE)).unwrap().shed_queue.unwrap(), QUEUE);
    for left_out in [None, Some("")] {
        assert_eq!(read(left_out).unwrap().shed_queue, None);
    }
    let error = message(&read(Some(&format!("{QUEUE}.fifo"))).unwrap_err());
    assert!(
        error.contains("SHED_QUEUE_URL names a FIFO queue"),
        "{error}"
    );
}

const INGEST: [(&str, &str); 10] = [
    ("TASK_TABLE_NAME", "tasks"),
    ("DEFAULT_TTL_SECONDS", "3600"),
    (
        "INGEST_QUEUE_URL",
        "https://sqs.eu-west-1.amazonaws.com/111122223333/ingest",
    ),
    (
        "INGEST_DEAD_LETTER_QUEUE_URL",
        "https://sqs.eu-west-1.amazonaws.com/111122223333/dead",
    ),
    ("WRITE_PARALLELISM", "32"),
    ("DEADLINE_MARGIN_MS", "5000"),
    ("VISIBILITY_BASE_SECONDS", "5"),
    ("VISIBILITY_MAX_SECONDS", "900"),
    ("MAX_TTL_SECONDS", "7200"),
    ("KEY_TTL_SECONDS", "3600"),
];

fn ingest(changes: &[(&str, &str)]) -> Result<IngestTasks, ConfigError> {
    IngestTasks::read(&|name| {
        let changed = changes.iter().find(|(changed, _)| *changed == name);
        let given = changed.or_else(|| INGEST.iter().find(|(given, _)| *given == name));
        given.map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn an_ingest_is_read_with_its_units() {
    let config = ingest(&[]).unwrap();
    assert_eq!(config.margin, Duration::from_secs(5));
    assert_eq!(config.settings.parallel, 32);
    assert_eq!(config.settings.visibility.base, Duration::from_secs(5));
    assert_eq!(config.settings.visibility.max, Duration::from_secs(900));
    assert_eq!(config.settings.create.max_ttl, Duration::from_secs(7_200));
    assert_eq!(config.shed_queue, None);
}

#[test]
fn an_ingest_that_could_not_work_is_refused_with_the_remedy() {
    for (changes, part) in [
        (
            vec![("INGEST_QUEUE_URL", "https://sqs.example.com/1/in.fifo")],
            "INGEST_QUEUE_URL names a FIFO queue",
        ),
        (
            vec![("INGEST_DEAD_LETTER_QUEUE_URL", INGEST[2].1)],
            "INGEST_DEAD_LETTER_QUEUE_URL names the ingest queue itself",
        ),
        (
            vec![("DEADLINE_MARGIN_MS", "1000")],
            "DEADLINE_MARGIN_MS leaves no time",
        ),
        (
            vec![("WRITE_PARALLELISM", "0")],
            "WRITE_PARALLELISM is \"0\" and should be a whole number from 1",
        ),
        (
            vec![("MAX_TTL_SECONDS", "60")],
            "MAX_TTL_SECONDS is shorter than DEFAULT_TTL_SECONDS",
        ),
    ] {
        let text = message(&ingest(&changes).unwrap_err());
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}

#[test]
fn the_order_is_newest_first_unless_it_is_named() {
    let order =
        |changes: &[(&str, &str)]| process_tasks(changes).map(|config| config.settings.order);
    assert_eq!(order(&[]).unwrap(), Order::NewestFirst);
    let named = order(&[("TASK_ORDER", "oldest-key-first")]);
    assert_eq!(named.unwrap(), Order::OldestFirst);
    let error = order(&[("TASK_ORDER", "fifo")]).unwrap_err();
    assert!(message(&error).contains("TASK_ORDER is neither newest-first nor oldest-key-first"));
}
