//! Tests of the segments that a traced run sends to the daemon, and of its request headers.

use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_lambda::Client;
use aws_smithy_runtime_api::client::http::HttpConnector;
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_types::body::SdkBody;
use serde_json::{Value, json};

use super::fake_aws::{FakeAws, response};
use super::lambda::LambdaRunner;
use super::{Outcome, TaskRunner, samples};
use crate::time::{Millis, SystemClock};
use crate::trace::{
    self, MAX_CALLS, TRACE_ID_HEADER, TRACEPARENT_HEADER, TraceHeader, TraceSettings, Traced,
    Tracer, invocation,
};

const ROOT: &str = "1-5759e988-bd862e3fe1be46a994272793";
const SAMPLED: &str = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";
const TASK: &str = "Root=1-63442e4f-111111111111111111111111;Parent=2222222222222222;Sampled=1";

/// A daemon, and a tracer that samples every task.
struct Daemon {
    socket: UdpSocket,
    tracer: Option<Arc<Tracer>>,
}

impl Daemon {
    fn start() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        let settings = TraceSettings { sampled_tasks: 1.0 };
        let (address, clock) = (socket.local_addr().unwrap(), Arc::new(SystemClock));
        let tracer = Tracer::new(address, clock, "function", settings).unwrap();
        let tracer = Some(Arc::new(tracer));
        Self { socket, tracer }
    }

    /// All documents received so far.
    fn received(&self) -> Vec<Value> {
        let mut datagram = [0; 65_536];
        let next = || Some(self.socket.recv(&mut datagram).ok()?).map(|n| datagram[..n].to_vec());
        std::iter::from_fn(next)
            .map(|datagram| {
                let text = String::from_utf8(datagram).unwrap();
                let (format, document) = text.split_once('\n').unwrap();
                assert_eq!(format, r#"{"format":"json","version":1}"#);
                serde_json::from_str(document).unwrap()
            })
            .collect()
    }
}

/// Runs a task with the Lambda runner, as the processor does.
async fn run(aws: &FakeAws, trace: Option<&str>) -> Outcome {
    let client = Traced(aws.config().http_client().unwrap());
    let config = aws.config().to_builder().http_client(client).build();
    let runner = LambdaRunner::new(&Client::new(&config), "f", Duration::from_secs(60));
    let task = samples::task("task-1");
    let trace: Option<TraceHeader> = trace.map(|header| header.parse().unwrap());
    trace::attempt(async {
        trace::taken(task.task_id.as_str(), task.attempt, trace.as_ref());
        let outcome = runner.run(&task).await;
        trace::responded("success");
        outcome
    })
    .await
}

fn header(aws: &FakeAws, wanted: &str) -> Option<String> {
    let made = aws.made().pop().unwrap();
    let mut headers = made.headers.into_iter();
    headers.find_map(|(name, value)| (name == wanted).then_some(value))
}

#[tokio::test]
async fn function_receives_the_trace_of_a_sampled_task() {
    let (daemon, aws) = (Daemon::start(), FakeAws::returning([response(200, "null")]));
    let outcome = invocation(daemon.tracer.as_ref(), Some(SAMPLED), run(&aws, Some(TASK))).await;
    assert_eq!(outcome, Outcome::Success);
    let [run, turn]: [Value; 2] = daemon.received().try_into().unwrap();
    let call = &run["subsegments"][0];
    assert_eq!(
        (
            &call["name"],
            &call["namespace"],
            &call["http"]["response"]["status"]
        ),
        (&json!("Lambda"), &json!("aws"), &json!(200))
    );
    let sent = TASK.replace("2222222222222222", call["id"].as_str().unwrap());
    assert_eq!(header(&aws, TRACE_ID_HEADER), Some(sent));
    assert_eq!(header(&aws, TRACEPARENT_HEADER), None, "AWS has its own");
    let (root, parent) = (&run["trace_id"], &run["parent_id"]);
    let (root, parent) = (root.as_str().unwrap(), parent.as_str().unwrap());
    assert_eq!(format!("Root={root};Parent={parent};Sampled=1"), TASK);
    assert_eq!(
        (&run["links"][0]["trace_id"], &run["links"][0]["id"]),
        (&json!(ROOT), &turn["id"])
    );
    assert_eq!(
        run["annotations"],
        json!({"task_id": "task-1", "attempt": 2, "response": "success"})
    );
    assert_eq!(
        (&turn["type"], &turn["trace_id"], &turn["parent_id"]),
        (
            &json!("subsegment"),
            &json!(ROOT),
            &json!("53995c3f42cd8ad8")
        )
    );
}

#[tokio::test]
async fn unsampled_runs_record_no_segment_and_send_no_trace_header() {
    let (daemon, aws) = (Daemon::start(), FakeAws::returning([response(200, "null")]));
    let unsampled = SAMPLED.replace("Sampled=1", "Sampled=0");
    for (tracer, turn, task) in [
        (None, SAMPLED, Some(TASK)),
        (daemon.tracer.as_ref(), unsampled.as_str(), None),
        (
            daemon.tracer.as_ref(),
            "malformed",
            Some(unsampled.as_str()),
        ),
    ] {
        let outcome = invocation(tracer, Some(turn), run(&aws, task)).await;
        assert_eq!(
            (outcome, header(&aws, TRACE_ID_HEADER)),
            (Outcome::Success, None)
        );
    }
    assert_eq!(daemon.received(), Vec::<Value>::new());
    assert_eq!(trace::sample(Millis(0)), None, "outside of an invocation");
}

#[tokio::test]
async fn endpoint_outside_aws_receives_the_trace_of_a_sampled_task_in_both_formats() {
    let unsampled = TASK.replace("Sampled=1", "Sampled=0");
    for (task, traced) in [(TASK, true), (unsampled.as_str(), false)] {
        let daemon = Daemon::start();
        let endpoint = FakeAws::returning([response(200, "null")]);
        let connector = Traced(endpoint.clone());
        invocation(daemon.tracer.as_ref(), Some(SAMPLED), async {
            trace::attempt(async {
                trace::taken("task-1", 1, Some(&task.parse().unwrap()));
                let request = HttpRequest::new(SdkBody::empty());
                connector.call(request).await.unwrap();
            })
            .await;
        })
        .await;
        let id = header(&endpoint, TRACE_ID_HEADER).map(|sent| {
            let (_, rest) = sent.split_once("Parent=").unwrap();
            rest[..16].to_owned()
        });
        assert_eq!(id.is_some(), traced, "{task}");
        let expected = id.map(|id| format!("00-63442e4f111111111111111111111111-{id}-01"));
        assert_eq!(header(&endpoint, TRACEPARENT_HEADER), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn canceled_call_is_recorded_as_fault_and_throttled_call_as_throttle() {
    let daemon = Daemon::start();
    let slow = FakeAws::returning([response(200, "null")]).after(Duration::from_secs(60));
    let throttled = FakeAws::returning([response(429, "{}")]);
    invocation(daemon.tracer.as_ref(), None, async {
        let cut_off = tokio::time::timeout(Duration::from_millis(10), run(&slow, Some(TASK))).await;
        assert!(cut_off.is_err());
        run(&throttled, Some(TASK)).await;
    })
    .await;
    let [cut_off, throttled]: [Value; 2] = daemon.received().try_into().unwrap();
    assert_eq!(cut_off["subsegments"][0]["fault"], true);
    assert_eq!(cut_off["subsegments"][0]["http"], Value::Null);
    let call = &throttled["subsegments"][0];
    assert_eq!(
        (&call["throttle"], &call["error"]),
        (&json!(true), &json!(true))
    );
}

#[tokio::test]
async fn segment_with_many_calls_fits_into_one_datagram() {
    let (daemon, aws) = (Daemon::start(), FakeAws::returning([response(200, "null")]));
    let connector = Traced(aws);
    invocation(daemon.tracer.as_ref(), Some(SAMPLED), async {
        for _ in 0..MAX_CALLS + 7 {
            let request = HttpRequest::new(SdkBody::empty());
            connector.call(request).await.unwrap();
        }
        (0..100).for_each(|_| trace::caused_by(TASK));
        trace::caused_by("malformed");
    })
    .await;
    let [document]: [Value; 1] = daemon.received().try_into().unwrap();
    assert_eq!(document["subsegments"].as_array().unwrap().len(), MAX_CALLS);
    assert_eq!(document["links"].as_array().unwrap().len(), 20);
    assert_eq!(document["metadata"]["freshq"]["calls_left_out"], 7);
}
