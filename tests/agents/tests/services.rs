//! The real SQS and SNS clients, with prepared responses.
#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_queue::aws::AwsPublisher;
use agent_queue::call::OutboxEvent;
use agent_queue::intake::sqs::SqsCallQueue;
use agent_queue::intake::{CallQueue, Delivery};
use agent_queue::publish::{PublishError, Publisher};
use agents::*;
use aws_credential_types::Credentials;
use aws_smithy_runtime_api::client::http::{SharedHttpClient, http_client_fn};
use serde_json::{Value, json};
use simulator::protocol::{connector, respond};

const CALLS: &str = "https://sqs.eu-west-1.amazonaws.com/111122223333/calls.fifo";
const DEAD: &str = "https://sqs.eu-west-1.amazonaws.com/111122223333/dead.fifo";
const TOPIC: &str = "arn:aws:sns:eu-west-1:111122223333:assignments";

type Bodies = Arc<Mutex<Vec<String>>>;

/// Creates a client that gets the same response to every request. Also returns the request bodies.
fn returning(response: impl Into<String>) -> (SharedHttpClient, Bodies) {
    let response = response.into();
    responding(move |_| response.clone())
}

/// Creates a client whose response depends on the request's body.
fn responding(
    response: impl Fn(&str) -> String + Send + Sync + 'static,
) -> (SharedHttpClient, Bodies) {
    let bodies = Bodies::default();
    let made = Arc::clone(&bodies);
    let connector = connector(move |request| {
        let body = String::from_utf8(request.body().bytes().unwrap().to_vec()).unwrap();
        let response = response(&body);
        made.lock().unwrap().push(body);
        async move { respond(200, response) }
    });
    (http_client_fn(move |_, _| connector.clone()), bodies)
}

/// Creates a client from an SDK crate, such as `aws_sdk_sqs`.
macro_rules! client {
    ($sdk:ident, $http:expr) => {{
        use $sdk::config::{Config, Region};
        let hidden = Credentials::new("AKIDEXAMPLE", "hidden-key", None, None, "test");
        let config = Config::builder()
            .behavior_version(aws::client::behavior())
            .region(Region::from_static("eu-west-1"))
            .credentials_provider(hidden)
            .http_client($http);
        $sdk::Client::from_conf(config.build())
    }};
}

fn publisher(http: SharedHttpClient) -> AwsPublisher {
    let sns = client!(aws_sdk_sns, http.clone());
    AwsPublisher::new(sns, client!(aws_sdk_sqs, http), TOPIC, DEAD)
}

/// Returns SQS's response to entries 0 to 9, where entry 3 failed and entry 4 is missing.
fn but_two() -> String {
    let done: Vec<Value> = (0..10)
        .filter(|id| ![3, 4].contains(id))
        .map(|id| json!({"Id": id.to_string(), "MessageId": "m", "MD5OfMessageBody": "0"}))
        .collect();
    let failed = json!({"Id": "3", "SenderFault": true, "Code": "ReceiptHandleIsInvalid", "Message": "because"});
    json!({"Successful": done, "Failed": [failed]}).to_string()
}

fn delivery(number: u32) -> Delivery {
    Delivery {
        id: format!("m{number}"),
        receipt: format!("r{number}"),
        received: 1,
        body: "{}".to_owned(),
        group: "Spanish#M".to_owned(),
        deduplication: format!("d{number}"),
        sent: at(1),
        sequence: number.into(),
    }
}

#[tokio::test]
async fn calls_become_visible_ten_at_a_time_and_each_failure_is_reported() {
    let (client, made) = returning(but_two());
    let queue = SqsCallQueue::new(client!(aws_sdk_sqs, client), CALLS);
    let deliveries: Vec<_> = (0..11).map(delivery).collect();
    let messages: Vec<_> = deliveries.iter().collect();

    let failed = queue.show_again(&messages, Duration::from_secs(7)).await;

    let error = failed.unwrap_err();
    assert_eq!(error, "2 of 10 messages: ReceiptHandleIsInvalid: because");
    let made = made.lock().unwrap();
    let requests = made.iter().map(|body| serde_json::from_str(body).unwrap());
    let requests: Vec<Value> = requests.collect();
    let entries = requests.iter().map(|request| &request["Entries"]);
    let entries: Vec<_> = entries.flat_map(|all| all.as_array().unwrap()).collect();
    assert_eq!(requests.len(), 2, "the rest is tried after an error");
    assert_eq!(entries.len(), 11);
    assert!(requests.iter().all(|request| request["QueueUrl"] == CALLS));
    assert!(entries.iter().all(|entry| entry["VisibilityTimeout"] == 7));
    assert_eq!(entries[10]["ReceiptHandle"], "r10");
}

/// Returns SNS's response to entries 0 to 9, of which this one failed.
fn topic_but(failed: usize) -> String {
    let member = |id| format!("<member><Id>{id}</Id><MessageId>m</MessageId></member>");
    let done: String = (0..10).filter(|id| *id != failed).map(member).collect();
    format!(
        "<PublishBatchResponse xmlns='http://sns.amazonaws.com/doc/2010-03-31/'><PublishBatchResult>\
        <Successful>{done}</Successful><Failed><member><Id>{failed}</Id><Code>InternalError</Code>\
        <SenderFault>false</SenderFault></member></Failed></PublishBatchResult></PublishBatchResponse>"
    )
}

#[tokio::test]
async fn expired_call_missing_from_a_response_of_the_topic_or_the_queue_is_not_published() {
    let (client, made) = responding(|body| match body.starts_with("Action=PublishBatch") {
        true => topic_but(7),
        false => but_two(),
    });
    let publisher = publisher(client);
    let expired =
        |number: u64| OutboxEvent::Expired(expired(&format!("c{number}"), "Spanish#M", number));
    let events: Vec<_> = (0..10).map(expired).collect();

    let results = publisher.publish(&events).await;

    let failed = results.iter().filter_map(|result| result.as_ref().err());
    let reasons = [
        ("c3", "ReceiptHandleIsInvalid: because"),
        ("c4", "NoResult: no reason given"),
        ("c7", "InternalError"),
    ];
    assert_eq!(failed.clone().count(), 3);
    for (error, (call, reason)) in failed.zip(reasons) {
        assert_eq!(error.call, call);
        assert!(error.reason.contains(reason), "{error}");
    }
    let made = made.lock().unwrap();
    assert_eq!(made.len(), 2);
    for part in ["=event&", "=expired&", "=callId&", "arrivedAt"] {
        assert!(made[0].contains(part), "{part}: {}", made[0]);
    }
    assert!(!made[0].contains("=assignment&"), "{}", made[0]);
}

#[tokio::test]
async fn assignment_missing_from_the_response_is_not_published() {
    let response = "<PublishBatchResponse xmlns='http://sns.amazonaws.com/doc/2010-03-31/'><PublishBatchResult>\
        <Successful><member><Id>0</Id><MessageId>m</MessageId></member></Successful>\
        <Failed><member><Id>2</Id><Code>InternalError</Code><SenderFault>false</SenderFault></member></Failed>\
        </PublishBatchResult></PublishBatchResponse>";
    let (client, made) = returning(response);
    let publisher = publisher(client);
    let assigned = |number: u64| {
        OutboxEvent::Assigned(assignment(&format!("c{number}"), "Spanish#M", number, None))
    };
    let events: Vec<_> = (0..3).map(assigned).collect();

    let results = publisher.publish(&events).await;

    let failed = results.iter().map(|result| result.as_ref().err());
    let code = |e: &PublishError| e.reason.rsplit(": ").nth(1).unwrap().to_owned();
    let codes: Vec<_> = failed.map(|failed| failed.map(code)).collect();
    let reasons: Vec<_> = codes.iter().map(Option::as_deref).collect();
    assert_eq!(reasons, [None, Some("NoResult"), Some("InternalError")]);
    assert_eq!(made.lock().unwrap().len(), 1);
}
