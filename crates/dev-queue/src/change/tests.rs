use serde_json::json;

use super::*;

fn item(status: &str, more: &[(&str, Value)]) -> Value {
    let mut item = json!({
        "taskStatus": {"S": status},
        "taskCreated": {"N": "1000"},
        "taskUpdated": {"N": "1500"},
        "totalAttempts": {"N": "1"},
        "attempts": {"N": "2"},
        "lastError": {"S": "HTTP 500"},
    });
    for (name, value) in more {
        item[*name] = value.clone();
    }
    item
}

fn change(before: Value, after: Value) -> Change {
    Change {
        id: "order-1".to_owned(),
        before,
        after,
        cause: Cause::Write,
    }
}

fn version(of: &str) -> (&'static str, Value) {
    ("taskVersion", json!({ "S": of }))
}

fn number_of(name: &'static str, value: i64) -> (&'static str, Value) {
    (name, json!({"N": value.to_string()}))
}

#[test]
fn status_changes_are_reported_as_transitions() {
    let plain = |status| item(status, &[]);
    let error = || "HTTP 500".to_owned();
    let started = Transition::Started {
        first: true,
        created: Some(Millis(1_000)),
        at: Millis(1_500),
    };
    let due = item("PENDING", &[number_of("notBefore", 2_750)]);
    let late = item("SUCCESS", &[number_of("taskUpdated", 1_800)]);
    let created = Transition::Created(Some(Millis(1_000)), None);
    for (before, after, expected) in [
        (Value::Null, plain("PENDING"), Some(created)),
        (plain("PENDING"), plain("TAKEN"), Some(started)),
        (
            plain("TAKEN"),
            late,
            Some(Transition::Succeeded(Duration::from_millis(300))),
        ),
        (
            plain("TAKEN"),
            plain("FAILURE"),
            Some(Transition::Failed(2, error())),
        ),
        (
            plain("TAKEN#3"),
            due,
            Some(Transition::Returned(error(), Duration::from_millis(1_250))),
        ),
        (
            plain("FAILURE"),
            plain("PENDING"),
            Some(Transition::Redriven),
        ),
        (plain("PENDING"), Value::Null, Some(Transition::Cancelled)),
        (plain("SUCCESS"), Value::Null, None),
        (plain("PENDING"), plain("PENDING"), None),
        (plain("PENDING"), plain("unknown"), None),
    ] {
        assert_eq!(
            change(before, after.clone()).transition(),
            expected,
            "{after}"
        );
    }
}

#[test]
fn unfinished_task_deleted_by_ttl_counts_as_expired() {
    for (status, expected) in [
        ("PENDING", Some(Transition::Expired)),
        ("TAKEN", Some(Transition::Expired)),
        ("SUCCESS", None),
    ] {
        let change = Change {
            cause: Cause::Expiry,
            ..change(item(status, &[]), Value::Null)
        };
        assert_eq!(change.transition(), expected, "{status}");
    }
}

#[test]
fn newer_state_of_a_key_wakes_the_queue_unless_the_key_is_running() {
    for (before, after, transition, is_new_task) in [
        ("PENDING", "PENDING", Some(Transition::Superseded), true),
        ("TAKEN", "TAKEN", Some(Transition::Queued), false),
        (
            "SUCCESS",
            "PENDING",
            Some(Transition::Created(Some(Millis(1_000)), None)),
            true,
        ),
    ] {
        let (old, new) = (item(before, &[version("1")]), item(after, &[version("2")]));
        let change = change(old, new);
        assert_eq!(change.transition(), transition, "{before}");
        assert_eq!(change.is_new_task(), is_new_task, "{before}");
    }
}

#[test]
fn only_inserted_pending_tasks_wake_the_queue() {
    let wakes = |before, after| change(before, after).is_new_task();
    assert!(wakes(Value::Null, item("PENDING", &[])));
    assert!(!wakes(Value::Null, item("SUCCESS", &[])));
    assert!(!wakes(item("TAKEN", &[]), item("PENDING", &[])));
    let reserved = Change {
        id: CONTROL_ITEM.to_owned(),
        ..change(Value::Null, item("PENDING", &[]))
    };
    assert!(!reserved.is_new_task() && reserved.transition().is_none());
}

#[test]
fn control_item_changes_show_wake_ups_and_pauses() {
    let control = |before: &[(&str, Value)], after: &[(&str, Value)]| Change {
        id: CONTROL_ITEM.to_owned(),
        ..change(item("", before), item("", after))
    };
    let requested = |count| number_of("requested", count);
    assert!(control(&[], &[requested(1)]).requests_wake_up());
    assert!(control(&[requested(1)], &[requested(2)]).requests_wake_up());
    assert!(!control(&[requested(2)], &[requested(2)]).requests_wake_up());
    let paused = [
        number_of("pausedUntil", 9),
        ("pauseReason", json!({"S": "deployment"})),
    ];
    let text = control(&[], &paused).pause().unwrap();
    assert!(text.ends_with("ends the pause): deployment"), "{text}");
    assert_eq!(control(&paused, &paused).pause(), None);
    let ended = control(&paused, &[]).pause();
    assert_eq!(ended.as_deref(), Some("the pause has ended"));
    assert_eq!(change(item("", &[]), item("", &paused)).pause(), None);
}
