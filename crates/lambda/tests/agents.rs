//! The agents' queue: the names shared with TypeScript, and what a function says of an
//! environment that is not right.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Duration;

use agent_queue::schema;
use agent_queue::store::Order;
use lambda::config::{AgentDesk, AgentQueue, ConfigError, MatchCalls};
use lambda::telemetry::metrics;
use serde_json::{Value, json};

fn contract() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/contract.json");
    let contract: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    contract["agentQueue"].clone()
}

fn names(list: &Value) -> BTreeSet<String> {
    let names = list.as_array().unwrap().iter();
    names
        .map(|name| name.as_str().unwrap().to_owned())
        .collect()
}

fn example(name: &str) -> Option<String> {
    let value = match name {
        "AGENT_TABLE_NAME" => "agents",
        "ASSIGNMENT_TOPIC_ARN" => "arn:aws:sns:eu-west-1:111122223333:topic",
        "CALL_DEAD_LETTER_QUEUE_URL" => {
            "https://sqs.eu-west-1.amazonaws.com/111122223333/dead.fifo"
        }
        "CALL_QUEUE_URL" => "https://sqs.eu-west-1.amazonaws.com/111122223333/calls.fifo",
        "DIMENSIONS" => r#"[{"name": "skill", "attribute": "Skills", "multiValued": true}]"#,
        "QUEUE_ORDER" => "lifo",
        "MAX_WAIT_SECONDS" => "300",
        "CALL_LEASE_SECONDS" => "60",
        "SEED_ENABLED" => "true",
        _ => return None,
    };
    Some(value.to_owned())
}

fn asked<T>(
    read: impl Fn(&dyn Fn(&str) -> Option<String>) -> Result<T, ConfigError>,
) -> BTreeSet<String> {
    let asked = RefCell::new(BTreeSet::new());
    let lookup = |name: &str| {
        asked.borrow_mut().insert(name.to_owned());
        example(name)
    };
    read(&lookup).map(drop).unwrap();
    asked.into_inner()
}

#[test]
fn each_function_reads_exactly_the_variables_it_is_given() {
    let environment = &contract()["environment"];
    assert_eq!(asked(AgentDesk::read), names(&environment["agent-desk"]));
    assert_eq!(asked(MatchCalls::read), names(&environment["match-calls"]));
    assert_eq!(asked(AgentQueue::read), names(&environment["sweep-agents"]));
    let functions = environment.as_object().unwrap().len();
    assert_eq!(functions, 3, "a function that no test compares");
}

/// As the release before had it, while a deployment changes code and environment one after the
/// other.
#[test]
fn match_calls_starts_without_the_call_queue_s_url() {
    let earlier = |name: &str| example(name).filter(|_| name != "CALL_QUEUE_URL");
    assert_eq!(MatchCalls::read(&earlier).unwrap().call_queue, None);
    assert!(MatchCalls::read(&example).unwrap().call_queue.is_some());
}

#[test]
fn every_variable_but_the_optional_ones_is_required() {
    let contract = contract();
    let error = AgentDesk::read(&|_| None).unwrap_err();
    let missing = error.problems.iter();
    let missing: BTreeSet<_> = missing
        .map(|problem| problem.variable.name.to_owned())
        .collect();
    let required =
        &names(&contract["environment"]["agent-desk"]) - &names(&contract["optionalEnvironment"]);
    assert_eq!(missing, required);
}

#[test]
fn the_table_and_the_metrics_have_the_names_of_the_contract() {
    let contract = contract();
    let table =
        json!({"partitionKey": schema::PK, "sortKey": schema::SK, "timeToLive": schema::TTL});
    assert_eq!(contract["table"], table);
    assert_eq!(contract["metrics"], json!(metrics::agents::AGENT_NAMES));
    assert_eq!(contract["reservedAttributes"], json!(schema::RESERVED));
}

#[test]
fn an_environment_is_read_with_its_units() {
    let config = AgentDesk::read(&example).unwrap();
    assert!(config.seed_enabled);
    let settings = config.queue.settings;
    assert_eq!(settings.order, Order::Lifo);
    assert_eq!(settings.max_wait, Duration::from_secs(300));
    assert_eq!(settings.call_lease, Some(Duration::from_secs(60)));
    assert_eq!(settings.dimensions.all()[0].attribute, "Skills");
}

#[test]
fn what_is_wrong_is_named_with_its_remedy() {
    let with = |name: &'static str, value: &'static str| {
        let lookup = move |asked: &str| {
            if asked == name {
                Some(value.to_owned())
            } else {
                example(asked)
            }
        };
        AgentQueue::read(&lookup).unwrap_err().to_string()
    };
    let text = with("QUEUE_ORDER", "random");
    assert!(
        text.contains("QUEUE_ORDER is \"random\" and should be fifo or lifo"),
        "{text}"
    );
    let text = with("CALL_DEAD_LETTER_QUEUE_URL", "https://sqs/dead");
    assert!(text.contains("name the FIFO dead-letter queue"), "{text}");
    let text = with("DIMENSIONS", r#"[{"name": "a", "attribute": "Ticket"}]"#);
    assert!(
        text.contains("letters and digits, each used once, and none of the table's own"),
        "{text}"
    );
}
