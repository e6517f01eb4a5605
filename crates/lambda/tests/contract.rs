//! The names that Rust and TypeScript share, compared with `tests/contract.json`.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::cell::RefCell;
use std::collections::BTreeSet;

use lambda::config::{CountShed, CreateTasks, IngestTasks, ProcessTasks, SweepTasks, Trigger};
use lambda::telemetry::metrics;
use lifo_queue::schema;
use lifo_queue::task::TaskStatus;
use serde_json::{Value, json};

fn contract() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/contract.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn names(list: &Value) -> BTreeSet<String> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap().to_owned())
        .collect()
}

/// A value of the right kind for every variable.
fn example(name: &str) -> String {
    match name {
        "TASK_RUNNER" => r#"{"kind": "simulated", "capacity": 1, "durationMs": 0}"#.to_owned(),
        "SIMULATION_ENABLED" => "false".to_owned(),
        "HEARTBEAT_MS" => "1".to_owned(),
        "DEADLINE_MARGIN_MS" => "5000".to_owned(),
        "TASK_ORDER" => "oldest-key-first".to_owned(),
        name if name.ends_with("_QUEUE_URL") => format!("https://sqs.example.com/{name}"),
        name if name.ends_with("_ARN") => "arn:aws:sns:eu-west-1:111122223333:topic".to_owned(),
        _ => "10".to_owned(),
    }
}

/// Which variables `read` asks for, and how many of them it complains about when none is set.
fn asked<T, E: std::fmt::Debug>(
    read: impl Fn(&dyn Fn(&str) -> Option<String>) -> Result<T, E>,
) -> BTreeSet<String> {
    let asked = RefCell::new(BTreeSet::new());
    let lookup = |name: &str| {
        asked.borrow_mut().insert(name.to_owned());
        Some(example(name))
    };
    read(&lookup).map(drop).unwrap();
    asked.into_inner()
}

#[test]
fn each_function_reads_exactly_the_variables_it_is_given() {
    let environment = &contract()["environment"];
    assert_eq!(
        asked(CreateTasks::read),
        names(&environment["create-tasks"])
    );
    assert_eq!(asked(Trigger::read), names(&environment["trigger"]));
    assert_eq!(
        asked(ProcessTasks::read),
        names(&environment["process-tasks"])
    );
    assert_eq!(asked(SweepTasks::read), names(&environment["sweep-tasks"]));
    assert_eq!(asked(CountShed::read), names(&environment["count-shed"]));
    assert_eq!(
        asked(IngestTasks::read),
        names(&environment["ingest-tasks"])
    );
    assert_eq!(
        environment.as_object().unwrap().len(),
        6,
        "a function that no test compares"
    );
}

#[test]
fn every_variable_but_the_optional_ones_is_required() {
    let contract = contract();
    let optional = names(&contract["optionalEnvironment"]);
    let missing = |function: &str, error: lambda::config::ConfigError| {
        let named: BTreeSet<_> = error
            .problems
            .iter()
            .map(|problem| problem.variable.name.to_owned())
            .collect();
        assert_eq!(named.len(), error.problems.len(), "each once");
        let expected: BTreeSet<_> = &names(&contract["environment"][function]) - &optional;
        assert_eq!(named, expected);
    };
    missing("create-tasks", CreateTasks::read(&|_| None).unwrap_err());
    missing("trigger", Trigger::read(&|_| None).unwrap_err());
    missing("process-tasks", ProcessTasks::read(&|_| None).unwrap_err());
    missing("sweep-tasks", SweepTasks::read(&|_| None).unwrap_err());
    missing("count-shed", CountShed::read(&|_| None).unwrap_err());
    missing("ingest-tasks", IngestTasks::read(&|_| None).unwrap_err());
}

#[test]
fn the_table_has_the_names_of_the_contract() {
    let statuses = TaskStatus::ALL.map(TaskStatus::name);
    let ours = json!({
        "key": schema::TASK_ID,
        "index": schema::INDEX,
        "indexPartitionKey": schema::TASK_STATUS,
        "indexSortKey": schema::TASK_CREATED,
        "ttl": schema::TTL,
        "indexProjection": schema::INDEX_PROJECTION,
        "version": schema::TASK_VERSION,
        "revived": schema::REVIVED,
        "controlItem": schema::CONTROL_ITEM,
        "statuses": statuses,
    });
    assert_eq!(ours, contract()["table"]);
}

#[test]
fn the_metrics_have_the_names_of_the_contract() {
    let ours = json!({
        "namespace": metrics::NAMESPACE,
        "dimension": metrics::DIMENSION,
        "names": metrics::NAMES,
    });
    assert_eq!(ours, contract()["metrics"]);
}
