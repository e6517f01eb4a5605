use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::time::Millis;

const SENT: Millis = Millis(1_800_000_000_000);

fn settings() -> CreateSettings {
    CreateSettings {
        default_ttl: Duration::from_secs(3_600),
        max_ttl: Duration::from_secs(7_200),
        key_ttl: crate::create::LONGEST_TTL,
        place: crate::task::Place::Moves,
        groups: false,
    }
}

fn delivery(body: &str) -> Delivery {
    Delivery {
        id: "m1".to_owned(),
        receipt: "r1".to_owned(),
        body: body.to_owned(),
        group: None,
        sent: SENT,
        first_received: SENT,
        receives: 1,
    }
}

fn contents(message: &Delivery) -> Contents<'_> {
    read(message, &settings(), Millis(0))
}

#[test]
fn ids_of_array_tasks_use_their_index_even_among_invalid_elements() {
    let message = delivery(r#"[{}, 7, {"taskId": "own"}, {"ttlSeconds": 0}, {}]"#);
    let contents = contents(&message);
    let ids: Vec<_> = contents
        .tasks
        .iter()
        .map(|(_, task)| task.id.as_str())
        .collect();
    assert_eq!(ids, ["m1#0", "own", "m1#4"]);
    let letter = dead_letter(&message, &contents.wrong);
    assert_eq!(letter.body, r#"[7,{"ttlSeconds": 0}]"#);
    assert!(
        letter.reason.starts_with("element 1: the task is a number"),
        "{}",
        letter.reason
    );
    assert!(
        letter.reason.contains("element 3: ttlSeconds is 0"),
        "{}",
        letter.reason
    );
    assert_eq!(letter.message_id, "m1");
}

/// The dead-letter message for a body that is entirely invalid.
fn rejected(body: &str) -> DeadLetter {
    let message = delivery(body);
    let contents = contents(&message);
    assert!(contents.tasks.is_empty(), "{contents:?}");
    let letter = dead_letter(&message, &contents.wrong);
    assert_eq!(letter.body, body);
    letter
}

#[test]
fn invalid_body_is_dead_lettered_unchanged_with_the_field_and_the_remedy() {
    assert!(
        rejected("hello")
            .reason
            .contains("send one task or an array")
    );
    assert!(rejected("").reason.contains("the body is not valid JSON"));
    assert!(
        rejected("[{}")
            .reason
            .contains("the body is not valid JSON")
    );
    assert!(rejected("7").reason.contains("the task is a number"));
    assert!(rejected(r#"{"ttl": 5}"#).reason.contains("field \"ttl\""));
    let seconds = rejected(r#"{"taskCreated": 1800000000}"#).reason;
    assert!(seconds.contains("taskCreated is 1800000000"), "{seconds}");
    let many = format!("[{}]", vec!["{}"; MAX_TASKS + 1].join(","));
    assert!(rejected(&many).reason.contains("the array has 10001 tasks"));
}

#[test]
fn body_may_begin_with_a_byte_order_mark_and_is_dead_lettered_with_it() {
    for (body, id) in [(r#"{"payload": 1}"#, "m1"), ("[{}]", "m1#0")] {
        let message = delivery(&format!("\u{feff}{body}"));
        let contents = contents(&message);
        assert_eq!(contents.tasks[0].1.id.as_str(), id);
        assert!(contents.wrong.is_empty(), "{contents:?}");
    }
    rejected("\u{feff}hello");
    rejected("\u{feff}[{}");
    rejected("\u{feff}{\"ttl\": 5}");
}

#[test]
fn reason_for_an_sns_envelope_names_raw_message_delivery() {
    let envelope = json!({
        "Type": "Notification", "TopicArn": "arn:aws:sns:eu-west-1:1:t", "Message": "{}",
    });
    let reason = rejected(&envelope.to_string()).reason;
    assert!(reason.contains("raw message delivery"), "{reason}");
}

#[test]
fn a_reason_fits_an_attribute() {
    let message = delivery(&format!("[{}]", vec![r#"{"é": 1}"#; 400].join(",")));
    let letter = dead_letter(&message, &contents(&message).wrong);
    assert!(letter.reason.len() <= MAX_REASON_BYTES);
    assert!(letter.reason.ends_with('…'));
    let message = delivery("{\"a\\nb\": 1}");
    let letter = dead_letter(&message, &contents(&message).wrong);
    assert!(!letter.reason.contains('\n'), "{}", letter.reason);
}

/// Valid and nearly valid tasks, and arbitrary text.
fn bodies() -> impl Strategy<Value = String> {
    let field = prop_oneof![
        Just(r#""taskId":"a""#.to_owned()),
        Just(r#""taskId":7"#.to_owned()),
        Just(r#""payload":{"x":[1,2.5,null]}"#.to_owned()),
        Just(r#""payload":1e999"#.to_owned()),
        Just(r#""ttlSeconds":60"#.to_owned()),
        Just(r#""ttlSeconds":-1"#.to_owned()),
        (0_i64..2_000_000_000_000).prop_map(|at| format!(r#""taskCreated":{at}"#)),
        Just(r#""odd":"\uffff""#.to_owned()),
    ];
    let task = prop::collection::vec(field, 0..4).prop_map(|f| format!("{{{}}}", f.join(",")));
    let element = prop_oneof![4 => task, 1 => Just("7".to_owned()), 1 => Just("[]".to_owned())];
    let array =
        prop::collection::vec(element.clone(), 0..5).prop_map(|e| format!("[{}]", e.join(" ,")));
    prop_oneof![3 => element, 3 => array, 2 => ".{0,40}"]
}

proptest! {
    #[test]
    fn every_element_is_a_task_or_is_kept_with_a_reason(body in bodies()) {
        let message = delivery(&body);
        let contents = contents(&message);
        // Parses raw values, because a number such as 1e999 must invalidate only its own element.
        let elements = serde_json::from_str::<Vec<&RawValue>>(&body).map_or(1, |e| e.len());
        prop_assert_eq!(contents.tasks.len() + contents.wrong.len(), elements);
        for (_, task) in &contents.tasks {
            prop_assert!(task.created <= SENT);
            prop_assert!(!task.id.as_str().is_empty());
        }
        if !contents.wrong.is_empty() {
            let letter = dead_letter(&message, &contents.wrong);
            prop_assert!(!letter.reason.is_empty() && letter.reason.len() <= MAX_REASON_BYTES);
            // The dead-letter message can be parsed and has the same number of invalid elements.
            let message = delivery(&letter.body);
            let again = super::tests::contents(&message);
            prop_assert_eq!(again.wrong.len(), contents.wrong.len());
            prop_assert_eq!(again.tasks.len(), 0);
        }
    }

    #[test]
    fn redelivered_message_has_the_same_task_ids(body in bodies()) {
        let ids = |receives| {
            let message = Delivery { receives, ..delivery(&body) };
            contents(&message).tasks.into_iter().map(|(_, task)| task.id).collect::<Vec<_>>()
        };
        prop_assert_eq!(ids(1), ids(2));
    }
}

#[test]
fn message_group_is_the_default_only_in_a_queue_with_groups() {
    let ids = |body: &str, group: &str, groups| {
        let message = Delivery {
            group: Some(group.to_owned()),
            ..delivery(body)
        };
        let settings = CreateSettings {
            groups,
            ..settings()
        };
        let contents = read(&message, &settings, Millis(0));
        let tasks = contents.tasks.iter().map(|(_, task)| task.id.to_string());
        let letter = dead_letter(&message, &contents.wrong);
        assert_eq!(letter.group.as_deref(), Some(group));
        (tasks.collect::<Vec<_>>(), letter.reason)
    };
    let body = r#"[{"taskId": "1"}, {"group": "other", "taskId": "1"}, {}]"#;
    let (tasks, _) = ids(body, "acme", true);
    assert_eq!(tasks, ["acme/1", "other/1", "acme/m1#2"]);
    let (tasks, reason) = ids(body, "acme", false);
    assert_eq!(tasks, ["1", "m1#2"]);
    assert!(reason.contains("element 1: group is given"), "{reason}");
    let (tasks, reason) = ids("{}", "a/b", true);
    assert_eq!(tasks, Vec::<String>::new());
    assert!(reason.contains("MessageGroupId contains '/'"), "{reason}");
}
