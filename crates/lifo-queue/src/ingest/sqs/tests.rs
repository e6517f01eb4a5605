//! Tests the real client with prepared responses.

use aws::error_chain;
use serde_json::{Value, json};

use super::*;
use crate::runner::fake_aws::{FakeAws, Prepared, batch_response, sqs_error};

const QUEUE: &str = "https://sqs.eu-west-1.amazonaws.com/111122223333/ingest";
const DEAD: &str = "https://sqs.eu-west-1.amazonaws.com/111122223333/dead";

fn queue(responses: impl IntoIterator<Item = Prepared>) -> (SqsIngestQueue, FakeAws) {
    let aws = FakeAws::returning(responses);
    let queue = SqsIngestQueue::new(aws.sqs(), QUEUE.to_owned(), DEAD.to_owned());
    (queue, aws)
}

/// A response that accepts all entries of a batch except these.
fn rejecting(rejected: &[usize]) -> Prepared {
    let taken: Vec<_> = (0..10).filter(|id| !rejected.contains(id)).collect();
    let rejected: Vec<_> = rejected
        .iter()
        .map(|id| (*id, true, "InvalidMessageContents"))
        .collect();
    batch_response(&taken, &rejected)
}

fn too_long() -> Prepared {
    sqs_error(400, "BatchRequestTooLong")
}

fn letter(id: usize, bytes: usize) -> DeadLetter {
    DeadLetter {
        message_id: format!("m{id}"),
        group: None,
        body: "x".repeat(bytes),
        reason: "the task is a number".to_owned(),
    }
}

#[tokio::test]
async fn dead_letter_queue_message_has_its_reason_and_source() {
    let (queue, aws) = queue([rejecting(&[])]);
    let results = queue.bury(&[letter(1, 5)]).await;
    assert!(results[0].is_ok());
    let made = aws.made();
    let request: Value = serde_json::from_str(&made[0].body).unwrap();
    assert_eq!(request["QueueUrl"], DEAD);
    let [entry] = &made[0].entries()[..] else {
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
    let sizes = |letters: &[DeadLetter]| batches(letters).map(|b| b.len()).collect::<Vec<_>>();
    let small: Vec<_> = (0..21).map(|id| letter(id, 5)).collect();
    assert_eq!(sizes(&small), [10, 10, 1]);
    let large: Vec<_> = (0..3).map(|id| letter(id, 400_000)).collect();
    assert_eq!(sizes(&large), [2, 1]);
    // A message above the limit is sent alone, and SQS decides whether it accepts it.
    assert_eq!(sizes(&[letter(0, batch::MAX_BYTES), letter(1, 5)]), [1, 1]);
    assert!(sizes(&[]).is_empty());
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
    let first = &made[0].entries()[0];
    assert_eq!(first["VisibilityTimeout"], 2);
    assert!(made.iter().all(|made| made.body.contains(QUEUE)));
    assert_eq!(whole_seconds(Duration::from_secs(50_000)), 43_200);
    assert_eq!(whole_seconds(Duration::ZERO), 0);
}

#[tokio::test]
async fn received_message_has_its_times_and_stays_hidden_for_whole_seconds() {
    let message = |attributes: Value| json!({"MessageId": "m", "ReceiptHandle": "r", "Body": "{}", "Attributes": attributes});
    let complete = json!({
        "SentTimestamp": "1000", "ApproximateFirstReceiveTimestamp": "3000",
        "ApproximateReceiveCount": "2", "MessageGroupId": "tenant",
    });
    let messages = [message(complete), message(json!({"SentTimestamp": "1000"}))];
    let response = json!({ "Messages": messages }).to_string();
    let (queue, aws) = queue([crate::runner::fake_aws::response(200, response)]);
    let received = queue.receive(Duration::from_millis(5_001)).await.unwrap();
    let expected = Delivery {
        id: "m".to_owned(),
        receipt: "r".to_owned(),
        body: "{}".to_owned(),
        group: Some("tenant".to_owned()),
        sent: Millis(1_000),
        first_received: Millis(3_000),
        receives: 2,
    };
    assert_eq!(received, [expected], "the other is redelivered");
    let request: Value = serde_json::from_str(&aws.made()[0].body).unwrap();
    assert_eq!(
        (&request["VisibilityTimeout"], &request["WaitTimeSeconds"]),
        (&json!(6), &json!(0))
    );
    assert_eq!(
        (&request["QueueUrl"], &request["MaxNumberOfMessages"]),
        (&json!(QUEUE), &json!(10))
    );
    let attributes = request["MessageSystemAttributeNames"].as_array().unwrap();
    assert_eq!(attributes.len(), 4);
}

#[tokio::test]
async fn messages_are_deleted_in_batches_and_each_failure_is_returned() {
    let receipts: Vec<_> = (0..12).map(|n| format!("r{n}")).collect();
    let (queue, aws) = queue([rejecting(&[3]), rejecting(&[])]);
    let failed = queue.delete(&receipts).await;
    assert_eq!(failed.len(), 1);
    let made = aws.made();
    assert_eq!(made.len(), 2);
    assert_eq!(made[0].entries()[3]["ReceiptHandle"], "r3");
}
