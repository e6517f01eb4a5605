//! Tests of the messages of failure queues.

use super::*;

#[tokio::test(start_paused = true)]
async fn error_of_the_newest_message_in_a_failure_queue_is_quoted() {
    let message = |sent: i64, body: Value| Message {
        sent: Some(Millis(NOW.0 - sent)),
        body: body.to_string(),
        ..Message::default()
    };
    let lambda = json!({
        "requestContext": { "condition": "RetriesExhausted" },
        "responsePayload": { "errorMessage": "no table" },
    });
    let iot = json!({ "failures": [{ "errorMessage": "no such function" }] });
    let mut scheduler = message(0, json!({}));
    let throttled = ("ERROR_MESSAGE".to_owned(), "Rate exceeded".to_owned());
    scheduler.attributes.extend([throttled]);
    let moved = "SQS moved it, so the log of the function that reads the queue contains its error";
    for (newest, error) in [
        (message(0, lambda.clone()), "no table"),
        (message(0, iot), "no such function"),
        (scheduler, "Rate exceeded"),
        (message(0, json!({ "taskId": "a" })), moved),
    ] {
        let mut fake = Fake::healthy();
        fake.set("failures", "/ApproximateNumberOfMessages", json!("3"));
        fake.messages = Some(vec![message(9, lambda.clone()), newest]);
        let what = format!(
            "queue the-failures (failures): it contains 3 messages; the newest of 2 read, from 2027-01-15T08:00:00.000Z: {error}"
        );
        assert_eq!(findings(&fake, &Arc::default()).await, [what]);
    }
}

#[tokio::test(start_paused = true)]
async fn unreadable_messages_are_counted_and_reported_as_not_checked() {
    let mut fake = Fake::healthy();
    fake.set("failures", "/ApproximateNumberOfMessages", json!("3"));
    fake.messages = None;
    let report = report_of(fake, Arc::default()).await.json;
    let what = &report["findings"][0]["what"];
    assert_eq!(what, "it contains 3 messages");
    let place = &report["notChecked"][0]["place"];
    assert_eq!(place, "the messages of queue the-failures (failures)");
}
