//! The commands that the verbs send, and how their responses are printed.

use std::sync::Mutex;

use async_trait::async_trait;
use clap::Parser;
use serde_json::{Value, json};

use super::{Arguments, Job};
use crate::agents::{AGENT_DESK_FUNCTION_NAME, Response, send};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::function::Function;
use crate::report::Report;

struct Desk {
    response: Value,
    command: Mutex<Value>,
}

#[async_trait]
impl Function for Desk {
    async fn send(&self, event: &Value) -> Result<Value, Failure> {
        *self.command.lock().unwrap() = event.clone();
        Ok(self.response.clone())
    }
}

async fn run(line: &str, response: Value) -> Result<(Value, Response), Failure> {
    let words = std::iter::once("freshq").chain(line.split_whitespace());
    let arguments = Arguments::try_parse_from(words.chain(["--env", "dev"])).unwrap();
    let Job::Desk(verb, on) = arguments.verb.job() else {
        panic!("{line} is not a verb of the agents' queue")
    };
    assert_eq!(on.env.as_deref(), Some("dev"));
    let desk = Desk {
        response,
        command: Mutex::default(),
    };
    let response = send(verb, &desk).await?;
    Ok((desk.command.into_inner().unwrap(), response))
}

#[tokio::test]
async fn each_verb_sends_its_command() {
    for (line, command) in [
        (
            "agents --limit 5 --after ana",
            json!({ "command": "agents", "limit": 5, "after": "ana" }),
        ),
        ("queues", json!({ "command": "queues" })),
        ("calls --limit 5", json!({ "command": "calls", "limit": 5 })),
        (
            "match --call c1 --criteria language=Spanish --criteria gender=M",
            json!({ "command": "match", "callId": "c1", "criteria": { "language": "Spanish", "gender": "M" } }),
        ),
        ("match", json!({ "command": "match", "criteria": {} })),
        ("call c1", json!({ "command": "call", "callId": "c1" })),
        (
            "call c1 --cancel",
            json!({ "command": "cancel-call", "callId": "c1" }),
        ),
        (
            "agent register --id ana --name Ana --attributes language=Spanish,English --attribute gender=F",
            json!({
                "command": "register", "agentId": "ana", "name": "Ana",
                "attributes": { "language": ["Spanish", "English"], "gender": "F" },
            }),
        ),
        ("agent seed 5", json!({ "command": "seed", "count": 5 })),
        (
            "agent available ana",
            json!({ "command": "available", "agentId": "ana" }),
        ),
        (
            "agent enqueue ana",
            json!({ "command": "enqueue", "agentId": "ana" }),
        ),
        (
            "agent queue-all-available",
            json!({ "command": "queue-all-available" }),
        ),
        (
            "agent leave ana",
            json!({ "command": "leave", "agentId": "ana", "to": "available" }),
        ),
        (
            "agent leave ana --to offline",
            json!({ "command": "leave", "agentId": "ana", "to": "offline" }),
        ),
        (
            "agent finish ana --call c1 --ticket t",
            json!({ "command": "finish", "agentId": "ana", "callId": "c1", "ticket": "t" }),
        ),
        (
            "agent extend ana --call c1 --ticket t",
            json!({ "command": "extend", "agentId": "ana", "callId": "c1", "ticket": "t" }),
        ),
    ] {
        let (sent, response) = run(line, json!({ "changed": true })).await.unwrap();
        assert_eq!(sent, command, "{line}");
        assert_eq!(response.exit(), Exit::Done);
    }
    let failure = run("match --criteria Spanish", json!({}))
        .await
        .unwrap_err();
    assert_eq!(failure.exit(), Exit::Usage);
}

#[tokio::test]
async fn list_responses_are_printed_as_tables() {
    let call = json!({ "callId": "c1", "criteria": "Spanish#M", "pendingMs": 61_000 });
    let queues = json!({
        "queues": [{ "queue": "Q#Spanish#M", "depth": 2, "version": 7 }],
        "pending": [{ "criteria": "Spanish#M", "depth": 1, "oldest": call }],
    });
    let (_, response) = run("queues", queues).await.unwrap();
    insta::assert_snapshot!("queues", response.text());
    let (_, response) = run("calls", json!({ "calls": [call] })).await.unwrap();
    insta::assert_snapshot!("calls", response.text());
    let agents = json!({
        "agents": [{ "agentId": "ana", "name": "Ana Ruiz", "status": "queued", "attributes": { "gender": ["F"] } }],
        "next": "ana",
    });
    let (_, response) = run("agents", agents).await.unwrap();
    insta::assert_snapshot!("agents", response.text());
    let rejected =
        json!({ "changed": false, "rejected": "the agent is attendingCall", "agent": {} });
    let (_, response) = run("agent leave ana", rejected).await.unwrap();
    assert!(
        response
            .text()
            .starts_with("not changed: the agent is attendingCall\n")
    );
    assert_eq!(response.exit(), Exit::NotAll);
}

#[test]
fn stack_contract_lists_the_desk_function_output() {
    let contract = include_str!("../../../../tests/contract.json");
    let contract: Value = serde_json::from_str(contract).unwrap();
    let promised = contract["agentQueue"]["outputs"].as_array().unwrap();
    assert!(promised.contains(&AGENT_DESK_FUNCTION_NAME.into()));
}
