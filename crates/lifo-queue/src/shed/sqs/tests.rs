//! Tests the real client with prepared responses.

use serde_json::{Value, json};

use super::super::tests::task;
use super::*;
use crate::runner::fake_aws::{FakeAws, Made, Prepared, batch_response, response, sqs_error};
use crate::shed::ShedReason;

const QUEUE: &str = "https://sqs.eu-west-1.amazonaws.com/111122223333/shed";

fn tasks(count: usize) -> Vec<ShedTask> {
    (0..count).map(|n| task(&format!("order-{n}"))).collect()
}

async fn hand_over(
    responses: impl IntoIterator<Item = Prepared>,
    tasks: &[ShedTask],
) -> (Vec<NotHandedOver>, Vec<Made>) {
    let aws = FakeAws::returning(responses);
    let sink = SqsShedSink::new(aws.sqs(), QUEUE.to_owned());
    let left = sink.hand_over(tasks).await;
    (left, aws.made())
}

fn bodies(made: &Made) -> Vec<Value> {
    let entries = made.entries();
    let body = |entry: &Value| serde_json::from_str(entry["MessageBody"].as_str().unwrap());
    entries.iter().map(|entry| body(entry).unwrap()).collect()
}

fn ids(made: &Made) -> Vec<String> {
    let id = |body: &Value| body["taskId"].as_str().unwrap().to_owned();
    bodies(made).iter().map(id).collect()
}

fn indices(left: &[NotHandedOver]) -> Vec<usize> {
    left.iter().map(|task| task.index).collect()
}

#[tokio::test]
async fn message_has_the_documented_format() {
    let (left, made) = hand_over([batch_response(&[0], &[])], &tasks(1)).await;
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(made.len(), 1);
    let request: Value = serde_json::from_str(&made[0].body).unwrap();
    assert_eq!(request["QueueUrl"], QUEUE);
    let expected = json!({
        "taskId": "order-0", "taskStatus": "PENDING", "taskCreated": 1_700_000_000_123_i64,
        "expiresAt": 1_700_003_600, "attempts": 1, "totalAttempts": 3,
        "lastError": "503 from the warehouse", "payload": {"order": 7},
        "payloadOmitted": false, "unreadable": [],
    });
    assert_eq!(bodies(&made[0]), [expected]);
}

#[tokio::test]
async fn message_has_every_field_even_if_no_attribute_was_readable() {
    let bare = ShedTask {
        reason: ShedReason::NotAdmitted,
        task_id: None,
        task_created: None,
        expires_at: None,
        attempts: None,
        total_attempts: None,
        last_error: None,
        payload: Value::Null,
        unreadable: vec!["payload"],
        ..task("a")
    };
    let (_, made) = hand_over([batch_response(&[0], &[])], &[bare]).await;
    let body = &bodies(&made[0])[0];
    assert_eq!(body.as_object().unwrap().len(), 11);
    assert_eq!(body["reason"], "not-admitted");
    assert_eq!(body["unreadable"], json!(["payload"]));
    assert_eq!(
        (&body["taskId"], &body["payloadOmitted"]),
        (&Value::Null, &json!(false))
    );
}

#[tokio::test]
async fn characters_that_sqs_rejects_are_escaped() {
    let text = "a\u{0}\u{1f}\u{fffe}\u{ffff}\u{10ffff}é";
    let odd = ShedTask {
        payload: json!({text: text}),
        ..task("a")
    };
    let (_, made) = hand_over([batch_response(&[0], &[])], std::slice::from_ref(&odd)).await;
    let entry = &made[0].entries()[0];
    let sent = entry["MessageBody"].as_str().unwrap();
    // The characters of XML 1.0, which SQS accepts.
    let allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    assert!(sent.chars().all(allowed), "{sent}");
    assert_eq!(bodies(&made[0])[0]["payload"], odd.payload);
}

#[tokio::test]
async fn batch_holds_at_most_ten_messages() {
    let all: Vec<_> = (0..10).collect();
    let (left, made) = hand_over([batch_response(&all, &[])], &tasks(23)).await;
    assert!(left.is_empty(), "{left:?}");
    let sent: Vec<_> = made.iter().flat_map(ids).collect();
    let expected: Vec<_> = (0..23).map(|n| format!("order-{n}")).collect();
    assert_eq!(sent, expected);
    assert_eq!(made.iter().map(|call| bodies(call).len()).max(), Some(10));
    assert_eq!(made.len(), 3);
}

#[tokio::test]
async fn batch_holds_at_most_one_mebibyte() {
    let overhead = task_with_payload(0);
    let large = batch::MAX_BYTES / 2 - overhead;
    for (extra, calls) in [(0, 1), (1, 2)] {
        let tasks = [large, large + extra].map(|n| ShedTask {
            payload: json!("x".repeat(n)),
            ..task("order-0")
        });
        let (left, made) = hand_over([batch_response(&[0, 1], &[])], &tasks).await;
        assert!(left.is_empty(), "{left:?}");
        assert_eq!(made.len(), calls);
    }
}

/// Size of a message whose payload is a string of `bytes` bytes.
fn task_with_payload(bytes: usize) -> usize {
    let task = ShedTask {
        payload: json!("x".repeat(bytes)),
        ..task("order-0")
    };
    let tasks = [task];
    message::batches(&tasks).next().unwrap()[0].bytes()
}

#[tokio::test]
async fn oversized_payload_is_omitted_and_marked_as_omitted() {
    let fits = batch::MAX_BYTES - task_with_payload(0);
    for (bytes, omitted) in [(fits, false), (fits + 1, true)] {
        let large = ShedTask {
            payload: json!("x".repeat(bytes)),
            ..task("order-0")
        };
        let (left, made) = hand_over([batch_response(&[0], &[])], &[large]).await;
        assert!(left.is_empty(), "{left:?}");
        let body = &bodies(&made[0])[0];
        assert_eq!(body["payloadOmitted"], omitted);
        assert_eq!(body["payload"].is_null(), omitted);
        assert_eq!(body["taskId"], "order-0");
    }
}

#[tokio::test(start_paused = true)]
async fn only_failed_messages_of_a_batch_are_sent_again() {
    let first = batch_response(
        &[0, 2],
        &[(1, false, "InternalError"), (3, true, "RequestThrottled")],
    );
    let (left, made) = hand_over([first, batch_response(&[0, 1], &[])], &tasks(4)).await;
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(made.len(), 2);
    assert_eq!(ids(&made[1]), ["order-1", "order-3"]);
}

#[tokio::test(start_paused = true)]
async fn rejected_message_is_sent_again_without_its_payload() {
    let rejected = batch_response(&[0], &[(1, true, "InvalidParameterValue")]);
    let (left, made) = hand_over([rejected, batch_response(&[0], &[])], &tasks(2)).await;
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(made.len(), 2);
    let again = bodies(&made[1]);
    assert_eq!(again[0]["taskId"], "order-1");
    assert_eq!(
        (&again[0]["payload"], &again[0]["payloadOmitted"]),
        (&Value::Null, &json!(true))
    );
}

#[tokio::test(start_paused = true)]
async fn message_rejected_with_and_without_its_payload_is_an_error() {
    let rejected = batch_response(&[0, 2], &[(1, true, "InvalidMessageContents")]);
    let again = batch_response(&[], &[(0, true, "InvalidMessageContents")]);
    let (left, made) = hand_over([rejected, again], &tasks(3)).await;
    assert_eq!(indices(&left), [1]);
    assert_eq!(
        left[0].error.to_string(),
        "rejected: InvalidMessageContents: because"
    );
    assert_eq!(made.len(), 2, "with its payload and without");
}

#[tokio::test(start_paused = true)]
async fn no_further_batch_is_sent_after_a_failed_message() {
    let all: Vec<_> = (0..10).collect();
    let rejects = batch_response(&all[..9], &[(9, false, "InternalError")]);
    let failing = batch_response(&[], &[(0, false, "InternalError")]);
    let (left, made) = hand_over([batch_response(&all, &[]), rejects, failing], &tasks(35)).await;
    assert_eq!(indices(&left), (19..35).collect::<Vec<_>>());
    assert!(matches!(left[0].error, HandOverError::Rejected(_)));
    for untried in &left[1..] {
        assert!(matches!(untried.error, HandOverError::NotTried));
    }
    assert_eq!(
        made.len(),
        2 + 3,
        "the second batch, and three repetitions of one entry"
    );
}

#[tokio::test(start_paused = true)]
async fn transient_request_errors_are_retried() {
    for trouble in [
        response(0, ""),
        sqs_error(500, "InternalError"),
        sqs_error(503, "ServiceUnavailable"),
        sqs_error(400, "RequestThrottled"),
        sqs_error(400, "KmsThrottled"),
    ] {
        let again = [
            trouble.clone(),
            trouble.clone(),
            batch_response(&[0, 1], &[]),
        ];
        let (left, made) = hand_over(again, &tasks(2)).await;
        assert!(left.is_empty(), "{trouble:?}: {left:?}");
        assert_eq!(made.len(), 3, "{trouble:?}");

        let (left, made) = hand_over([trouble.clone()], &tasks(2)).await;
        assert_eq!(indices(&left), [0, 1], "{trouble:?}");
        assert_eq!(made.len(), 4, "{trouble:?}");
    }
}

#[tokio::test]
async fn permanent_request_errors_are_not_retried() {
    for code in ["QueueDoesNotExist", "AccessDeniedException", "KmsDisabled"] {
        let (left, made) = hand_over([sqs_error(400, code)], &tasks(12)).await;
        assert_eq!(indices(&left), (0..12).collect::<Vec<_>>(), "{code}");
        let error = aws::error_chain::chain(&left[0].error);
        assert!(error.contains(code), "{error}");
        assert!(matches!(left[11].error, HandOverError::NotTried));
        assert_eq!(made.len(), 1, "{code}");
    }
}

/// SQS response that rejects the entire request, with or without the header for the older
/// protocol's code. SQS itself sends the header.
fn too_long(header: bool) -> Prepared {
    let mut rejection = sqs_error(400, "BatchRequestTooLong");
    if header {
        let code = "AWS.SimpleQueueService.BatchRequestTooLong;Sender";
        rejection.1.push(("x-amzn-query-error", code));
    }
    rejection
}

#[tokio::test(start_paused = true)]
async fn batch_above_the_queues_limit_is_sent_message_by_message() {
    for header in [true, false] {
        let prepared = [
            too_long(header),
            // One by one: only the second message is too long and is sent without its payload.
            batch_response(&[0], &[]),
            too_long(header),
            batch_response(&[0], &[]),
            batch_response(&[0], &[]),
        ];
        let (left, made) = hand_over(prepared, &tasks(3)).await;
        assert!(left.is_empty(), "{left:?}");
        let sent: Vec<_> = made.iter().map(|call| ids(call).join(" ")).collect();
        let all = "order-0 order-1 order-2";
        assert_eq!(sent, [all, "order-0", "order-1", "order-2", "order-1"]);
        assert_eq!(bodies(&made[2])[0]["payloadOmitted"], false);
        assert_eq!(bodies(&made[4])[0]["payloadOmitted"], true);
    }
}
