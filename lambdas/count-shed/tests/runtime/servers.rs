//! Runs one invocation against test servers for the queue and the event bus.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use serde_json::{Value, json};
use simulator::runtime_api;
use tokio::net::TcpListener;

pub(crate) const BUS_ARN: &str = "arn:aws:events:eu-west-1:123456789012:event-bus/default";

/// Result of one invocation.
pub(crate) struct Invoked {
    /// The kind of result that the function posted to the runtime API: `response` or `error`.
    pub(crate) posted: String,
    pub(crate) body: Value,
    pub(crate) log: Vec<Value>,
    pub(crate) sent: Vec<Value>,
    pub(crate) events: Vec<Value>,
}

/// State of the servers during one invocation.
#[derive(Clone)]
struct World {
    /// The task that the queue and the bus reject.
    rejected: Option<&'static str>,
    sent: Arc<Mutex<Vec<Value>>>,
    events: Arc<Mutex<Vec<Value>>>,
}

/// Handles the SQS and EventBridge operations that the function requests.
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
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let world = World {
        rejected,
        sent: Arc::default(),
        events: Arc::default(),
    };
    let routes = Router::new().route("/", post(aws));
    let routes = routes.with_state(world.clone());
    let server = tokio::spawn(async move { axum::serve(listener, routes).await });

    let queue = format!("{endpoint}/1/shed");
    let mut environment = vec![
        ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
        ("AWS_SECRET_ACCESS_KEY", "none"),
        ("AWS_ENDPOINT_URL", &*endpoint),
        ("TASK_TABLE_NAME", "tasks"),
    ];
    environment.extend(given.queue.then_some(("SHED_QUEUE_URL", &*queue)));
    environment.extend(given.bus.then_some(("EVENT_BUS_ARN", BUS_ARN)));
    let binary = env!("CARGO_BIN_EXE_count-shed");
    let invoked = runtime_api::invoke(binary, &environment, &event).await;
    server.abort();
    let ((posted, body), log) = invoked.unwrap();
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

impl Invoked {
    /// Returns the increase of `ShedTasks`; `None` if the log does not contain the metric.
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
