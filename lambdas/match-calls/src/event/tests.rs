use serde_json::json;

use super::*;

fn event() -> Value {
    json!({"Records": [{
        "messageId": "m1",
        "receiptHandle": "r",
        "body": "{\"criteria\": {}}",
        "attributes": {
            "ApproximateReceiveCount": "1",
            "SentTimestamp": "1800000000123",
            "SequenceNumber": "18849496460467696128",
            "MessageGroupId": "*#*",
            "SenderId": "s",
            "MessageDeduplicationId": "c1",
            "ApproximateFirstReceiveTimestamp": "1800000000200"
        },
        "messageAttributes": {},
        "md5OfBody": "0",
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:eu-west-1:111122223333:calls.fifo",
        "awsRegion": "eu-west-1"
    }]})
}

#[test]
fn message_is_read_with_its_group_and_sent_time() {
    let batch = read(event()).unwrap();
    assert_eq!(batch.len(), 1);
    assert_eq!(
        (batch[0].id.as_str(), batch[0].group.as_str()),
        ("m1", "*#*")
    );
    assert_eq!(batch[0].deduplication, "c1");
    assert_eq!(batch[0].sequence, 18_849_496_460_467_696_128);
    assert_eq!(batch[0].sent, Micros(1_800_000_000_123_000));
}

#[test]
fn other_events_are_rejected() {
    let rejected = |event| read(event).unwrap_err().to_string();
    assert_eq!(
        rejected(json!({"calls": []})),
        "the event's fields are [\"calls\"]; send messages of an SQS FIFO queue"
    );
    let mut standard = event();
    standard["Records"][0]["attributes"]
        .as_object_mut()
        .unwrap()
        .remove("MessageGroupId");
    assert_eq!(
        rejected(standard),
        "a message has no valid MessageGroupId; send messages of an SQS FIFO queue"
    );
}
