//! Batches that require a lot of memory to parse. The test restarts itself in a process whose
//! memory is capped by `ulimit`, because a failed allocation ends the process.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use aws_smithy_runtime_api::client::http::http_client_fn;
use conformance::NOW;
use lifo_queue::ingest::{
    DeadLetter, Deadlines, Delivery, Ingest, IngestQueue, IngestReport, Postponed,
};
use lifo_queue::shed::ShedCounter;
use lifo_queue::store::Source;
use lifo_queue::store::dynamodb::DynamoStore;
use lifo_queue::time::TokioClock;
use simulator::deployed;
use simulator::dynamodb::TABLE;
use simulator::protocol;
use tokio::time::Instant;

/// Memory in KB that is available to a batch in a function with the default 256 MB. The process
/// itself and the Lambda event use the rest.
const CAP_KB: usize = 160 * 1024;

/// Set in the process whose memory is capped.
const CAPPED: &str = "FRESHQ_TEST_CAPPED";

/// Queues that accept every message, and the number of responses with messages that are left.
struct Taking(AtomicUsize);

#[async_trait]
impl IngestQueue for Taking {
    async fn bury(&self, letters: &[DeadLetter]) -> Vec<Result<(), Source>> {
        letters.iter().map(|_| Ok(())).collect()
    }

    async fn postpone(&self, _: &[Postponed]) -> Vec<Source> {
        vec![]
    }

    async fn receive(&self, _: Duration) -> Result<Vec<Delivery>, Source> {
        let one_less = |left: usize| left.checked_sub(1);
        let left = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        Ok(left.map_or_else(|_| vec![], |_| largest()))
    }

    async fn delete(&self, _: &[String]) -> Vec<Source> {
        vec![]
    }
}

/// Messages with this body. An event can contain 6 MB of messages; the test needs less.
fn batch(messages: usize, body: &str) -> Vec<Delivery> {
    let message = |n| Delivery {
        id: format!("01937b9e-0000-7000-8000-{n:012}"),
        receipt: "receipt".to_owned(),
        group: None,
        body: body.to_owned(),
        sent: NOW,
        first_received: NOW,
        receives: 1,
    };
    (0..messages).map(message).collect()
}

/// Ten late messages of the maximum size.
fn largest() -> Vec<Delivery> {
    let body = format!("{{\"payload\":\"{}\"}}", "x".repeat(1_048_000));
    let mut messages = batch(10, &body);
    for message in &mut messages {
        message.first_received = NOW.plus(Duration::from_secs(60));
    }
    messages
}

async fn work(messages: usize, body: &str, writes: Duration) -> IngestReport {
    let (ingest, deadlines) = ingest(writes);
    ingest.work(&batch(messages, body), deadlines).await
}

fn ingest(writes: Duration) -> (Ingest, Deadlines) {
    // A DynamoDB stub that accepts every put after 20 ms, about the latency of the real service.
    let accepting = protocol::connector(|_| async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        protocol::respond(200, "{}")
    });
    let config = protocol::config().http_client(http_client_fn(move |_, _| accepting.clone()));
    let client = aws_sdk_dynamodb::Client::from_conf(config.build());
    let store = Arc::new(DynamoStore::new(client, TABLE));
    let (shed, clock) = (ShedCounter::new(None), TokioClock::starting_at(NOW));
    // The first round makes one request, and the second one eight.
    let (queue, clock) = (Arc::new(Taking(AtomicUsize::new(9))), Arc::new(clock));
    let ingest = Ingest::new(store, queue, shed, clock, *deployed::INGEST);
    let deadlines = Deadlines {
        writes: Instant::now() + writes,
        report: Instant::now() + writes + Duration::from_secs(60),
    };
    (ingest, deadlines)
}

async fn capped() {
    // The largest messages, in eight responses at the same time.
    let (ingest, deadlines) = ingest(Duration::from_secs(300));
    let late = largest();
    let report = ingest.work(&late, deadlines).await;
    let rounds = Mutex::new(vec![]);
    let count = |report: &IngestReport| rounds.lock().unwrap().push(report.messages);
    ingest.catch_up(&late, &report, deadlines, count).await;
    assert_eq!(*rounds.lock().unwrap(), [20, 60, 10]);
    drop(late);
    // One payload with many small values. Its item has the maximum size that DynamoDB allows.
    let numbers = format!("{{\"payload\":[{}0]}}", "0,".repeat(170_000));
    let report = work(12, &numbers, Duration::from_secs(300)).await;
    assert_eq!((report.created, report.returned.len()), (12, 0));
    // An array of ten thousand elements that are not tasks.
    let wrong = format!("[{}0]", "0,".repeat(9_999));
    let report = work(90, &wrong, Duration::from_secs(300)).await;
    assert_eq!(report.rejected, 900_000);
    // Ten thousand tasks per message: too many to write in time, so most messages are redelivered.
    let tasks = format!("[{}{{}}]", "{},".repeat(9_999));
    let report = work(90, &tasks, Duration::from_secs(1)).await;
    assert!(!report.returned.is_empty());
}

#[test]
fn no_batch_exceeds_the_memory_of_a_function() {
    if std::env::var_os(CAPPED).is_some() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        return runtime.block_on(capped());
    }
    let itself = std::env::current_exe().unwrap();
    let output = Command::new("sh")
        .args(["-c", "ulimit -d \"$1\" && exec \"$0\" --nocapture"])
        .arg(itself)
        .arg(CAP_KB.to_string())
        .env(CAPPED, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", output.status);
}
