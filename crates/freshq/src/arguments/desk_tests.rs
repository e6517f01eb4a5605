//! Tests the commands that the verbs send, and how their responses are printed.

use clap::Parser;
use serde_json::{Value, json};
use simulator::texts::begins;

use super::{Arguments, Job};
use crate::agents::{self, AGENT_DESK_FUNCTION_NAME};
use crate::exit::Exit;

fn command(line: &str) -> Value {
    let words = std::iter::once("freshq").chain(line.split_whitespace());
    let arguments = Arguments::try_parse_from(words.chain(["--env", "dev"])).unwrap();
    let Job::Desk(command, on) = arguments.verb.job() else {
        panic!("{line} is not a verb of the agents' queue")
    };
    assert_eq!(on.env.as_deref(), Some("dev"));
    command
}

#[test]
fn each_verb_sends_its_command() {
    for (line, sent) in [
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
        assert_eq!(command(line), sent, "{line}");
    }
}

#[test]
fn list_responses_are_printed_as_tables() {
    let call = json!({ "callId": "c1", "criteria": "Spanish#M", "pendingMs": 61_000 });
    let queues = json!({
        "queues": [{ "queue": "Q#Spanish#M", "depth": 2, "version": 7 }],
        "pending": [{ "criteria": "Spanish#M", "depth": 1, "oldest": call }],
    });
    insta::assert_snapshot!("queues", agents::report(queues).text);
    let calls = json!({ "calls": [call] });
    insta::assert_snapshot!("calls", agents::report(calls).text);
    let agents = json!({
        "agents": [{ "agentId": "ana", "name": "Ana Ruiz", "status": "queued", "attributes": { "gender": ["F"] } }],
        "next": "ana",
    });
    let response = agents::report(agents);
    insta::assert_snapshot!("agents", response.text);
    assert_eq!(response.exit, Exit::Done);
    let rejected =
        json!({ "changed": false, "rejected": "the agent is attendingCall", "agent": {} });
    let response = agents::report(rejected);
    let line = "not changed: the agent is attendingCall\n";
    begins(&response.text, line);
    assert_eq!(response.exit, Exit::NotAll);
}

#[test]
fn stack_contract_lists_the_desk_function_output() {
    let contract = include_str!("../../../../tests/contract.json");
    let contract: Value = serde_json::from_str(contract).unwrap();
    let promised = contract["agentQueue"]["outputs"].as_array().unwrap();
    assert!(promised.contains(&AGENT_DESK_FUNCTION_NAME.into()));
}
