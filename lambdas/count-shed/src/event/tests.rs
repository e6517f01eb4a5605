use lifo_queue::task::TaskStatus;
use proptest::prelude::*;
use proptest::sample::Index;
use sequences::json::{any_json, part};
use serde_json::json;

use super::*;

/// Returns a batch with two shed tasks, one settled task, and one task that an operator canceled.
fn stream() -> Value {
    serde_json::from_str(include_str!("../../../../tests/events/count-shed.json")).unwrap()
}

/// Returns the stream's first record, a shed task, after applying `change`.
fn record(change: impl FnOnce(&mut Value)) -> Value {
    let mut record = stream()["Records"][0].take();
    change(&mut record);
    record
}

fn batch(records: &[Value]) -> Batch {
    read(&json!({"Records": records})).unwrap()
}

/// Returns the number of shed tasks in a batch with only this record.
fn tasks_after(change: impl FnOnce(&mut Value)) -> usize {
    batch(&[record(change)]).tasks.len()
}

fn ids(batch: &Batch) -> Vec<&str> {
    let ids = batch.tasks.iter().map(|task| task.task_id.as_ref());
    ids.map(|id| id.unwrap().as_str()).collect()
}

#[test]
fn the_event_for_local_invocation_has_one_task_of_each_kind() {
    let batch = read(&stream()).unwrap();
    assert_eq!(batch.records, 4);
    assert_eq!(ids(&batch), ["order-4711", "order-4712"]);
    let status = |n: usize| batch.tasks[n].task_status;
    assert_eq!(
        (status(0), status(1)),
        (TaskStatus::Pending, TaskStatus::Taken)
    );
    assert_eq!(
        batch.tasks[0].payload,
        json!({"order": 4711, "lines": [1, 2]})
    );
    assert_eq!(batch.tasks[1].expires_at.unwrap().0, 1_795_153_600);
    assert!(batch.tasks.iter().all(|task| task.unreadable.is_empty()));
}

#[test]
fn only_tasks_deleted_by_ttl_are_shed() {
    assert_eq!(tasks_after(|_| ()), 1);
    for name in ["INSERT", "MODIFY", "remove", ""] {
        assert_eq!(tasks_after(|record| record["eventName"] = json!(name)), 0);
    }
    for identity in [
        json!(null),
        json!({}),
        json!({"type": "Service"}),
        json!({"type": "Service", "principalId": "lambda.amazonaws.com"}),
        json!({"type": "IAMUser", "principalId": "dynamodb.amazonaws.com"}),
    ] {
        let set = |record: &mut Value| record["userIdentity"] = identity.clone();
        assert_eq!(tasks_after(set), 0, "{identity}");
    }
    let cancelled = |record: &mut Value| {
        record.as_object_mut().unwrap().remove("userIdentity");
    };
    assert_eq!(tasks_after(cancelled), 0);
}

#[test]
fn superseded_expired_state_is_shed_once() {
    let replaced = |old: Value, new: Value| {
        tasks_after(|record| {
            record["eventName"] = json!("MODIFY");
            record["userIdentity"] = json!(null);
            let mut image = record["dynamodb"]["OldImage"].clone();
            record["dynamodb"]["OldImage"]["revived"] = old;
            image["revived"] = new;
            record["dynamodb"]["NewImage"] = image;
        })
    };
    let put = |name: &str| json!({"S": name});
    assert_eq!(replaced(Value::Null, put("put-1")), 1);
    assert_eq!(replaced(put("put-1"), put("put-2")), 1);
    // A later change before the next take keeps the mark, so the task is not counted again.
    assert_eq!(replaced(put("put-1"), put("put-1")), 0);
    assert_eq!(replaced(put("put-1"), Value::Null), 0);
}

#[test]
fn partly_readable_record_is_counted_with_its_readable_attributes() {
    let damaged = record(|record| {
        record.as_object_mut().unwrap().remove("eventID");
        record["awsRegion"] = json!(7);
        record["dynamodb"]["SizeBytes"] = json!("large");
        record["dynamodb"]["OldImage"]["payload"] = json!({"Z": 1});
        record["dynamodb"]["OldImage"]["attempts"] = json!({"S": "none"});
    });
    let batch = batch(&[damaged]);
    assert_eq!(ids(&batch), ["order-4711"]);
    assert_eq!(batch.tasks[0].unreadable, ["attempts", "payload"]);
    assert_eq!(batch.tasks[0].task_created.unwrap().0, 1_795_250_000_000);
}

#[test]
fn invalid_record_does_not_block_the_others() {
    for bad in [
        json!(null),
        json!(7),
        json!([]),
        json!({"eventName": "REMOVE"}),
        record(|record| record["dynamodb"] = json!("gone")),
        record(|record| record["dynamodb"]["OldImage"]["taskStatus"] = json!("PENDING")),
    ] {
        let batch = batch(&[bad.clone(), record(|_| ()), bad.clone()]);
        assert_eq!(ids(&batch), ["order-4711"], "{bad}");
        assert_eq!(batch.records, 3);
    }
}

#[test]
fn batch_response_names_the_first_failed_record() {
    let batch = read(&stream()).unwrap();
    let response = |first| serde_json::to_value(batch.response(first).unwrap()).unwrap();
    assert_eq!(response(None), json!({"batchItemFailures": []}));
    for (first, number) in [
        (0, "111100000000000000000001"),
        (1, "111100000000000000000002"),
    ] {
        let expected = json!({"batchItemFailures": [{"itemIdentifier": number}]});
        assert_eq!(response(Some(first)), expected);
    }
}

#[test]
fn failed_record_without_sequence_number_fails_the_whole_batch() {
    let nameless = record(|record| record["dynamodb"]["SequenceNumber"] = Value::Null);
    let batch = batch(&[record(|_| ()), nameless]);
    assert_eq!(batch.tasks.len(), 2, "counted all the same");
    assert!(batch.response(None).is_ok() && batch.response(Some(0)).is_ok());
    assert_eq!(batch.response(Some(1)), Err(NoSequenceNumber));
}

#[test]
fn events_of_other_sources_are_rejected() {
    let notification = include_str!("../../../../tests/events/trigger-notification.json");
    let notification = serde_json::from_str(notification).unwrap();
    for event in [
        notification,
        json!(null),
        json!([]),
        json!({}),
        json!({"Records": []}),
        json!({"Records": {}}),
        json!({"Records": [null, {}]}),
        json!({"tasks": []}),
    ] {
        let error = read(&event).unwrap_err().to_string();
        assert!(error.contains("the task table's stream"), "{error}");
    }
}

const WORDS: &[&str] = &["Records", "eventSource", "dynamodb", "S", "N", "M"];

proptest! {
    #[test]
    fn arbitrary_json_is_rejected_or_sheds_no_task(event in any_json(WORDS)) {
        if let Ok(batch) = read(&event) {
            prop_assert_eq!(batch.tasks.len(), 0);
        }
    }

    /// A damaged record does not affect how other records are read, and it is counted at most once.
    #[test]
    fn damaged_record_neither_panics_nor_affects_the_others(
        place in any::<Index>(), value in any_json(WORDS), which in 0..4_usize,
    ) {
        let mut damaged = stream()["Records"][which].take();
        *part(&mut damaged, &place).unwrap() = value;

        let good = read(&stream()).unwrap();
        let mut records = stream()["Records"].as_array().unwrap().clone();
        records.insert(1, damaged);
        let batch = batch(&records);
        prop_assert_eq!(batch.records, 5);
        let own = batch.tasks.len() - good.tasks.len();
        prop_assert!(own <= 1);
        prop_assert_eq!(&batch.tasks[0], &good.tasks[0]);
        prop_assert_eq!(&batch.tasks[1 + own..], &good.tasks[1..]);
        prop_assert_eq!(batch.sequence_numbers.len(), batch.records);
        prop_assert_eq!(&batch.sequence_numbers[2..], &good.sequence_numbers[1..]);
        let moved: Vec<_> = good.shed_at[1..].iter().map(|at| at + 1).collect();
        prop_assert_eq!(&batch.shed_at[1 + own..], &moved[..]);
    }

    /// A shed task with an invalid attribute is still counted and reports only that attribute.
    #[test]
    fn shed_task_with_a_damaged_attribute_is_still_counted(
        name in prop::sample::select(vec!["taskCreated", "ttl", "attempts", "totalAttempts", "payload"]),
        value in any_json(WORDS),
    ) {
        let damaged = record(|record| record["dynamodb"]["OldImage"][name] = value);
        let batch = batch(&[damaged]);
        prop_assert_eq!(ids(&batch), ["order-4711"]);
        prop_assert!(batch.tasks[0].unreadable.iter().all(|named| *named == name));
    }
}
