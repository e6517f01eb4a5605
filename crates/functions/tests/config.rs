//! Tests how functions read their environment and report an invalid one.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod contract_file;

use std::time::Duration;

use contract_file::{defaults, example};
use functions::config::variable::SETTINGS_AGENT_DESK;
use functions::config::{AgentQueue, ConfigError, CountShed, CreateTasks, ProcessTasks};
use lifo_queue::create::LONGEST_TTL;
use lifo_queue::runner::config::RunnerConfig;
use lifo_queue::runner::simulated::Rates;
use lifo_queue::store::Order;
use serde_json::{Value, json};

/// Reads the configuration of `process-tasks` after changing the named settings.
fn process_tasks(changes: &[(&str, Value)]) -> Result<ProcessTasks, ConfigError> {
    let mut settings = defaults("process-tasks");
    for (name, value) in changes {
        settings[*name] = value.clone();
    }
    ProcessTasks::read(&|name| match name {
        "SETTINGS_PROCESS_TASKS" => Some(settings.to_string()),
        name => example("process-tasks", name),
    })
}

fn rejection(changes: &[(&str, Value)]) -> String {
    process_tasks(changes).unwrap_err().to_string()
}

#[test]
fn complete_environment_is_parsed_with_units() {
    let config = process_tasks(&[]).unwrap();
    assert_eq!(config.settings.turn, Duration::from_secs(60));
    assert_eq!(config.settings.default_ttl, Duration::from_secs(3600));
    assert_eq!(
        config.settings.retention.failure,
        Duration::from_secs(14 * 86_400)
    );
    assert_eq!(config.settings.slots, 10);
    assert_eq!(
        config.runner,
        RunnerConfig::Simulated {
            capacity: 3,
            duration_ms: 10,
            rates: Rates::default(),
        }
    );
}

#[test]
fn all_invalid_variables_are_reported_together_with_remedies() {
    let error = ProcessTasks::read(&|name| match name {
        "TASK_TABLE_NAME" => Some(String::new()),
        "TRIGGER_TOPIC_ARN" => Some("topic".to_owned()),
        "SETTINGS_PROCESS_TASKS" => Some(r#"{"turnMs": "60s"}"#.to_owned()),
        "TASK_RUNNER" => Some(r#"{"kind":"simulated","capacity":3,"duration":10}"#.to_owned()),
        name => example("process-tasks", name),
    })
    .unwrap_err();
    assert_eq!(error.problems.len(), 4);
    let text = error.to_string();
    for part in [
        "TASK_TABLE_NAME is missing (The name of the task table",
        "TRIGGER_TOPIC_ARN is \"topic\"; expected an ARN",
        "SETTINGS_PROCESS_TASKS is invalid at turnMs: invalid type: string \"60s\", expected u64",
        "TASK_RUNNER is invalid at .: unknown field `duration`",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}

#[test]
fn invalid_setting_is_reported_with_its_path() {
    for (setting, value, part) in [
        (
            "turnMs",
            json!(0),
            "invalid at turnMs: 0 is too little: give at least 1",
        ),
        (
            "concurrency",
            json!(0),
            "invalid at concurrency: 0 is too little",
        ),
        (
            "concurrency",
            json!(70_000),
            "invalid at concurrency: invalid value: integer `70000`, expected u16",
        ),
        (
            "maxBusyReturns",
            json!(-1),
            "invalid at maxBusyReturns: invalid value: integer `-1`",
        ),
        (
            "pauseMs",
            json!(u64::MAX),
            "invalid at pauseMs: 18446744073709551615 is too long",
        ),
        (
            "retry",
            json!({"baseMs": 1, "maxMs": 0.5}),
            "invalid at retry.maxMs: invalid type",
        ),
        (
            "codel",
            json!({"targetMs": 1}),
            "invalid at codel: missing field `intervalMs`",
        ),
        (
            "rate",
            json!({"perSecond": 0, "burst": 1}),
            "invalid at rate.perSecond: 0 is not a rate",
        ),
        (
            "rate",
            json!({"perSecond": 1, "burst": 0}),
            "invalid at rate.burst",
        ),
        (
            "order",
            json!("fifo"),
            "invalid at order: unknown variant `fifo`, expected `newest-first` or `oldest-key-first`",
        ),
    ] {
        let text = rejection(&[(setting, value)]);
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
    let text = rejection(&[("turnMs", Value::Null)]);
    assert!(
        text.contains("invalid at turnMs: invalid type: null"),
        "{text}"
    );
    let lookup = |name: &str| match name {
        "SETTINGS_PROCESS_TASKS" => Some("{}}".to_owned()),
        name => example("process-tasks", name),
    };
    let text = ProcessTasks::read(&lookup).unwrap_err().to_string();
    assert!(text.contains("missing field"), "{text}");
}

/// CloudFormation changes a function's environment variables before its code.
#[test]
fn unknown_settings_from_the_next_release_are_ignored() {
    let next = [("nextMs", json!(1)), ("order", json!("oldest-key-first"))];
    let config = process_tasks(&next).unwrap();
    assert_eq!(config.settings.order, Order::OldestFirst);
}

#[test]
fn longest_expiry_is_optional() {
    let read = |max: Option<u64>| {
        let mut settings = defaults("create-tasks");
        if let Some(max) = max {
            settings["create"]["maxTtlMs"] = json!(max);
        }
        CreateTasks::read(&|name| match name {
            "SETTINGS_CREATE_TASKS" => Some(settings.to_string()),
            name => example("create-tasks", name),
        })
    };
    let max_ttl = |max| read(max).map(|config| config.settings.create.max_ttl);
    assert_eq!(max_ttl(None), Ok(LONGEST_TTL));
    assert_eq!(max_ttl(Some(7_200_000)), Ok(Duration::from_secs(7_200)));
}

#[test]
fn rate_limit_is_parsed_with_its_burst() {
    let limit = |rate: Value| process_tasks(&[("rate", rate)]).unwrap().settings.rate;
    assert_eq!(limit(Value::Null), None);
    for (per_second, burst, interval_ms) in [(0.5, 1, 2_000), (2.5, 3, 400), (20.0, 1, 50)] {
        let limit = limit(json!({"perSecond": per_second, "burst": burst})).unwrap();
        assert_eq!(limit.interval, Duration::from_millis(interval_ms));
        assert_eq!(limit.burst.get(), burst, "{per_second}");
    }
}

#[test]
fn queue_for_shed_tasks_is_optional() {
    let read = |queue: Option<&str>| {
        let lookup = |name: &str| match name {
            "TASK_TABLE_NAME" => Some("tasks".to_owned()),
            _ => queue.map(str::to_owned),
        };
        CountShed::read(&lookup).unwrap().shed_queue
    };
    assert_eq!(read(Some("https://sqs/shed")).unwrap(), "https://sqs/shed");
    for left_out in [None, Some("")] {
        assert_eq!(read(left_out), None);
    }
}

#[test]
fn agent_queue_settings_are_read_with_their_units() {
    let read = |changes: &[(&str, Value)]| {
        let mut settings = defaults("agent-desk");
        for (name, value) in changes {
            settings[*name] = value.clone();
        }
        AgentQueue::read(SETTINGS_AGENT_DESK, &|name| match name {
            "SETTINGS_AGENT_DESK" => Some(settings.to_string()),
            name => example("agent-desk", name),
        })
    };
    let changes = [("callLeaseMs", json!(60_000)), ("order", json!("lifo"))];
    let config = read(&changes).unwrap();
    assert!(!config.seed);
    assert_eq!(config.settings.order, agent_queue::store::Order::Lifo);
    assert_eq!(config.settings.max_wait, Duration::from_secs(300));
    assert_eq!(config.settings.call_lease, Some(Duration::from_secs(60)));
    assert_eq!(config.settings.dimensions.all()[0].attribute, "Languages");

    let dimension = json!([{"name": "a", "attribute": "Ticket"}]);
    let text = read(&[("dimensions", dimension)]).unwrap_err().to_string();
    let part = "letters and digits, each used once, and none of the table's own";
    assert!(text.contains(part), "{text}");
}
