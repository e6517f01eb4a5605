//! Compares the names and settings that Rust and TypeScript share with `tests/contract.json`.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod contract_file;

use std::cell::RefCell;
use std::collections::BTreeSet;

use contract_file::{contract, defaults, example};
use functions::config::variable::{SETTINGS_AGENT_DESK, SETTINGS_SWEEP_AGENTS, Variable};
use functions::config::{
    AgentQueue, AgentSettings, ConfigError, CountShed, CreateTasks, CreateTasksSettings,
    IngestTasks, IngestTasksSettings, MatchCalls, ProcessTasks, SweepTasks, SweepTasksSettings,
    Trigger, TriggerSettings, parse,
};
use functions::telemetry::metrics;
use lifo_queue::process::ProcessSettings;
use lifo_queue::schema;
use lifo_queue::task::TaskStatus;
use serde_json::{Value, json};

type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

fn read(function: &str, lookup: Lookup<'_>) -> Result<(), ConfigError> {
    let agents = |variable: Variable| AgentQueue::read(variable, lookup).map(drop);
    match function {
        "create-tasks" => CreateTasks::read(lookup).map(drop),
        "ingest-tasks" => IngestTasks::read(lookup).map(drop),
        "trigger" => Trigger::read(lookup).map(drop),
        "process-tasks" => ProcessTasks::read(lookup).map(drop),
        "sweep-tasks" => SweepTasks::read(lookup).map(drop),
        "count-shed" => CountShed::read(lookup).map(drop),
        "agent-desk" => agents(SETTINGS_AGENT_DESK),
        "match-calls" => MatchCalls::read(lookup).map(drop),
        "sweep-agents" => agents(SETTINGS_SWEEP_AGENTS),
        other => panic!("the test does not know {other}"),
    }
}

/// Parses the settings of a function. Returns the unknown fields, or the error.
fn unknown(function: &str, settings: &Value) -> Result<Vec<String>, String> {
    let text = settings.to_string();
    match function {
        "create-tasks" => parse::<CreateTasksSettings>(&text).map(|(_, unknown)| unknown),
        "ingest-tasks" => parse::<IngestTasksSettings>(&text).map(|(_, unknown)| unknown),
        "trigger" => parse::<TriggerSettings>(&text).map(|(_, unknown)| unknown),
        "process-tasks" => parse::<ProcessSettings>(&text).map(|(_, unknown)| unknown),
        "sweep-tasks" => parse::<SweepTasksSettings>(&text).map(|(_, unknown)| unknown),
        _ => parse::<AgentSettings>(&text).map(|(_, unknown)| unknown),
    }
}

/// Returns the names of a function's variables, including the one for its settings, if any.
fn variables(environment: &Value, function: &str) -> BTreeSet<String> {
    let names = environment[function].as_array().unwrap().iter();
    let names = names.map(|name| name.as_str().unwrap().to_owned());
    let settings = format!("SETTINGS_{}", function.to_uppercase().replace('-', "_"));
    let settings = (!defaults(function).is_null()).then_some(settings);
    names.chain(settings).collect()
}

fn functions() -> Vec<(String, BTreeSet<String>)> {
    let contract = contract();
    [
        &contract["environment"],
        &contract["agentQueue"]["environment"],
    ]
    .into_iter()
    .flat_map(|environment| {
        let names = environment.as_object().unwrap().keys();
        names.map(|name| (name.clone(), variables(environment, name)))
    })
    .collect()
}

#[test]
fn each_function_reads_exactly_its_declared_variables() {
    let functions = functions();
    assert_eq!(functions.len(), 9);
    for (function, variables) in functions {
        let asked = RefCell::new(BTreeSet::new());
        let lookup = |name: &str| {
            asked.borrow_mut().insert(name.to_owned());
            example(&function, name)
        };
        read(&function, &lookup).unwrap();
        assert_eq!(asked.into_inner(), variables, "{function}");
    }
}

#[test]
fn every_variable_except_optional_ones_is_required() {
    let contract = contract();
    let optional = contract["optionalEnvironment"].as_array().unwrap();
    for (function, variables) in functions() {
        let error = read(&function, &|_| None).unwrap_err();
        let named = error.problems.iter().map(|problem| problem.variable.name);
        let named: BTreeSet<_> = named.map(str::to_owned).collect();
        assert_eq!(named.len(), error.problems.len(), "each once");
        let required = variables.into_iter();
        let required = required.filter(|name| !optional.contains(&json!(name)));
        assert_eq!(named, required.collect(), "{function}");
    }
}

/// Synthesis must not accept settings that Rust rejects or does not define. The samples contain the
/// constructs' defaults, and every setting at its minimum and maximum value.
#[test]
fn each_function_accepts_its_settings_at_both_ends_of_their_ranges() {
    let contract = contract();
    for sample in ["defaults", "least", "greatest"] {
        let functions = contract["settings"][sample].as_object().unwrap();
        assert_eq!(functions.len(), 8);
        for (function, settings) in functions {
            assert_eq!(
                unknown(function, settings),
                Ok(vec![]),
                "{function}, {sample}"
            );
        }
    }
}

/// Returns each number in a value, and a copy of the value with that number changed to `other`.
fn with_each_number(value: &Value, other: &Value) -> Vec<(u64, Value)> {
    match value {
        Value::Number(number) => number
            .as_u64()
            .map(|number| vec![(number, other.clone())])
            .unwrap_or_default(),
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, field)| {
                with_each_number(field, other)
                    .into_iter()
                    .map(|(number, changed)| {
                        let mut fields = fields.clone();
                        fields.insert(name.clone(), changed);
                        (number, Value::Object(fields))
                    })
                    .collect::<Vec<_>>()
            })
            .collect(),
        _ => vec![],
    }
}

#[test]
fn settings_below_their_range_are_rejected() {
    let contract = contract();
    let mut rejected = 0;
    for (function, settings) in contract["settings"]["least"].as_object().unwrap() {
        for (least, changed) in with_each_number(settings, &json!(-1)) {
            assert!(unknown(function, &changed).is_err(), "{least}: {changed}");
        }
        let zeros = with_each_number(settings, &json!(0)).into_iter();
        for (least, changed) in zeros.filter(|(least, _)| *least == 1) {
            assert!(unknown(function, &changed).is_err(), "{least}: {changed}");
            rejected += 1;
        }
    }
    assert!(rejected > 10, "{rejected}");
}

#[test]
fn table_names_match_the_contract() {
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
        "ingestItem": schema::INGEST_ITEM,
        "groupsItem": schema::GROUPS_ITEM,
        "statuses": statuses,
    });
    assert_eq!(ours, contract()["table"]);
}

#[test]
fn metric_names_match_the_contract() {
    let ours = json!({
        "namespace": metrics::NAMESPACE,
        "dimension": metrics::DIMENSION,
        "names": metrics::NAMES,
    });
    assert_eq!(ours, contract()["metrics"]);
}

#[test]
fn agents_table_and_metric_names_match_the_contract() {
    use agent_queue::schema;
    let contract = contract()["agentQueue"].clone();
    let table =
        json!({"partitionKey": schema::PK, "sortKey": schema::SK, "timeToLive": schema::TTL});
    assert_eq!(contract["table"], table);
    assert_eq!(contract["metrics"], json!(metrics::agents::AGENT_NAMES));
    assert_eq!(contract["reservedAttributes"], json!(schema::RESERVED));
}
