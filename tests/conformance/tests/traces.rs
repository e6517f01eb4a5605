//! The trace of a sampled task through create, trigger and process, as the X-Ray daemon receives it.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::net::UdpSocket;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_sns::config::Credentials;
use aws_smithy_http_client::Builder as HttpClient;
use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::Request;
use axum::http::HeaderMap;
use lifo_queue::create::Creator;
use lifo_queue::notify::sns::SnsNotifier;
use lifo_queue::notify::{Notification, WakeReason};
use lifo_queue::process::{Invocation, Processor};
use lifo_queue::runner::http::{Auth, HttpRunner};
use lifo_queue::schema;
use lifo_queue::store::dynamodb::DynamoStore;
use lifo_queue::time::{Clock, Millis};
use lifo_queue::trace::{self, TraceHeader, TraceSettings, Traced, Tracer};
use lifo_queue::wake::{Wake, Waker};
use serde_json::{Value, json};
use simulator::dynamodb::{EmbeddedDynamo, TABLE};

const CREATE: &str = "Root=1-63442e4f-00000000000000000000000c;Parent=cccccccccccccccc;Sampled=1";
const TRIGGER: &str = "Root=1-63442e4f-000000000000000000000000;Parent=dddddddddddddddd;Sampled=1";
const TURN: &str = "Root=1-63442e4f-000000000000000000000001;Parent=eeeeeeeeeeeeeeee;Sampled=1";

/// A clock that the task's run advances, so that the turn ends with a tail call.
struct Hands(AtomicI64);

impl Clock for Hands {
    fn now(&self) -> Millis {
        Millis(self.0.load(Ordering::SeqCst))
    }
}

/// The headers and body of each request. One server acts as both SNS and the task's endpoint.
type Requests = Arc<Mutex<Vec<(HeaderMap, Bytes)>>>;

async fn serve(requests: Requests, clock: Arc<Hands>) -> String {
    let router = Router::new().fallback(move |request: Request| async move {
        let (parts, body) = request.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        if body.starts_with(b"{") {
            clock.0.fetch_add(600_000, Ordering::SeqCst);
        }
        requests.lock().unwrap().push((parts.headers, body));
        "<PublishResponse><PublishResult><MessageId>m</MessageId></PublishResult></PublishResponse>"
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

fn received(daemon: &UdpSocket) -> Vec<Value> {
    let mut datagram = [0; 65_536];
    let next = || Some(daemon.recv(&mut datagram).ok()?).map(|n| datagram[..n].to_vec());
    let datagrams = std::iter::from_fn(next).map(|datagram| String::from_utf8(datagram).unwrap());
    let document = |datagram: String| serde_json::from_str(datagram.lines().nth(1)?).ok();
    datagrams.map(|text| document(text).unwrap()).collect()
}

fn calls(segment: &Value) -> Vec<(&str, Option<&str>)> {
    let calls = segment["subsegments"].as_array().unwrap().iter();
    calls
        .map(|call| {
            (
                call["name"].as_str().unwrap(),
                call["aws"]["operation"].as_str(),
            )
        })
        .collect()
}

fn link(segment: &Value) -> (&Value, &Value) {
    assert_eq!(segment["links"].as_array().unwrap().len(), 1, "{segment}");
    (&segment["links"][0]["trace_id"], &segment["links"][0]["id"])
}

fn header((headers, _): &(HeaderMap, Bytes)) -> String {
    headers["x-amzn-trace-id"].to_str().unwrap().to_owned()
}

#[tokio::test]
async fn sampled_task_has_one_trace_with_links_to_its_invocations() {
    let daemon = UdpSocket::bind("127.0.0.1:0").unwrap();
    daemon.set_nonblocking(true).unwrap();
    let clock = Arc::new(Hands(AtomicI64::new(1_800_000_000_000)));
    let requests = Requests::default();
    let url = serve(requests.clone(), clock.clone()).await;
    let tracer = |function: &str| {
        let settings = TraceSettings { sampled_tasks: 1.0 };
        let address = daemon.local_addr().unwrap();
        Arc::new(Tracer::new(address, clock.clone(), function, settings).unwrap())
    };

    let embedded = EmbeddedDynamo::start().await.unwrap();
    let traced = || Traced(HttpClient::new().build_http());
    let config = embedded.client.config().to_builder().http_client(traced());
    let dynamodb = aws_sdk_dynamodb::Client::from_conf(config.build());
    let store = Arc::new(DynamoStore::new(dynamodb.clone(), TABLE));
    let config = aws_sdk_sns::Config::builder()
        .behavior_version(aws::client::behavior())
        .region(aws_sdk_sns::config::Region::from_static("us-east-1"))
        .endpoint_url(&url)
        .credentials_provider(Credentials::new("local", "local", None, None, "test"))
        .http_client(traced())
        .build();
    let sns = aws_sdk_sns::Client::from_conf(config);
    let notifier = SnsNotifier::new(sns, "arn:process".into(), Some("arn:trigger".into()));
    let notifier = Arc::new(notifier);

    // create-tasks
    let settings = simulator::deployed::INGEST.create;
    let creator = Creator::new(store.clone(), clock.clone(), settings);
    let specs = [json!({"taskId": "t1"})];
    let create = tracer("create-tasks");
    let report = trace::invocation(Some(&create), Some(CREATE), creator.create(&specs)).await;
    assert_eq!(report.created.len(), 1, "{report:?}");
    let item = dynamodb
        .get_item()
        .table_name(TABLE)
        .key(schema::TASK_ID, AttributeValue::S("t1".into()));
    let item = item.send().await.unwrap().item.unwrap();
    let carried = item[schema::TRACE_HEADER].as_s().unwrap();

    // trigger
    let settings = *simulator::deployed::PROCESS_TASKS;
    let marker = settings.notification_marker;
    let waker = Waker::new(store.clone(), notifier.clone(), clock.clone(), marker);
    let trigger = tracer("trigger");
    let woken = trace::invocation(Some(&trigger), Some(TRIGGER), async {
        trace::caused_by(carried);
        waker.request("event", WakeReason::Insert).await
    });
    assert_eq!(woken.await.unwrap(), Wake::Published);

    // process-tasks
    let endpoint = format!("{url}/tasks").parse().unwrap();
    let runner = HttpRunner::new(endpoint, Auth::None, Duration::from_secs(10));
    let processor = Processor::new(store, notifier, Arc::new(runner), clock.clone(), settings);
    let invocation = Invocation {
        message_id: "m".into(),
        deadline: None,
    };
    let process = tracer("process-tasks");
    let summary = trace::invocation(Some(&process), Some(TURN), processor.turn(invocation)).await;
    let summary = summary.unwrap();
    assert_eq!(
        (summary.succeeded, summary.tail_call),
        (1, true),
        "{summary:?}"
    );

    let segments: [Value; 5] = received(&daemon).try_into().unwrap();
    let [created, creates, wakes, run, turn] = &segments;
    let names = segments
        .each_ref()
        .map(|segment| segment["name"].as_str().unwrap());
    let (create, process) = ("create-tasks", "process-tasks");
    assert_eq!(names, [create, create, "trigger", process, process]);

    // The task's own trace contains its creation, then its run.
    let task = &created["trace_id"];
    let parent = created["id"].as_str().unwrap();
    assert_eq!(
        *carried,
        format!("Root={};Parent={parent};Sampled=1", task.as_str().unwrap())
    );
    assert_eq!(created["parent_id"], Value::Null);
    assert_eq!(calls(created), [("DynamoDB", Some("PutItem"))]);
    assert_eq!(link(created), (&creates["trace_id"], &creates["id"]));
    assert_eq!(
        (&run["trace_id"], &run["parent_id"]),
        (task, &json!(parent))
    );
    let update = ("DynamoDB", Some("UpdateItem"));
    assert_eq!(calls(run), [update, ("127.0.0.1", None), update]);
    assert_eq!(link(run), (&turn["trace_id"], &turn["id"]));
    assert_eq!(
        run["annotations"],
        json!({"task_id": "t1", "attempt": 1, "response": "success"})
    );
    for segment in &segments {
        let (start, end) = (&segment["start_time"], &segment["end_time"]);
        assert!(start.as_f64() >= Some(1_800_000_000.0) && end.as_f64() >= start.as_f64());
    }

    // The invocation segments are children of Lambda's own segments.
    for (segment, header) in [(creates, CREATE), (wakes, TRIGGER), (turn, TURN)] {
        let (root, parent) = (&segment["trace_id"], &segment["parent_id"]);
        let (root, parent) = (root.as_str().unwrap(), parent.as_str().unwrap());
        assert_eq!(format!("Root={root};Parent={parent};Sampled=1"), header);
        assert_eq!(segment["type"], "subsegment");
    }
    assert_eq!(calls(wakes), [update, update, ("SNS", Some("Publish"))]);
    assert_eq!(link(wakes), (task, &json!(parent)));
    let turns = calls(turn);
    assert_eq!((turns[0], turns[1]), (update, ("DynamoDB", Some("Query"))));
    assert_eq!(turns.last(), Some(&("SNS", Some("Publish"))));

    // Request headers: the wake-up continues its trace, the run continues the task's trace, and the
    // tail call starts a new trace.
    let requests = requests.lock().unwrap();
    let [wake_up, task_run, tail_call] = &requests[..] else {
        panic!("{requests:?}");
    };
    let child = |segment: &Value, call: usize| {
        let (root, call) = (&segment["trace_id"], &segment["subsegments"][call]["id"]);
        let (root, call) = (root.as_str().unwrap(), call.as_str().unwrap());
        format!("Root={root};Parent={call};Sampled=1")
    };
    assert_eq!(header(wake_up), child(wakes, 2));
    assert_eq!(header(task_run), child(run, 1));
    let fresh: TraceHeader = header(tail_call).parse().unwrap();
    let root = header(tail_call).strip_prefix("Root=").unwrap().to_owned();
    assert_eq!(
        fresh.to_string(),
        format!("Root={root};Sampled=0"),
        "Lambda makes a new decision"
    );
    assert!(
        segments
            .iter()
            .all(|segment| segment["trace_id"] != json!(root))
    );
    let form: Vec<_> = tail_call.1.split(|byte| *byte == b'&').collect();
    let body = form
        .iter()
        .find_map(|field| field.strip_prefix(b"Message="))
        .unwrap();
    let body = percent_encoding::percent_decode(body)
        .decode_utf8()
        .unwrap();
    let notification: Notification = serde_json::from_str(&body).unwrap();
    let turn_header = format!(
        "Root={};Parent={};Sampled=1",
        turn["trace_id"].as_str().unwrap(),
        turn["id"].as_str().unwrap()
    );
    assert_eq!(notification.trace, Some(turn_header));
}
