//! Runs the binary against a test runtime API, and checks the response to the caller and the log.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use serde_json::{Value, json};
use simulator::runtime_api::{self, Posted};

/// Invokes the function once. Returns the response and the log.
async fn invoke(environment: &[(&str, &str)], event: &Value) -> (Posted, Vec<Value>) {
    let binary = env!("CARGO_BIN_EXE_create-tasks");
    // Use an address without a server, because no test in this file may reach the table.
    let nowhere = ("AWS_ENDPOINT_URL", "http://127.0.0.1:9");
    let environment = [environment, &[nowhere]].concat();
    let invoked = runtime_api::invoke(binary, &environment, event).await;
    invoked.unwrap()
}

const COMPLETE: [(&str, &str); 2] = [
    ("TASK_TABLE_NAME", "tasks"),
    (
        "SETTINGS_CREATE_TASKS",
        r#"{"create":{"defaultTtlMs":3600000,"keyTtlMs":3600000,"order":"newest-first"},"simulation":false}"#,
    ),
];

#[tokio::test]
async fn caller_receives_every_configuration_error() {
    let environment = [(
        "SETTINGS_CREATE_TASKS",
        r#"{"create":{"defaultTtlMs":"1h"}}"#,
    )];
    let ((end, error), log) = invoke(&environment, &json!({"tasks": []})).await;
    assert_eq!(end, "error");
    assert_eq!(error["errorType"], "ConfigError");
    let message = error["errorMessage"].as_str().unwrap();
    for name in [
        "TASK_TABLE_NAME is missing",
        "SETTINGS_CREATE_TASKS is invalid at create.defaultTtlMs: invalid type: string \"1h\"",
    ] {
        assert!(message.contains(name), "{message}");
    }
    assert!(
        log.iter()
            .any(|line| line["message"] == "the function cannot start"),
        "{log:?}"
    );
}

#[tokio::test]
async fn caller_receives_the_error_of_an_invalid_event() {
    let ((end, error), log) = invoke(&COMPLETE, &json!({"simulate": {"count": 1}})).await;
    assert_eq!(end, "error");
    assert_eq!(error["errorType"], "RequestError");
    let message = error["errorMessage"].as_str().unwrap();
    assert!(message.contains("`simulation`"), "{message}");
    // Lambda log-level filtering requires a level and a timestamp in each line.
    let line = log.iter().find(|line| line["level"] == "ERROR").unwrap();
    assert!(line["timestamp"].is_string(), "{line}");
    assert_eq!(line["span"]["requestId"], "request-1");
    assert_eq!(line["span"]["xrayTraceId"], "Root=1-trace");
}

#[tokio::test]
async fn invalid_task_is_reported_and_counted() {
    let ((end, report), log) = invoke(&COMPLETE, &json!({"tasks": [{"taskId": 7}]})).await;
    assert_eq!(end, "response");
    assert_eq!(report["failed"][0]["index"], 0);
    assert_eq!(
        (&report["created"], &report["duplicates"]),
        (&json!([]), &json!([]))
    );
    let metrics = log.iter().find(|line| line["_aws"].is_object()).unwrap();
    assert_eq!(
        (&metrics["CreateFailed"], &metrics["Queue"]),
        (&json!(1), &json!("tasks"))
    );
}

/// CloudFormation changes a function's environment variables before its code, so this code may read
/// settings of the next release.
#[tokio::test]
async fn unknown_setting_from_the_next_release_is_logged_and_ignored() {
    let (table, (name, settings)) = (COMPLETE[0], COMPLETE[1]);
    let next = settings.replace("\"simulation\"", "\"next\":1,\"simulation\"");
    let ((end, _), log) = invoke(&[table, (name, &next)], &json!({"tasks": []})).await;
    assert_eq!(end, "response");
    let line = log.iter().find(|line| line["level"] == "WARN").unwrap();
    assert_eq!(
        (&line["variable"], &line["fields"]),
        (&json!(name), &json!("next"))
    );
}
