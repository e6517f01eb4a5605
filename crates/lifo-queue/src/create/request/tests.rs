use super::*;
use proptest::prelude::*;
use sequences::json::any_json;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

fn read(event: Value, simulation: bool) -> Result<Request, RequestError> {
    super::read(&to_raw_value(&event).unwrap(), simulation)
}

fn count(request: Result<Request, RequestError>) -> usize {
    match request {
        Ok(Request::Simulate(count)) => count,
        other => panic!("{other:?}"),
    }
}

#[test]
fn tasks_are_passed_on_as_written_without_validation() {
    let tasks = [r#"{"taskId": "a", "payload": 9007199254740993.0}"#, "7"];
    let event = format!(r#"{{"tasks": [{}]}}"#, tasks.join(" , "));
    let body = format!("[{}]", tasks.join(" , "));
    let event = super::read(serde_json::from_str(&event).unwrap(), false).unwrap();
    for request in [event, read_body(body.as_bytes(), false).unwrap()] {
        let Request::Create(passed) = request else {
            panic!("{request:?}")
        };
        let texts: Vec<_> = passed.iter().map(|task| task.get()).collect();
        assert_eq!(texts, tasks);
    }
    let none = read(json!({"tasks": []}), true);
    assert!(matches!(none, Ok(Request::Create(tasks)) if tasks.is_empty()));
}

#[test]
fn http_body_may_begin_with_a_byte_order_mark() {
    for body in [r#"{"payload": 1}"#, r#"[{}]"#, r#"{"tasks": [{}]}"#] {
        let request = read_body(format!("\u{feff}{body}").as_bytes(), false);
        assert!(matches!(request, Ok(Request::Create(tasks)) if tasks.len() == 1));
    }
    let empty = read_body("\u{feff}".as_bytes(), false);
    assert!(matches!(empty, Err(HttpError::MissingBody)));
}

#[test]
fn events_for_local_invocation_are_accepted() {
    let create = serde_json::from_str(include_str!(
        "../../../../../tests/events/create-tasks.json"
    ));
    assert!(
        matches!(read(create.unwrap(), false), Ok(Request::Create(tasks)) if !tasks.is_empty())
    );
    let simulate = serde_json::from_str(include_str!("../../../../../tests/events/simulate.json"));
    assert!(count(read(simulate.unwrap(), true)) > 0);
}

#[test]
fn http_event_of_another_format_is_rejected_with_the_remedy() {
    for event in [
        json!({"version": "1.0", "httpMethod": "POST", "body": "{}"}),
        json!({"requestContext": {"elb": {}}, "httpMethod": "POST", "path": "/", "body": "{}"}),
    ] {
        let error = read(event, false).unwrap_err().to_string();
        assert!(
            error.contains("HTTP API with payload format 2.0"),
            "{error}"
        );
    }
}

#[test]
fn event_of_an_event_source_is_rejected_with_the_remedy() {
    let event = json!({"Records": [{"eventSource": "aws:sqs", "body": "{}"}]});
    let error = read(event, false).unwrap_err().to_string();
    assert!(error.contains("to the ingest queue"), "{error}");
}

#[test]
fn event_with_too_many_tasks_is_rejected() {
    let tasks = |count| read(json!({"tasks": vec![json!({}); count]}), false);
    assert!(tasks(MAX_TASKS).is_ok());
    let error = tasks(MAX_TASKS + 1).unwrap_err().to_string();
    assert!(error.contains("tasks has 10001 entries"), "{error}");
}

#[test]
fn simulation_requires_a_count_within_its_limits() {
    let simulate = |count: Value| read(json!({"simulate": {"count": count}}), true);
    assert_eq!(count(simulate(json!(1))), 1);
    assert_eq!(count(simulate(json!(MAX_TASKS))), MAX_TASKS);
    for count in [
        json!(0),
        json!(MAX_TASKS + 1),
        json!(u64::MAX),
        json!(-1),
        json!(1.5),
        json!("9"),
        json!(null),
    ] {
        let error = simulate(count.clone()).unwrap_err().to_string();
        assert!(error.contains("simulate"), "{count}: {error}");
    }
}

#[test]
fn simulation_is_rejected_when_disabled() {
    let error = read(json!({"simulate": {"count": 1}}), false)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("does not simulate") && error.contains("`simulation`"),
        "{error}"
    );
}

#[test]
fn invalid_events_are_rejected_with_the_field() {
    for (event, named) in [
        (json!(null), "not an object"),
        (json!([{"taskId": "a"}]), "not an object"),
        (json!({}), "no field"),
        (json!({"task": []}), "\"task\""),
        (json!({"tasks": {}}), "tasks is not an array"),
        (json!({"tasks": [], "simulate": {"count": 1}}), "both"),
        (json!({"tasks": [], "dryRun": true}), "\"dryRun\""),
        (json!({"simulate": 5}), "simulate is not an object"),
        (json!({"simulate": [5]}), "simulate is not an object"),
        (json!({"simulate": {}}), "count"),
        (json!({"simulate": {"count": 1, "rate": 2}}), "rate"),
    ] {
        let error = read(event.clone(), true).unwrap_err().to_string();
        assert!(error.contains(named), "{event}: {error}");
    }
}

proptest! {
    /// Arbitrary JSON is accepted as tasks or as a valid count, or is rejected with a message.
    #[test]
    fn arbitrary_json_is_read_or_rejected(event in any_json(&["tasks", "simulate", "count"]), simulation in any::<bool>()) {
        match read(event.clone(), simulation) {
            // Compare the texts: parsing a number again may change its last digit.
            Ok(Request::Create(tasks)) => {
                prop_assert_eq!(serde_json::to_string(&tasks).unwrap(), event["tasks"].to_string());
            }
            Ok(Request::Simulate(count)) => {
                prop_assert!(simulation);
                prop_assert_eq!(json!({"simulate": {"count": count}}), event);
            }
            Err(error) => {
                let text = error.to_string();
                prop_assert!(text.contains("tasks") || text.contains("simulate.count"), "{text}");
            }
        }
    }
}
