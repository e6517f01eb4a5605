use serde_json::json;

use super::*;

fn key() -> Value {
    json!({"taskId": {"S": "order-1"}})
}

fn pending() -> Value {
    json!({
        "taskId": {"S": "order-1"},
        "taskStatus": {"S": "PENDING"},
        "taskCreated": {"N": "1700000000123"},
        "ttl": {"N": "1700003600"},
        "attempts": {"N": "1"},
        "totalAttempts": {"N": "3"},
        "lastError": {"S": "503"},
        "payload": {"M": {"to": {"L": [{"S": "a"}, {"NULL": true}, {"N": "2.5"}]}}},
        "createToken": {"S": "unread"},
    })
}

/// `pending` with one attribute changed or removed.
fn with(name: &str, value: Option<Value>) -> Result<ShedTask, NotShed> {
    let mut image = pending();
    let attributes = image.as_object_mut().unwrap();
    match value {
        Some(value) => attributes.insert(name.to_owned(), value),
        None => attributes.remove(name),
    };
    ShedTask::from_image(&key(), &image)
}

#[test]
fn pending_task_is_read_with_all_attributes() {
    let task = ShedTask::from_image(&key(), &pending()).unwrap();
    let expected = ShedTask {
        reason: ShedReason::Expired,
        task_id: Some(TaskId::from_stored("order-1")),
        task_status: TaskStatus::Pending,
        task_created: Some(Millis(1_700_000_000_123)),
        expires_at: Some(EpochSeconds(1_700_003_600)),
        attempts: Some(1),
        total_attempts: Some(3),
        last_error: Some("503".to_owned()),
        payload: json!({"to": ["a", null, 2.5]}),
        unreadable: vec![],
    };
    assert_eq!(task, expected);
}

#[test]
fn expiry_of_a_taken_task_is_read_from_expires_at() {
    let mut image = pending();
    image["taskStatus"] = json!({"S": "TAKEN#3"});
    image["expiresAt"] = json!({"N": "1700000900"});
    let task = ShedTask::from_image(&key(), &image).unwrap();
    assert_eq!(task.task_status, TaskStatus::Taken);
    assert_eq!(task.expires_at, Some(EpochSeconds(1_700_000_900)));

    // A direct writer's TAKEN task has only its ttl.
    image.as_object_mut().unwrap().remove("expiresAt");
    let task = ShedTask::from_image(&key(), &image).unwrap();
    assert_eq!(task.expires_at, Some(EpochSeconds(1_700_003_600)));

    // A PENDING task's expiry is its ttl, even if an earlier take left `expiresAt`.
    image["taskStatus"] = json!({"S": "PENDING#3"});
    image["expiresAt"] = json!({"N": "5"});
    let task = ShedTask::from_image(&key(), &image).unwrap();
    assert_eq!(task.expires_at, Some(EpochSeconds(1_700_003_600)));
}

#[test]
fn only_pending_and_taken_tasks_are_shed() {
    let status = |text: &str| with("taskStatus", Some(json!({"S": text})));
    for waited in ["PENDING", "PENDING#65535", "TAKEN", "TAKEN#1"] {
        assert!(status(waited).is_ok(), "{waited}");
    }
    assert_eq!(
        status("SUCCESS"),
        Err(NotShed::Settled(TaskStatus::Success))
    );
    assert_eq!(
        status("FAILURE#2"),
        Err(NotShed::Settled(TaskStatus::Failure))
    );
    for foreign in ["", "pending", "PENDING#0", "DONE"] {
        assert_eq!(status(foreign), Err(NotShed::NoStatus), "{foreign}");
    }
    assert_eq!(with("taskStatus", None), Err(NotShed::NoStatus));
    let number = with("taskStatus", Some(json!({"N": "1"})));
    assert_eq!(number, Err(NotShed::NoStatus));
    for image in [json!(null), json!([]), json!("PENDING"), json!({})] {
        let read = ShedTask::from_image(&key(), &image);
        assert_eq!(read, Err(NotShed::NoStatus), "{image}");
    }
}

#[test]
fn control_items_are_not_tasks() {
    let own = json!({"taskId": {"S": "#processor"}});
    assert_eq!(ShedTask::from_image(&own, &own), Err(NotShed::OwnItem));
    let odd = with("taskId", Some(json!({"S": "#processor"})));
    assert_eq!(odd, Err(NotShed::OwnItem), "even with a status");
    assert_eq!(
        ShedTask::from_image(&own, &json!({"taskStatus": {"S": "PENDING"}})),
        Err(NotShed::OwnItem)
    );
}

#[test]
fn unreadable_attribute_is_listed_and_the_others_are_kept() {
    let whole = ShedTask::from_image(&key(), &pending()).unwrap();
    for (name, bad) in [
        ("taskCreated", json!({"S": "yesterday"})),
        ("ttl", json!({"S": "never"})),
        ("attempts", json!({"N": "-1"})),
        ("totalAttempts", json!({"N": "many"})),
        ("lastError", json!({"N": "503"})),
        ("payload", json!({"M": {"binary": {"B": "AAEC"}}})),
        ("payload", json!({"X": 1})),
        ("payload", json!("bare")),
    ] {
        let task = with(name, Some(bad.clone())).unwrap();
        assert_eq!(task.unreadable, [name], "{bad}");
        let mut others = whole.clone();
        others.unreadable = vec![name];
        match name {
            "taskCreated" => others.task_created = None,
            "ttl" => others.expires_at = None,
            "attempts" => others.attempts = None,
            "totalAttempts" => others.total_attempts = None,
            "lastError" => others.last_error = None,
            _ => others.payload = Value::Null,
        }
        assert_eq!(task, others, "{bad}");
    }
}

#[test]
fn task_id_is_read_from_the_key_if_the_item_has_no_readable_id() {
    let task = with("taskId", Some(json!({"N": "5"}))).unwrap();
    assert_eq!(task.task_id, Some(TaskId::from_stored("order-1")));
    assert_eq!(task.unreadable, ["taskId"]);

    let task = ShedTask::from_image(&Value::Null, &pending()).unwrap();
    assert_eq!(task.task_id, Some(TaskId::from_stored("order-1")));

    let nameless = json!({"taskStatus": {"S": "PENDING"}});
    let task = ShedTask::from_image(&Value::Null, &nameless).unwrap();
    assert_eq!((task.task_id, task.payload), (None, Value::Null));
    assert_eq!(
        task.unreadable,
        Vec::<&str>::new(),
        "absent is not unreadable"
    );
}

#[test]
fn values_of_direct_writers_are_normalized() {
    let task = with("ttl", Some(json!({"N": "1700003600999"}))).unwrap();
    assert_eq!(task.expires_at, Some(EpochSeconds(1_700_003_600)));
    let task = with("taskCreated", Some(json!({"N": "1.7E12"}))).unwrap();
    assert_eq!(task.task_created, Some(Millis(1_700_000_000_000)));
    let task = with("lastError", Some(json!({"S": "x".repeat(5000)}))).unwrap();
    assert_eq!(task.last_error.unwrap().len(), crate::task::MAX_ERROR_BYTES);
}
