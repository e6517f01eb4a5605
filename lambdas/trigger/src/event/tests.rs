use super::*;
use proptest::prelude::*;
use sequences::json::{any_json, part};
use serde_json::json;

fn stream() -> Value {
    serde_json::from_str(include_str!("../../tests/events/stream.json")).unwrap()
}

fn tail_call() -> Value {
    serde_json::from_str(include_str!("../../tests/events/tail-call.json")).unwrap()
}

/// Returns the number of tasks in a batch with only the stream's first record, after `change`.
fn tasks_after(change: impl FnOnce(&mut Value)) -> usize {
    let mut event = stream();
    event["Records"].as_array_mut().unwrap().truncate(1);
    change(&mut event["Records"][0]);
    read(event).unwrap().map_or(0, |wake_up| wake_up.tasks)
}

#[test]
fn batch_is_one_wake_up_with_the_id_of_its_first_record() {
    let wake_up = read(stream()).unwrap().unwrap();
    let id = "c4ca4238a0b923820dcc509a6f75849b".to_owned();
    assert_eq!(
        wake_up,
        WakeUp {
            id,
            reason: WakeReason::Insert,
            tasks: 2,
            causes: vec![],
        }
    );
}

#[test]
fn wake_up_lists_the_traces_of_its_tasks_or_of_its_tail_call() {
    let mut event = stream();
    event["Records"][0]["dynamodb"]["NewImage"]["traceHeader"] = json!({"S": "Root=1-a"});
    event["Records"][1]["dynamodb"]["NewImage"]["traceHeader"] = json!({"N": "7"});
    assert_eq!(read(event).unwrap().unwrap().causes, ["Root=1-a"]);

    let mut event = tail_call();
    let body = &mut event["Records"][0]["Sns"]["Message"];
    *body = json!(r#"{"reason":"tail-call","event":"e","trace":"Root=1-b"}"#);
    assert_eq!(read(event).unwrap().unwrap().causes, ["Root=1-b"]);

    let mut event = tail_call();
    event["Records"][0]["Sns"]["Message"] = json!("an operator's own words");
    assert_eq!(read(event).unwrap().unwrap().causes, [""; 0]);
}

#[test]
fn wake_up_has_the_id_of_the_first_record_even_if_it_is_not_a_task() {
    let mut event = stream();
    event["Records"][0]["eventName"] = json!("REMOVE");
    let wake_up = read(event).unwrap().unwrap();
    assert_eq!(
        (wake_up.id.as_str(), wake_up.tasks),
        ("c4ca4238a0b923820dcc509a6f75849b", 1)
    );
}

#[test]
fn only_inserted_pending_tasks_cause_a_wake_up() {
    assert_eq!(tasks_after(|_| ()), 1);
    assert_eq!(
        tasks_after(|record| record["eventName"] = json!("MODIFY")),
        0
    );
    assert_eq!(
        tasks_after(|record| record["eventName"] = json!("REMOVE")),
        0
    );
    let key = |id| move |record: &mut Value| record["dynamodb"]["Keys"]["taskId"] = id;
    assert_eq!(tasks_after(key(json!({"S": "#processor"}))), 0);
    assert_eq!(tasks_after(key(json!({"N": "5"}))), 0);
    let status = |text: &'static str| {
        move |record: &mut Value| record["dynamodb"]["NewImage"]["taskStatus"] = json!({"S": text})
    };
    assert_eq!(tasks_after(status("PENDING#12")), 1);
    for other in ["TAKEN", "SUCCESS", "FAILURE", "PENDING#x", "pending", ""] {
        assert_eq!(tasks_after(status(other)), 0, "{other}");
    }
    let no_image = |record: &mut Value| {
        record["dynamodb"]
            .as_object_mut()
            .unwrap()
            .remove("NewImage");
    };
    assert_eq!(tasks_after(no_image), 0);
}

/// Returns the number of tasks in the record of a key whose version and status changed as given.
fn of_key(old: (&str, &str), new: (&str, &str)) -> usize {
    let set = |image: &mut Value, (version, status): (&str, &str)| {
        image["taskVersion"] = json!({"S": version});
        image["taskStatus"] = json!({"S": status});
    };
    tasks_after(|record| {
        record["eventName"] = json!("MODIFY");
        let mut before = record["dynamodb"]["NewImage"].clone();
        set(&mut before, old);
        record["dynamodb"]["OldImage"] = before;
        set(&mut record["dynamodb"]["NewImage"], new);
    })
}

#[test]
fn newer_state_of_a_key_causes_a_wake_up_unless_the_key_is_running() {
    for before in ["PENDING", "SUCCESS", "FAILURE"] {
        assert_eq!(of_key(("s1", before), ("s2", "PENDING")), 1, "{before}");
    }
    // At the end of the run, the processor makes the newer state PENDING and reads the index again.
    assert_eq!(of_key(("s1", "TAKEN"), ("s2", "TAKEN")), 0);
    assert_eq!(of_key(("s2", "TAKEN"), ("s2", "PENDING")), 0);
    // A redrive, a corrected `ttl` and the queue's other writes do not change the version.
    assert_eq!(of_key(("s2", "FAILURE"), ("s2", "PENDING")), 0);
    assert_eq!(of_key(("s2", "PENDING"), ("s2", "PENDING")), 0);
}

#[test]
fn notification_is_parsed_as_a_tail_call() {
    let wake_up = read(tail_call()).unwrap().unwrap();
    let id = "95df01b4-ee98-5cb9-9903-4c221d41eb5e".to_owned();
    assert_eq!(
        wake_up,
        WakeUp {
            id,
            reason: WakeReason::TailCall,
            tasks: 0,
            causes: vec![],
        }
    );
}

#[test]
fn events_for_local_invocation_cause_a_wake_up() {
    let insert = include_str!("../../../../tests/events/trigger-insert.json");
    let wake_up = read(serde_json::from_str(insert).unwrap())
        .unwrap()
        .unwrap();
    assert_eq!((wake_up.reason, wake_up.tasks), (WakeReason::Insert, 1));
    let notification = include_str!("../../../../tests/events/trigger-notification.json");
    let wake_up = read(serde_json::from_str(notification).unwrap())
        .unwrap()
        .unwrap();
    assert_eq!(wake_up.reason, WakeReason::TailCall);
}

#[test]
fn malformed_event_is_rejected_with_the_field() {
    let cut = |mut event: Value, pointer: &str, field: &str| {
        event
            .pointer_mut(pointer)
            .unwrap()
            .as_object_mut()
            .unwrap()
            .remove(field);
        functions::Failure::from(read(event).unwrap_err())
    };
    for (event, pointer, field) in [
        (stream(), "/Records/1", "eventID"),
        (stream(), "/Records/0", "dynamodb"),
        (tail_call(), "/Records/0/Sns", "MessageId"),
        (tail_call(), "/Records/0", "Sns"),
    ] {
        let failure = cut(event, pointer, field);
        assert!(failure.message().contains(field), "{failure:?}");
    }
    for event in [
        json!(null),
        json!([]),
        json!({}),
        json!({"Records": []}),
        json!({"tasks": []}),
    ] {
        let error = read(event).unwrap_err().to_string();
        assert!(error.contains("TriggerTopic"), "{error}");
    }
}

const WORDS: &[&str] = &["Records", "eventSource"];

proptest! {
    #[test]
    fn arbitrary_json_is_rejected(event in any_json(WORDS)) {
        prop_assert!(read(event).is_err());
    }

    /// A real event with one replaced value is read or rejected, and its number of tasks never
    /// grows.
    #[test]
    fn a_damaged_event_never_panics(place in any::<prop::sample::Index>(), value in any_json(WORDS), sns in any::<bool>()) {
        let mut event = if sns { tail_call() } else { stream() };
        *part(&mut event, &place).unwrap() = value;
        if let Ok(Some(wake_up)) = read(event) {
            prop_assert!(wake_up.tasks <= 2);
            prop_assert_eq!(wake_up.tasks == 0, wake_up.reason == WakeReason::TailCall);
        }
    }
}
