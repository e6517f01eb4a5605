//! Runs the binary against a test runtime API, queue and event bus, and checks the response to
//! Lambda, the messages, the events and the counts.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod servers;

use serde_json::{Value, json};

use crate::servers::{BOTH, BUS, BUS_ARN, NOTHING, QUEUE, invoke};

/// Returns an event with two shed tasks, order-4711 and order-4712, and two other records.
fn event() -> Value {
    serde_json::from_str(include_str!("../../../../tests/events/count-shed.json")).unwrap()
}

/// Returns the same event plus two completed tasks: order-1 first, order-2 between the shed tasks.
fn event_with_ends() -> Value {
    let end = |n: u32, status: &str| {
        let item = |status: &str| {
            json!({
                "taskId": {"S": format!("order-{n}")},
                "taskStatus": {"S": status},
                "taskUpdated": {"N": "1795250000000"},
                "payload": {"S": "of the producer"},
            })
        };
        json!({
            "eventName": "MODIFY",
            "eventSource": "aws:dynamodb",
            "dynamodb": {
                "OldImage": item("TAKEN"),
                "NewImage": item(status),
                "SequenceNumber": format!("end-{n}"),
            },
        })
    };
    let mut event = event();
    let records = event["Records"].as_array_mut().unwrap();
    records.insert(0, end(1, "SUCCESS"));
    records.insert(2, end(2, "FAILURE"));
    event
}

#[tokio::test]
async fn without_a_queue_shed_tasks_are_only_counted() {
    let invoked = invoke(NOTHING, None, event()).await;
    assert_eq!(invoked.posted, "response");
    assert_eq!(invoked.body, json!({"batchItemFailures": []}));
    assert_eq!(invoked.counted(), Some(2));
    assert!(invoked.sent.is_empty());
}

#[tokio::test]
async fn with_a_queue_shed_tasks_are_counted_and_sent() {
    let invoked = invoke(QUEUE, None, event()).await;
    assert_eq!(invoked.body, json!({"batchItemFailures": []}));
    assert_eq!(invoked.counted(), Some(2));
    assert_eq!(invoked.sent_ids(), ["order-4711", "order-4712"]);
    assert_eq!(invoked.sent[1]["taskStatus"], "TAKEN");
    assert_eq!(invoked.sent[0]["payload"]["order"], 4711);
}

#[tokio::test]
async fn task_that_the_queue_rejects_is_redelivered_and_not_counted() {
    let number = |n: u32| json!([{"itemIdentifier": format!("11110000000000000000000{n}")}]);
    let invoked = invoke(QUEUE, Some("order-4712"), event()).await;
    assert_eq!(invoked.posted, "response");
    assert_eq!(invoked.body["batchItemFailures"], number(2));
    assert_eq!(invoked.counted(), Some(1));
    assert_eq!(invoked.sent_ids(), ["order-4711"]);
    let error = invoked.log.iter().find(|line| line["level"] == "ERROR");
    assert_eq!(error.unwrap()["task_id"], "order-4712");

    let invoked = invoke(QUEUE, Some("order-4711"), event()).await;
    assert_eq!(invoked.body["batchItemFailures"], number(1));
    assert_eq!(invoked.counted(), None);
}

#[tokio::test]
async fn event_of_another_kind_is_rejected() {
    let invoked = invoke(NOTHING, None, json!({"tasks": []})).await;
    assert_eq!(invoked.posted, "error");
    let message = invoked.body["errorMessage"].as_str().unwrap();
    assert!(message.contains("stream"), "{message}");
}

#[tokio::test]
async fn with_a_bus_each_ended_task_is_published_as_an_event() {
    let invoked = invoke(BUS, None, event_with_ends()).await;
    assert_eq!(invoked.body, json!({"batchItemFailures": []}));
    assert_eq!(invoked.counted(), Some(2));
    assert_eq!(invoked.event_ids(), ["order-1", "order-2"]);
    let kinds = invoked.events.iter().map(|event| &event["DetailType"]);
    let kinds: Vec<_> = kinds.collect();
    assert_eq!(kinds, ["Task Succeeded", "Task Failed"]);
    let event = &invoked.events[0];
    assert_eq!(event["Source"], "freshq");
    assert_eq!(event["EventBusName"], BUS_ARN);
    assert_eq!(
        event["Detail"],
        json!({
            "queue": "tasks",
            "taskId": "order-1",
            "taskStatus": "SUCCESS",
            "taskCreated": null,
            "endedAt": 1_795_250_000_000_i64,
            "attempts": null,
            "totalAttempts": null,
            "lastError": null,
            "taskVersion": null,
        })
    );
}

#[tokio::test]
async fn without_a_bus_ended_tasks_are_ignored() {
    let invoked = invoke(QUEUE, None, event_with_ends()).await;
    assert_eq!(invoked.body, json!({"batchItemFailures": []}));
    assert_eq!((invoked.counted(), invoked.events.len()), (Some(2), 0));
}

#[tokio::test]
async fn batch_is_redelivered_from_the_first_event_that_the_bus_rejects() {
    let invoked = invoke(BOTH, Some("order-2"), event_with_ends()).await;
    assert_eq!(invoked.repeated_from(), "end-2");
    assert_eq!(invoked.event_ids(), ["order-1"]);
    // The second shed task is retried together with the event, so it is not counted yet.
    assert_eq!(invoked.sent_ids(), ["order-4711"]);
    assert_eq!(invoked.counted(), Some(1));
    let error = invoked.log.iter().find(|line| line["level"] == "ERROR");
    let error = error.unwrap();
    assert_eq!(error["task_id"], "order-2");
    let text = error["error"].as_str().unwrap();
    assert!(text.contains("InternalFailure: not now"), "{text}");

    let invoked = invoke(BOTH, Some("order-1"), event_with_ends()).await;
    assert_eq!(invoked.repeated_from(), "end-1");
    assert_eq!((invoked.counted(), invoked.sent.len()), (None, 0));
}

#[tokio::test]
async fn records_after_a_rejected_shed_task_are_redelivered() {
    let invoked = invoke(BOTH, Some("order-4711"), event_with_ends()).await;
    assert_eq!(invoked.repeated_from(), "111100000000000000000001");
    assert_eq!(invoked.event_ids(), ["order-1", "order-2"]);
    assert_eq!(invoked.counted(), None);
}

#[tokio::test]
async fn events_beyond_the_limit_of_one_request_are_published_in_order() {
    let ends: Vec<_> = (0..25)
        .map(|n| {
            let mut record = event_with_ends()["Records"][0].take();
            record["dynamodb"]["NewImage"]["taskId"] = json!({"S": format!("order-{n}")});
            record
        })
        .collect();
    let invoked = invoke(BUS, None, json!({"Records": ends})).await;
    let wanted: Vec<_> = (0..25).map(|n| format!("order-{n}")).collect();
    assert_eq!(invoked.event_ids(), wanted);
}
