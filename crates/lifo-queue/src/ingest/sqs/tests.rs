//! Tests of the real client with prepared responses.

use aws::error_chain;
use serde_json::{Value, json};

use super::*;
use crate::runner::fake_aws::{FakeAws, Made, Prepared, response};

const QUEUE: &str = "https://sqs.eu-west-1.amazonaws.com/111122223333/ingest";
const DEAD: &str = "https://sqs.eu-west-1.amazonaws.com/111122223333/dead";

fn queue(responses: impl IntoIterator<Item = Prepared>) -> (SqsIngestQueue, FakeAws) {
    let aws = FakeAws::returning(responses);
    // Without the client's own retries, each call is one request.
    let config = aws_sdk_sqs::config::Builder::from(&aws.config())
        .retry_config(aws_sdk_sqs::config::retry::RetryConfig::disabled())
        .build();
    let client = Client::from_conf(config);
    (
        SqsIngestQueue::new(client, QUEUE.to_owned(), DEAD.to_owned()),
        aws,
    )
}

/// A response that accepts all entries of a batch except these.
fn rejecting(rejected: &[usize]) -> Prepared {
    let entry = |id: &usize| json!({"Id": id.to_string(), "SenderFault": true, "Code": "InvalidMessageContents", "Message": "because"});
    let failed: Vec<_> = rejected.iter().map(entry).collect();
    let taken = (0..10).filter(|id| !rejected.contains(id));
    let taken =
        taken.map(|id| json!({"Id": id.to_string(), "MessageId": "m", "MD5OfMessageBody": "0"}));
    let taken: Vec<_> = taken.collect();
    response(
        200,
        json!({"Successful": taken, "Failed": failed}).to_string(),
    )
}

fn too_long() -> Prepared {
    let body = json!({"__type": "com.amazonaws.sqs#BatchRequestTooLong", "message": "because"});
    response(400, body.to_string())
}

fn letter(id: usize, bytes: usize) -> DeadLetter {
    DeadLetter {
        message_id: format!("m{id}"),
        group: None,
        body: "x".repeat(bytes),
        reason: "the task is a number".to_owned(),
    }
}

fn entries(made: &Made) -> Vec<Value> {
    let request: Value = serde_json::from_str(&made.body).unwrap();
    request["Entries"].as_array().unwrap().clone()
}

#[tokio::test]
async fn dead_letter_queue_message_has_its_reason_and_source() {
    let (queue, aws) = queue([rejecting(&[])]);
    let results = queue.bury(&[letter(1, 5)]).await;
    assert!(results[0].is_ok());
    let made = aws.made();
    let request: Value = serde_json::from_str(&made[0].body).unwrap();
    assert_eq!(request["QueueUrl"], DEAD);
    let [entry] = &entries(&made[0])[..] else {
        panic!("{request}")
    };
    assert_eq!(entry["MessageBody"], "xxxxx");
    let attributes = &entry["MessageAttributes"];
    assert_eq!(attributes[REASON]["StringValue"], "the task is a number");
    assert_eq!(attributes[MESSAGE_ID]["StringValue"], "m1");
}

#[tokio::test]
async fn each_dead_letter_queue_message_has_its_own_result_across_batches() {
    let letters: Vec<_> = (0..12).map(|id| letter(id, 5)).collect();
    let (queue, aws) = queue([rejecting(&[3]), rejecting(&[])]);
    let results = queue.bury(&letters).await;
    let failed: Vec<_> = (0..12).filter(|n| results[*n].is_err()).collect();
    assert_eq!(failed, [3]);
    let error = results[3].as_ref().unwrap_err();
    let error = error_chain::chain(&**error);
    assert!(error.contains("InvalidMessageContents: because"), "{error}");
    assert_eq!(aws.made().len(), 2);
}

#[tokio::test]
async fn dead_letter_queue_message_missing_from_the_response_counts_as_failed() {
    let silent = response(200, json!({"Successful": [], "Failed": []}).to_string());
    let (queue, _) = queue([silent]);
    let results = queue.bury(&[letter(0, 5)]).await;
    let error = error_chain::chain(&**results[0].as_ref().unwrap_err());
    assert!(error.contains("NoResult"), "{error}");
}

#[tokio::test]
async fn oversized_batch_is_sent_one_by_one_and_only_the_long_message_fails() {
    let letters = [letter(0, 5), letter(1, 5)];
    let (queue, aws) = queue([too_long(), rejecting(&[]), too_long()]);
    let results = queue.bury(&letters).await;
    assert!(results[0].is_ok());
    assert!(results[1].is_err());
    assert_eq!(aws.made().len(), 3);
}

#[test]
fn batch_has_at_most_ten_messages_and_one_mebibyte() {
    let sizes =
        |letters: &[DeadLetter]| batches(letters).iter().map(|b| b.len()).collect::<Vec<_>>();
    let small: Vec<_> = (0..21).map(|id| letter(id, 5)).collect();
    assert_eq!(sizes(&small), [10, 10, 1]);
    let large: Vec<_> = (0..3).map(|id| letter(id, 400_000)).collect();
    assert_eq!(sizes(&large), [2, 1]);
    // A message above the limit is sent alone, and SQS decides whether it accepts it.
    assert_eq!(sizes(&[letter(0, MAX_BYTES), letter(1, 5)]), [1, 1]);
    assert!(batches(&[]).is_empty());
}

#[tokio::test]
async fn postponed_messages_become_visible_after_whole_seconds() {
    let message = |n: usize, by| Postponed {
        receipt: format!("r{n}"),
        by,
    };
    let messages: Vec<_> = (0..11)
        .map(|n| message(n, Duration::from_millis(1_001)))
        .collect();
    let (queue, aws) = queue([rejecting(&[2]), rejecting(&[])]);
    let failed = queue.postpone(&messages).await;
    assert_eq!(failed.len(), 1);
    let made = aws.made();
    assert_eq!(made.len(), 2);
    let first = &entries(&made[0])[0];
    assert_eq!(first["VisibilityTimeout"], 2);
    assert!(made.iter().all(|made| made.body.contains(QUEUE)));
    assert_eq!(whole_seconds(Duration::from_secs(50_000)), 43_200);
    assert_eq!(whole_seconds(Duration::ZERO), 0);
}
