use serde_json::json;

use super::*;

fn sample() -> Value {
    serde_json::from_str(include_str!("../../../../tests/events/ingest-tasks.json")).unwrap()
}

#[test]
fn message_is_read_with_its_sent_time_and_receive_count() {
    let batch = read(sample()).unwrap();
    assert_eq!(batch.len(), 2);
    assert_eq!(batch[0].id, "059f36b4-87a3-44ab-83d2-661975830a7d");
    assert_eq!(batch[0].sent, Millis(1_800_000_000_123));
    assert_eq!(batch[0].first_received, Millis(1_800_000_000_130));
    assert_eq!((batch[0].receives, batch[1].receives), (1, 2));
    assert!(!batch[0].receipt.is_empty());
    assert!(batch[0].body.starts_with('{') && batch[1].body.starts_with('['));
}

#[test]
fn other_events_are_rejected() {
    let rejected = |event| read(event).unwrap_err().to_string();
    assert_eq!(
        rejected(json!({"tasks": []})),
        "the event's fields are [\"tasks\"]; send messages of an SQS standard queue"
    );
    let mut timeless = sample();
    timeless["Records"][1]["attributes"]
        .as_object_mut()
        .unwrap()
        .remove("SentTimestamp");
    assert_eq!(
        rejected(timeless),
        "a message has no valid SentTimestamp; send messages of an SQS standard queue"
    );
}
