//! The binary itself, against a runtime API and a queue of our own: what Lambda is answered, what
//! the queue gets and what is counted.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::process::Stdio;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::routing::{get, post};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::sync::mpsc;

/// What one invocation came to.
struct Invoked {
    /// The end of the path that the function posted to: `response` or `error`.
    posted: String,
    body: Value,
    log: Vec<Value>,
    /// The documents that the queue was sent.
    sent: Vec<Value>,
}

/// Both servers' part in one invocation.
#[derive(Clone)]
struct World {
    event: Arc<Mutex<Option<Value>>>,
    /// The task that the queue rejects, whatever its message.
    refused: Option<&'static str>,
    sent: Arc<Mutex<Vec<Value>>>,
    posted: mpsc::UnboundedSender<(String, Value)>,
}

/// Two shed tasks, order-4711 and order-4712, and two records that are none.
fn event() -> Value {
    serde_json::from_str(include_str!("../../../tests/events/count-shed.json")).unwrap()
}

/// Gives the event once (<https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html>).
async fn next(State(world): State<World>) -> (HeaderMap, String) {
    let event = world.event.lock().unwrap().take();
    let Some(event) = event else {
        return std::future::pending().await;
    };
    let headers = [
        ("lambda-runtime-aws-request-id", "request-1"),
        ("lambda-runtime-deadline-ms", "0"),
    ];
    let headers = headers.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
    (headers.into_iter().collect(), event.to_string())
}

async fn answered(State(world): State<World>, uri: Uri, body: String) -> StatusCode {
    let body = serde_json::from_str(&body).unwrap();
    let end = uri.path().rsplit('/').next().unwrap().to_owned();
    world.posted.send((end, body)).unwrap();
    StatusCode::ACCEPTED
}

/// SQS, as far as SendMessageBatch goes.
async fn send_message_batch(State(world): State<World>, body: String) -> String {
    let request: Value = serde_json::from_str(&body).unwrap();
    let (mut taken, mut refused) = (vec![], vec![]);
    for entry in request["Entries"].as_array().unwrap() {
        let id = &entry["Id"];
        let text = entry["MessageBody"].as_str().unwrap();
        let document: Value = serde_json::from_str(text).unwrap();
        if world.refused.is_some_and(|task| document["taskId"] == task) {
            refused.push(json!({"Id": id, "SenderFault": true, "Code": "InvalidMessageContents"}));
        } else {
            taken.push(json!({"Id": id, "MessageId": "m", "MD5OfMessageBody": "d"}));
            world.sent.lock().unwrap().push(document);
        }
    }
    json!({"Successful": taken, "Failed": refused}).to_string()
}

async fn invoke(hook: bool, refused: Option<&'static str>, event: Value) -> Invoked {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (posted, mut answers) = mpsc::unbounded_channel();
    let world = World {
        event: Arc::new(Mutex::new(Some(event))),
        refused,
        sent: Arc::default(),
        posted,
    };
    let runtime = Router::new()
        .route("/2018-06-01/runtime/invocation/next", get(next))
        .route(
            "/2018-06-01/runtime/invocation/request-1/{end}",
            post(answered),
        )
        .route("/", post(send_message_batch))
        .with_state(world.clone());
    let server = tokio::spawn(async move { axum::serve(listener, runtime).await });

    let mut function = function(&address);
    if hook {
        function.env("SHED_QUEUE_URL", format!("http://{address}/1/shed"));
    }
    let mut function = function.spawn().unwrap();
    let (posted, body) = answers.recv().await.unwrap();
    function.start_kill().unwrap();
    let output = function.wait_with_output().await.unwrap();
    server.abort();
    let log = String::from_utf8(output.stdout).unwrap();
    let lines = log.lines().map(|line| serde_json::from_str(line).unwrap());
    let log = lines.collect();
    let sent = world.sent.lock().unwrap().clone();
    Invoked {
        posted,
        body,
        log,
        sent,
    }
}

fn function(address: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_count-shed"));
    command
        .env_clear()
        .envs([
            ("AWS_LAMBDA_RUNTIME_API", address),
            ("AWS_LAMBDA_FUNCTION_NAME", "count-shed"),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256"),
            ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
            ("AWS_LAMBDA_LOG_FORMAT", "JSON"),
            ("AWS_REGION", "eu-west-1"),
            ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
            ("AWS_SECRET_ACCESS_KEY", "none"),
            ("AWS_ENDPOINT_URL", &format!("http://{address}")),
            ("TASK_TABLE_NAME", "tasks"),
        ])
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    command
}

impl Invoked {
    /// What `ShedTasks` grew by.
    fn counted(&self) -> Option<u64> {
        let metrics = self.log.iter().find(|line| line["_aws"].is_object());
        metrics.and_then(|line| line["ShedTasks"].as_u64())
    }

    fn sent_ids(&self) -> Vec<&str> {
        let ids = self.sent.iter().map(|task| task["taskId"].as_str());
        ids.map(Option::unwrap).collect()
    }
}

#[tokio::test]
async fn without_a_queue_shed_tasks_are_counted_only() {
    let invoked = invoke(false, None, event()).await;
    assert_eq!(invoked.posted, "response");
    assert_eq!(invoked.body, json!({"batchItemFailures": []}));
    assert_eq!(invoked.counted(), Some(2));
    assert!(invoked.sent.is_empty());
}

#[tokio::test]
async fn with_a_queue_shed_tasks_are_counted_and_sent() {
    let invoked = invoke(true, None, event()).await;
    assert_eq!(invoked.body, json!({"batchItemFailures": []}));
    assert_eq!(invoked.counted(), Some(2));
    assert_eq!(invoked.sent_ids(), ["order-4711", "order-4712"]);
    assert_eq!(invoked.sent[1]["taskStatus"], "TAKEN");
    assert_eq!(invoked.sent[0]["payload"]["order"], 4711);
}

#[tokio::test]
async fn what_the_queue_refuses_comes_again_and_is_not_counted() {
    let number = |n: u32| json!([{"itemIdentifier": format!("11110000000000000000000{n}")}]);
    let invoked = invoke(true, Some("order-4712"), event()).await;
    assert_eq!(invoked.posted, "response");
    assert_eq!(invoked.body["batchItemFailures"], number(2));
    assert_eq!(invoked.counted(), Some(1));
    assert_eq!(invoked.sent_ids(), ["order-4711"]);
    let error = invoked.log.iter().find(|line| line["level"] == "ERROR");
    assert_eq!(error.unwrap()["task_id"], "order-4712");

    let invoked = invoke(true, Some("order-4711"), event()).await;
    assert_eq!(invoked.body["batchItemFailures"], number(1));
    assert_eq!(invoked.counted(), None);
}

#[tokio::test]
async fn an_event_of_another_kind_is_an_error() {
    let invoked = invoke(false, None, json!({"tasks": []})).await;
    assert_eq!(invoked.posted, "error");
    let message = invoked.body["errorMessage"].as_str().unwrap();
    assert!(message.contains("stream"), "{message}");
}
