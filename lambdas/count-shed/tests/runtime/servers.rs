//! Servers for one invocation: the runtime API, the queue and the event bus.

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

pub(crate) const BUS_ARN: &str = "arn:aws:events:eu-west-1:123456789012:event-bus/default";

/// Result of one invocation.
pub(crate) struct Invoked {
    /// The end of the path that the function posted to: `response` or `error`.
    pub(crate) posted: String,
    pub(crate) body: Value,
    pub(crate) log: Vec<Value>,
    pub(crate) sent: Vec<Value>,
    pub(crate) events: Vec<Value>,
}

/// State of the servers during one invocation.
#[derive(Clone)]
struct World {
    event: Arc<Mutex<Option<Value>>>,
    /// The task that the queue and the bus reject.
    rejected: Option<&'static str>,
    sent: Arc<Mutex<Vec<Value>>>,
    events: Arc<Mutex<Vec<Value>>>,
    posted: mpsc::UnboundedSender<(String, Value)>,
}

/// Returns the event once (<https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html>).
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

async fn posted_response(State(world): State<World>, uri: Uri, body: String) -> StatusCode {
    let body = serde_json::from_str(&body).unwrap();
    let end = uri.path().rsplit('/').next().unwrap().to_owned();
    world.posted.send((end, body)).unwrap();
    StatusCode::ACCEPTED
}

/// The operations of SQS and EventBridge that the function calls.
async fn aws(State(world): State<World>, headers: HeaderMap, body: String) -> String {
    let request: Value = serde_json::from_str(&body).unwrap();
    match headers["x-amz-target"].to_str().unwrap() {
        "AWSEvents.PutEvents" => put_events(&world, &request),
        "AmazonSQS.SendMessageBatch" => send_message_batch(&world, &request),
        other => panic!("{other} is not called"),
    }
}

fn put_events(world: &World, request: &Value) -> String {
    let entries = request["Entries"].as_array().unwrap();
    let results = entries.iter().map(|entry| {
        let detail: Value = serde_json::from_str(entry["Detail"].as_str().unwrap()).unwrap();
        if world.rejected.is_some_and(|task| detail["taskId"] == task) {
            return json!({"ErrorCode": "InternalFailure", "ErrorMessage": "not now"});
        }
        let mut event = entry.clone();
        event["Detail"] = detail;
        world.events.lock().unwrap().push(event);
        json!({"EventId": "e"})
    });
    let results: Vec<_> = results.collect();
    json!({"FailedEntryCount": 0, "Entries": results}).to_string()
}

fn send_message_batch(world: &World, request: &Value) -> String {
    let (mut taken, mut rejected) = (vec![], vec![]);
    for entry in request["Entries"].as_array().unwrap() {
        let id = &entry["Id"];
        let text = entry["MessageBody"].as_str().unwrap();
        let document: Value = serde_json::from_str(text).unwrap();
        if world
            .rejected
            .is_some_and(|task| document["taskId"] == task)
        {
            rejected.push(json!({"Id": id, "SenderFault": true, "Code": "InvalidMessageContents"}));
        } else {
            taken.push(json!({"Id": id, "MessageId": "m", "MD5OfMessageBody": "d"}));
            world.sent.lock().unwrap().push(document);
        }
    }
    json!({"Successful": taken, "Failed": rejected}).to_string()
}

#[derive(Clone, Copy)]
pub(crate) struct Given {
    pub(crate) queue: bool,
    pub(crate) bus: bool,
}

pub(crate) const NOTHING: Given = Given {
    queue: false,
    bus: false,
};
pub(crate) const QUEUE: Given = Given {
    queue: true,
    ..NOTHING
};
pub(crate) const BUS: Given = Given {
    bus: true,
    ..NOTHING
};
pub(crate) const BOTH: Given = Given {
    queue: true,
    bus: true,
};

pub(crate) async fn invoke(given: Given, rejected: Option<&'static str>, event: Value) -> Invoked {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (posted, mut responses) = mpsc::unbounded_channel();
    let world = World {
        event: Arc::new(Mutex::new(Some(event))),
        rejected,
        sent: Arc::default(),
        events: Arc::default(),
        posted,
    };
    let runtime = Router::new()
        .route("/2018-06-01/runtime/invocation/next", get(next))
        .route(
            "/2018-06-01/runtime/invocation/request-1/{end}",
            post(posted_response),
        )
        .route("/", post(aws))
        .with_state(world.clone());
    let server = tokio::spawn(async move { axum::serve(listener, runtime).await });

    let mut function = function(&address);
    if given.queue {
        function.env("SHED_QUEUE_URL", format!("http://{address}/1/shed"));
    }
    if given.bus {
        function.env("EVENT_BUS_ARN", BUS_ARN);
    }
    let mut function = function.spawn().unwrap();
    let (posted, body) = responses.recv().await.unwrap();
    function.start_kill().unwrap();
    let output = function.wait_with_output().await.unwrap();
    server.abort();
    let log = String::from_utf8(output.stdout).unwrap();
    let lines = log.lines().map(|line| serde_json::from_str(line).unwrap());
    let log = lines.collect();
    let sent = world.sent.lock().unwrap().clone();
    let events = world.events.lock().unwrap().clone();
    Invoked {
        posted,
        body,
        log,
        sent,
        events,
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
    /// The increase of `ShedTasks`; `None` if it is not in the log.
    pub(crate) fn counted(&self) -> Option<u64> {
        let metrics = self.log.iter().find(|line| line["_aws"].is_object());
        metrics.and_then(|line| line["ShedTasks"].as_u64())
    }

    pub(crate) fn sent_ids(&self) -> Vec<&str> {
        let ids = self.sent.iter().map(|task| task["taskId"].as_str());
        ids.map(Option::unwrap).collect()
    }

    pub(crate) fn event_ids(&self) -> Vec<&str> {
        let ids = self.events.iter();
        let ids = ids.map(|event| event["Detail"]["taskId"].as_str());
        ids.map(Option::unwrap).collect()
    }

    pub(crate) fn repeated_from(&self) -> &Value {
        &self.body["batchItemFailures"][0]["itemIdentifier"]
    }
}
