use super::*;
use crate::store::memory::MemoryStore;
use crate::time::{EpochSeconds, Millis};

const NOW: i64 = 1_800_000_000_001;

struct At(i64);

impl Clock for At {
    fn now(&self) -> Millis {
        Millis(self.0)
    }
}

fn creator(store: &Arc<MemoryStore>) -> Creator {
    let settings = CreateSettings {
        default_ttl: Duration::from_secs(3600),
        max_ttl: Duration::from_secs(7200),
        key_ttl: Duration::from_secs(4000),
        place: Place::Moves,
        groups: false,
    };
    Creator::new(store.clone(), Arc::new(At(NOW)), settings)
}

#[tokio::test]
async fn invalid_task_fails_alone_and_its_error_names_the_field() {
    let store = Arc::new(MemoryStore::new());
    let specs = [
        json!({"taskId": "good"}),
        json!({"taskId": 7}),
        json!({"taskId": "#processor"}),
        json!({"taskId": "late", "ttlSeconds": 7201}),
        json!({"ttl": 5}),
        json!([]),
        json!({"taskId": "odd", "payload": {"n": 1e300}}),
        json!({}),
        json!({"taskCreated": NOW / 1_000}),
        json!({"taskCreated": NOW + 60_001}),
        json!({"taskCreated": NOW - 3_601_000}),
    ];
    let report = creator(&store).create(&specs).await;
    let created: Vec<_> = report.created.iter().map(|task| task.index).collect();
    assert_eq!(created, [0, 7]);
    let named = [
        "taskId",
        "taskId",
        "ttlSeconds",
        "ttl",
        "object",
        "payload.n",
        "taskCreated is 1800000000; give milliseconds",
        "taskCreated",
        "expired at 1800000000 (epoch seconds), which is in the past: raise ttlSeconds",
    ];
    assert_eq!(report.failed.len(), named.len());
    for (failed, field) in report.failed.iter().zip(named) {
        assert!(
            failed.error.contains(field),
            "{}: {}",
            failed.index,
            failed.error
        );
    }
    assert_eq!(report.failed[2].task_id.as_deref(), Some("late"));
    assert_eq!(store.records().len(), 2);
}

#[tokio::test]
async fn creation_is_idempotent_and_the_first_task_with_an_id_wins() {
    let store = Arc::new(MemoryStore::new());
    let specs = [
        json!({"taskId": "a", "payload": 1}),
        json!({"taskId": "a", "payload": 2}),
    ];
    let first = creator(&store).create(&specs).await;
    assert_eq!((first.created[0].index, first.duplicates[0].index), (0, 1));
    let second = creator(&store).create(&specs).await;
    assert_eq!((second.created.len(), second.duplicates.len()), (0, 2));
    let record = store.record(&TaskId::from_stored("a")).unwrap();
    assert_eq!(record.payload, Some(json!(1)));
}

#[tokio::test]
async fn producer_sets_the_creation_time_but_not_in_the_future() {
    let store = Arc::new(MemoryStore::new());
    let specs = [
        json!({"taskId": "old", "taskCreated": NOW - 60_000, "ttlSeconds": 90}),
        json!({"taskId": "ahead", "taskCreated": NOW + 60_000}),
    ];
    let report = creator(&store).create(&specs).await;
    assert_eq!(report.created.len(), 2, "{report:?}");
    let record = |id| store.record(&TaskId::from_stored(id)).unwrap();
    assert_eq!(record("old").created, Millis(NOW - 60_000));
    assert_eq!(
        record("old").ttl,
        Ttl::Seconds(EpochSeconds(1_800_000_001 + 30))
    );
    assert_eq!(record("ahead").created, Millis(NOW));
}

#[tokio::test]
async fn delayed_task_is_due_after_its_delay_and_before_its_expiry() {
    let store = Arc::new(MemoryStore::new());
    let specs = [
        json!({"taskId": "now", "delaySeconds": 0}),
        json!({"taskId": "later", "delaySeconds": 3599}),
        json!({"taskId": "aged", "taskCreated": NOW - 10_000, "ttlSeconds": 60, "delaySeconds": 30}),
        json!({"delaySeconds": 3600}),
        json!({"delaySeconds": 60, "ttlSeconds": 60}),
        json!({"delaySeconds": -1}),
        json!({"delaySeconds": 1.5}),
        json!({"delaySeconds": "30"}),
    ];
    let report = creator(&store).create(&specs).await;
    let due = |id| store.record(&TaskId::from_stored(id)).unwrap().not_before;
    assert_eq!(due("now"), None);
    assert_eq!(due("later"), Some(Millis(NOW + 3_599_000)));
    assert_eq!(due("aged"), Some(Millis(NOW + 20_000)));
    let errors: Vec<_> = report.failed.iter().map(|failed| &failed.error).collect();
    assert_eq!(errors.len(), 5);
    assert_eq!(
        *errors[1],
        "delaySeconds is 60; give a whole number of seconds from 0 to 59, because the task expires \
         60 s after its creation: give a smaller delay, or raise ttlSeconds"
    );
    assert!(
        errors
            .iter()
            .all(|error| error.starts_with("delaySeconds is "))
    );
}

#[tokio::test]
async fn last_state_of_a_key_wins_and_invalid_keys_are_rejected() {
    let store = Arc::new(MemoryStore::new());
    let specs = [
        json!({"key": "k", "payload": 1}),
        json!({"key": "k", "payload": 2}),
        json!({"key": "n", "sequence": 5}),
        json!({"key": "n", "sequence": 4}),
        json!({"key": "n", "sequence": 5}),
        json!({"taskId": "n"}),
        json!({"key": "n"}),
        json!({"key": "x", "taskId": "x"}),
        json!({"sequence": 1}),
        json!({"key": "x", "sequence": -1}),
        json!({"key": 7}),
        json!({"key": "#x"}),
        json!({"key": "x", "ttlSeconds": 4001}),
    ];
    let report = creator(&store).create(&specs).await;
    let indexes = |tasks: &[CreatedTask]| tasks.iter().map(|task| task.index).collect::<Vec<_>>();
    assert_eq!(indexes(&report.created), [1, 2]);
    assert_eq!(indexes(&report.outdated), [0, 3]);
    assert_eq!(indexes(&report.duplicates), [4]);
    assert_eq!(report.superseded(), 2);
    assert_eq!(report.superseded_keys().as_deref(), Some("k, n"));
    let record = store.record(&TaskId::from_stored("k")).unwrap();
    assert_eq!(record.payload, Some(json!(2)));
    let newer = [json!({"key": "n", "sequence": 6})];
    let newer = creator(&store).create(&newer).await;
    assert!(newer.created[0].supersedes);
    assert_eq!(newer.superseded_keys().as_deref(), Some("n"));
    let named = [
        "n is a key; choose another taskId",
        "give every task of the key a sequence, or none",
        "both taskId and key",
        "sequence requires a key",
        "sequence is -1",
        "key is a number",
        "key starts with '#'",
        "at most after 4000 s",
    ];
    assert_eq!(report.failed.len(), named.len(), "{:?}", report.failed);
    for (failed, words) in report.failed.iter().zip(named) {
        assert!(failed.error.contains(words), "{}", failed.error);
        assert!(!failed.retryable);
    }
}

#[tokio::test]
async fn group_becomes_part_of_the_id_and_can_be_combined_with_a_key() {
    let store = Arc::new(MemoryStore::new());
    let mut creator = creator(&store);
    creator.settings.groups = true;
    let long = "g".repeat(crate::task::MAX_GROUP_BYTES + 1);
    let specs = [
        json!({"group": "acme", "taskId": "1"}),
        json!({"group": "acme", "taskId": "1"}),
        json!({"group": "other", "taskId": "1"}),
        json!({"group": "acme", "key": "device-1", "sequence": 1}),
        json!({"taskId": "acme/1"}),
        json!({"group": "acme"}),
        json!({"group": ""}),
        json!({"group": long}),
        json!({"group": "a/b"}),
        json!({"group": 7}),
        json!({"group": "#x"}),
        json!({"group": "acme", "taskId": "x".repeat(2_048)}),
    ];
    let report = creator.create(&specs).await;
    let ids = |tasks: &[CreatedTask]| -> Vec<String> {
        tasks.iter().map(|task| task.task_id.to_string()).collect()
    };
    let created = ids(&report.created);
    assert_eq!(created[..3], ["acme/1", "other/1", "acme/device-1"]);
    assert_eq!(report.created[3].task_id.group(), "acme");
    assert_eq!(ids(&report.duplicates), ["acme/1", "acme/1"]);
    let errors: Vec<_> = report.failed.iter().map(|task| &*task.error).collect();
    let named = [
        "group has 0 bytes; give 1 to 128, or omit it for no group",
        "group has 129 bytes; give 1 to 128",
        "group contains '/', which separates the group from the rest of a task id; choose another name",
        "group is a number, not a string; quote it",
        "group starts with '#', which is reserved",
        "taskId has 2053 bytes; a DynamoDB key has at most 2048",
    ];
    assert_eq!(errors.len(), named.len(), "{errors:?}");
    for (error, named) in errors.iter().zip(named) {
        assert!(error.contains(named), "{error}");
    }
}

#[tokio::test]
async fn queue_without_groups_rejects_a_group_and_names_the_setting() {
    let store = Arc::new(MemoryStore::new());
    let specs = [json!({"group": "acme"}), json!({"taskId": "acme/1"})];
    let report = creator(&store).create(&specs).await;
    assert_eq!(report.created.len(), 1);
    let error = &report.failed[0].error;
    assert!(
        error.contains("omit it, or set processing.groups"),
        "{error}"
    );
}

#[tokio::test]
async fn null_field_counts_as_absent_except_for_the_payload() {
    let store = Arc::new(MemoryStore::new());
    let absent = r#""group": null, "key": null, "sequence": null, "ttlSeconds": null,
        "taskCreated": null, "delaySeconds": null"#;
    let specs = [
        format!(r#"{{"taskId": "a", "payload": null, {absent}}}"#),
        r#"{"taskId": null, "key": "k", "sequence": null}"#.to_owned(),
        r#"{"taskId": null}"#.to_owned(),
        r#"{"ttl": null}"#.to_owned(),
    ];
    let report = creator(&store).create(&specs).await;
    let created: Vec<_> = report.created.iter().map(|task| task.index).collect();
    assert_eq!(created, [0, 1, 2], "{report:?}");
    assert!(report.failed[0].error.contains("field \"ttl\" is unknown"));
    let record = store.record(&TaskId::from_stored("a")).unwrap();
    assert_eq!(record.payload, Some(json!(null)));
    assert_eq!(record.created, Millis(NOW));
    assert_eq!(record.not_before, None);
}

#[tokio::test]
async fn whole_number_is_accepted_in_any_form() {
    let store = Arc::new(MemoryStore::new());
    let created = NOW - 1_000;
    let specs = [
        format!(
            r#"{{"taskId": "a", "taskCreated": {created}.0, "ttlSeconds": 1.2e2, "delaySeconds": 60.0}}"#
        ),
        r#"{"key": "k", "sequence": 1844674407370955161.50e1}"#.to_owned(),
        r#"{"taskId": "b", "ttlSeconds": 120.00000000000000001}"#.to_owned(),
        r#"{"key": "l", "sequence": 18446744073709551616.0}"#.to_owned(),
    ];
    let report = creator(&store).create(&specs).await;
    assert_eq!(report.created.len(), 2, "{report:?}");
    let record = store.record(&TaskId::from_stored("a")).unwrap();
    assert_eq!(record.created, Millis(created));
    assert_eq!(record.not_before, Some(Millis(created + 60_000)));
    let expiry = Millis(created).ceil_seconds().0 + 120;
    assert_eq!(record.ttl, Ttl::Seconds(EpochSeconds(expiry)));
    let errors: Vec<_> = report
        .failed
        .iter()
        .map(|task| task.error.as_str())
        .collect();
    assert!(errors[0].starts_with("ttlSeconds is 120.00000000000000001; give a whole"));
    assert!(errors[1].starts_with("sequence is 18446744073709551616.0; give a whole"));
}
