//! Runs the binary with a runtime API of the test: checks the response to the caller, and the log.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// Serves one event. Returns the path and the body of the function's response, and the log until then
/// (<https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html>).
fn invoke(environment: &[(&str, &str)], event: &Value) -> (String, Value, Vec<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut function = start(&listener.local_addr().unwrap().to_string(), environment);
    let posted = loop {
        let (mut connection, _) = listener.accept().unwrap();
        if let Some(posted) = serve(&mut connection, event) {
            break posted;
        }
    };
    function.kill().unwrap();
    let output = function.wait_with_output().unwrap();
    let log = String::from_utf8(output.stdout).unwrap();
    let lines = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    (posted.0, posted.1, lines)
}

fn start(api: &str, environment: &[(&str, &str)]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_create-tasks"))
        .env_clear()
        .envs([
            ("AWS_LAMBDA_RUNTIME_API", api),
            ("AWS_LAMBDA_FUNCTION_NAME", "create-tasks"),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256"),
            ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
            ("AWS_LAMBDA_LOG_FORMAT", "JSON"),
            ("AWS_REGION", "eu-west-1"),
            // No server listens there: no test of this file may reach the table.
            ("AWS_ENDPOINT_URL", "http://127.0.0.1:9"),
        ])
        .envs(environment.iter().copied())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Responds to requests on one connection until the function posts or closes the connection.
fn serve(connection: &mut TcpStream, event: &Value) -> Option<(String, Value)> {
    let mut reader = BufReader::new(connection.try_clone().unwrap());
    loop {
        let mut request = String::new();
        if reader.read_line(&mut request).unwrap() == 0 {
            return None;
        }
        let path = request.split(' ').nth(1).unwrap().to_owned();
        let body = body(&mut reader);
        let next = path.ends_with("/invocation/next");
        let response = if next {
            event.to_string()
        } else {
            String::new()
        };
        write!(
            connection,
            "HTTP/1.1 {}\r\nlambda-runtime-aws-request-id: request-1\r\n\
             lambda-runtime-deadline-ms: 0\r\nlambda-runtime-trace-id: Root=1-trace\r\n\
             content-length: {}\r\n\r\n{response}",
            if next { "200 OK" } else { "202 Accepted" },
            response.len(),
        )
        .unwrap();
        if !next {
            return Some((path, serde_json::from_slice(&body).unwrap()));
        }
    }
}

fn body(reader: &mut impl BufRead) -> Vec<u8> {
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).unwrap();
        if header.trim().is_empty() {
            break;
        }
        if let Some(text) = header.to_ascii_lowercase().strip_prefix("content-length:") {
            length = text.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    body
}

const COMPLETE: [(&str, &str); 2] = [
    ("TASK_TABLE_NAME", "tasks"),
    (
        "SETTINGS_CREATE_TASKS",
        r#"{"create":{"defaultTtlMs":3600000,"keyTtlMs":3600000,"order":"newest-first"},"simulation":false}"#,
    ),
];

#[test]
fn caller_receives_every_configuration_error() {
    let environment = [(
        "SETTINGS_CREATE_TASKS",
        r#"{"create":{"defaultTtlMs":"1h"}}"#,
    )];
    let (path, error, log) = invoke(&environment, &json!({"tasks": []}));
    assert_eq!(path, "/2018-06-01/runtime/invocation/request-1/error");
    assert_eq!(error["errorType"], "ConfigError");
    let message = error["errorMessage"].as_str().unwrap();
    for name in [
        "TASK_TABLE_NAME is missing",
        "SETTINGS_CREATE_TASKS is wrong at create.defaultTtlMs: invalid type: string \"1h\"",
    ] {
        assert!(message.contains(name), "{message}");
    }
    assert!(
        log.iter()
            .any(|line| line["message"] == "the function cannot start"),
        "{log:?}"
    );
}

#[test]
fn caller_receives_the_error_of_an_invalid_event() {
    let (path, error, log) = invoke(&COMPLETE, &json!({"simulate": {"count": 1}}));
    assert!(path.ends_with("/request-1/error"), "{path}");
    assert_eq!(error["errorType"], "RequestError");
    let message = error["errorMessage"].as_str().unwrap();
    assert!(message.contains("`simulation`"), "{message}");
    // Lambda's log filter needs the level and the timestamp of each line.
    let line = log.iter().find(|line| line["level"] == "ERROR").unwrap();
    assert!(line["timestamp"].is_string(), "{line}");
    assert_eq!(line["span"]["requestId"], "request-1");
    assert_eq!(line["span"]["xrayTraceId"], "Root=1-trace");
}

#[test]
fn invalid_task_is_reported_and_counted() {
    let (path, report, log) = invoke(&COMPLETE, &json!({"tasks": [{"taskId": 7}]}));
    assert_eq!(path, "/2018-06-01/runtime/invocation/request-1/response");
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

/// CloudFormation changes a function's variables before its code. So this code may read the
/// settings of the next release.
#[test]
fn a_setting_of_the_next_release_is_logged_and_has_no_effect() {
    let (table, (name, settings)) = (COMPLETE[0], COMPLETE[1]);
    let next = settings.replace("\"simulation\"", "\"next\":1,\"simulation\"");
    let (path, _, log) = invoke(&[table, (name, &next)], &json!({"tasks": []}));
    assert!(path.ends_with("/request-1/response"), "{path}");
    let line = log.iter().find(|line| line["level"] == "WARN").unwrap();
    assert_eq!(
        (&line["variable"], &line["fields"]),
        (&json!(name), &json!("next"))
    );
}
