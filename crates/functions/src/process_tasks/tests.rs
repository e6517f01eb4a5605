use proptest::prelude::*;
use sequences::json::any_json;
use serde_json::json;

use super::*;

const NOW: Millis = Millis(1_700_000_000_000);

fn context(deadline: u64) -> Context {
    let mut context = Context::default();
    context.request_id = "request".to_owned();
    context.deadline = deadline;
    context
}

fn notification() -> Value {
    serde_json::from_str(include_str!("../../tests/events/notification.json")).unwrap()
}

#[test]
fn notification_id_or_request_id_identifies_the_turn() {
    let id = |event| invocation(event, &context(0), NOW).map(|invocation| invocation.message_id);
    assert_eq!(
        id(notification()).unwrap(),
        "95df01b4-ee98-5cb9-9903-4c221d41eb5e"
    );
    assert_eq!(id(json!({})).unwrap(), "request");
    assert_eq!(id(Value::Null).unwrap(), "request");
}

#[test]
fn the_event_for_local_invocation_is_read() {
    let event = include_str!("../../../../tests/events/process-tasks.json");
    let event = serde_json::from_str(event).unwrap();
    assert!(invocation(event, &context(0), NOW).is_ok());
}

#[test]
fn multiple_notifications_in_one_event_start_one_turn() {
    let mut event = notification();
    let second = event["Records"][0].clone();
    event["Records"].as_array_mut().unwrap().push(second);
    event["Records"][1]["Sns"]["MessageId"] = json!("second");
    let id = invocation(event, &context(0), NOW).unwrap().message_id;
    assert_eq!(id, "95df01b4-ee98-5cb9-9903-4c221d41eb5e");
}

#[test]
fn other_events_are_rejected_with_a_description() {
    for (event, named) in [
        (json!({"simulate": {"count": 1}}), "simulate"),
        (json!({"Records": []}), "Records"),
        (json!([]), "array"),
        (json!("x"), "string"),
    ] {
        let error = invocation(event, &context(0), NOW).unwrap_err().to_string();
        assert!(
            error.contains(named) && error.contains("ProcessTasksTopic"),
            "{error}"
        );
    }
    let mut event = notification();
    event["Records"][0]["Sns"]
        .as_object_mut()
        .unwrap()
        .remove("MessageId");
    let error = invocation(event, &context(0), NOW)
        .map(drop)
        .map_err(Failure::from)
        .unwrap_err();
    assert!(error.message().contains("MessageId"), "{error:?}");
}

#[test]
fn past_deadline_counts_as_no_deadline() {
    let deadline = |at| invocation(json!({}), &context(at), NOW).unwrap().deadline;
    assert_eq!(deadline(1_700_000_060_000), Some(Millis(1_700_000_060_000)));
    assert_eq!(deadline(0), None);
    assert_eq!(deadline(60_000), None);
    assert_eq!(deadline(u64::MAX), None);
}

#[test]
fn each_slot_and_the_heartbeat_have_a_thread() {
    let contract = include_str!("../../../../tests/contract.json");
    let contract: Value = serde_json::from_str(contract).unwrap();
    let threads_for = |slots: u16| {
        let mut settings = contract["settings"]["defaults"]["process-tasks"].clone();
        settings["concurrency"] = slots.into();
        let lookup = |name: &str| match name {
            "SETTINGS_PROCESS_TASKS" => Some(settings.to_string()),
            "TASK_RUNNER" => Some(r#"{"kind": "custom"}"#.to_owned()),
            _ => Some("arn:aws:sns:eu-west-1:111122223333:t".to_owned()),
        };
        threads(&Ok(ProcessTasks::read(&lookup).unwrap()))
    };
    assert_eq!(threads_for(10), 11);
    assert_eq!(threads_for(1_000), MAX_THREADS);
    assert_eq!(
        threads(&ProcessTasks::read(&|_| None)),
        1,
        "only to report the missing variable"
    );
}

const WORDS: &[&str] = &["Records", "EventSource", "Sns", "MessageId", "aws:sns"];

proptest! {
    /// Of arbitrary JSON, only `null` and `{}` start a turn. All other values are rejected.
    #[test]
    fn arbitrary_json_starts_no_turn(event in any_json(WORDS), deadline in any::<u64>()) {
        let by_hand = event.is_null() || event == json!({});
        prop_assert_eq!(invocation(event, &context(deadline), NOW).is_ok(), by_hand);
    }
}
