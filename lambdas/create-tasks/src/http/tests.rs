use lifo_queue::create::{CreatedTask, FailedTask};
use lifo_queue::task::TaskId;
use proptest::prelude::*;
use serde_json::value::to_raw_value;

use super::*;

fn sample() -> Value {
    serde_json::from_str(include_str!(
        "../../../../tests/events/create-tasks-http.json"
    ))
    .unwrap()
}

fn post(body: &str) -> Value {
    let mut event = sample();
    event["body"] = body.into();
    event["isBase64Encoded"] = false.into();
    event
}

fn request(event: &Value) -> Option<HttpRequest> {
    HttpRequest::of(&to_raw_value(event).unwrap())
}

fn read(event: &Value, simulation: bool) -> Result<Request, EventError> {
    request(event).unwrap().read(simulation)
}

/// The texts of the described tasks.
fn asked(body: &str) -> Result<Vec<String>, HttpResponse> {
    match read(&post(body), true) {
        Ok(Request::Create(tasks)) => Ok(tasks.iter().map(ToString::to_string).collect()),
        Ok(Request::Simulate(count)) => Ok(vec![format!("simulate {count}")]),
        Err(error) => Err(error.into()),
    }
}

#[test]
fn the_event_for_local_invocation_is_read() {
    let event = sample();
    assert!(request(&event).is_some());
    assert!(matches!(read(&event, false), Ok(Request::Create(tasks)) if tasks.len() == 1));
    assert!(request(&json!({"tasks": []})).is_none());
    // A request in another payload format is not recognized.
    let older = json!({"version": "1.0", "httpMethod": "POST", "body": "{}"});
    assert!(request(&older).is_none());
}

#[test]
fn body_is_a_task_an_array_of_tasks_or_an_operators_event() {
    let one = r#"{"taskId": "a", "payload": 9007199254740993.0}"#;
    let created = |tasks: &[&str]| Ok(tasks.iter().map(ToString::to_string).collect());
    assert_eq!(asked(one), created(&[one]));
    assert_eq!(asked(&format!("[{one}, 7]")), created(&[one, "7"]));
    let event = format!(r#"{{"tasks": [{one}]}}"#);
    assert_eq!(asked(&event), created(&[one]));
    let simulate = asked(r#"{"simulate": {"count": 3}}"#);
    assert_eq!(simulate, created(&["simulate 3"]));
}

#[test]
fn an_encoded_body_is_decoded() {
    let mut event = post(&BASE64_STANDARD.encode(r#"{"taskId": "ü"}"#));
    event["isBase64Encoded"] = true.into();
    let Ok(Request::Create(tasks)) = read(&event, false) else {
        panic!("{event}")
    };
    assert_eq!(tasks[0].get(), r#"{"taskId": "ü"}"#);
    event["body"] = "%".into();
    let rejected = read(&event, false).unwrap_err().to_string();
    assert!(rejected.contains("not valid Base64"), "{rejected}");
}

#[test]
fn error_response_to_an_invalid_request_names_the_remedy() {
    for (body, part) in [
        ("", "the body is empty"),
        ("hello", "the body is not valid JSON"),
        ("7", "it is not an object"),
        (r#"{"tasks": 7}"#, "field tasks is not an array"),
    ] {
        let response = asked(body).unwrap_err();
        assert_eq!(response.status_code, 400);
        assert!(response.body.contains(part), "{}", response.body);
    }
    let mut event = post("{}");
    event["requestContext"]["http"]["method"] = "GET".into();
    let response = HttpResponse::from(read(&event, false).unwrap_err());
    assert_eq!(response.status_code, 405);
    assert!(response.body.contains("send POST"));
}

fn report(created: usize, failed: &[bool]) -> CreateReport {
    let task = |index| CreatedTask {
        index,
        task_id: TaskId::fresh(),
        supersedes: false,
    };
    let fault = |(index, retryable): (usize, &bool)| FailedTask {
        index,
        task_id: None,
        error: "why".to_owned(),
        retryable: *retryable,
    };
    CreateReport {
        created: (0..created).map(task).collect(),
        duplicates: vec![],
        outdated: vec![],
        failed: failed.iter().enumerate().map(fault).collect(),
    }
}

#[test]
fn status_code_distinguishes_success_partial_retryable_and_invalid() {
    let status = |created, failed: &[bool]| HttpResponse::of(&report(created, failed)).status_code;
    assert_eq!(status(2, &[]), 200);
    assert_eq!(status(0, &[]), 200);
    assert_eq!(status(1, &[true]), 207);
    assert_eq!(status(0, &[true, true]), 503);
    assert_eq!(status(0, &[false]), 400);
    assert_eq!(status(0, &[true, false]), 207);
    let response = serde_json::to_value(HttpResponse::of(&report(0, &[false]))).unwrap();
    assert_eq!(response["headers"]["content-type"], "application/json");
    let body: Value = serde_json::from_str(response["body"].as_str().unwrap()).unwrap();
    assert_eq!(body["failed"][0]["retryable"], false);
}

proptest! {
    #[test]
    fn arbitrary_body_never_panics(body in ".{0,60}", encoded in any::<bool>()) {
        let mut event = post(&body);
        event["isBase64Encoded"] = encoded.into();
        let _ = read(&event, true).map_err(HttpResponse::from);
    }
}

/// The runtime reads events with these two crates.
#[test]
fn event_reaches_the_function_as_it_was_sent() {
    let text = r#"{"tasks": [{"payload": 9007199254740993.0}]}"#;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let event: Box<RawValue> = serde_path_to_error::deserialize(&mut deserializer).unwrap();
    assert_eq!(event.get(), text);
}
