//! Runs instances of the release binary, which handle batches.

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant, SystemTime};

use futures::future::try_join_all;
use serde_json::{Value, json};
use simulator::runtime_api::RuntimeApi;
use tokio::time::timeout;

use crate::Error;
use crate::process::{Figures, function, peak_memory_kib_of};

/// Number of concurrent writes per invocation, from the default settings.
pub(crate) const PARALLEL: u16 = 32;

const ENVIRONMENT: &str = include_str!("../../ingest-tasks.env");

const PATIENCE: Duration = Duration::from_secs(300);

pub(crate) struct Through {
    pub(crate) figures: Figures,
    pub(crate) event_bytes: usize,
}

/// Returns the number of parallel invocations that together make [`PARALLEL`] concurrent writes.
pub(crate) fn invocations(batch: u32) -> u32 {
    u32::from(PARALLEL).div_ceil(batch)
}

pub(crate) fn measure(
    bootstrap: &Path,
    address: &str,
    batch: u32,
    messages: u32,
) -> Result<Through, Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut events: Vec<String> = (0..messages / batch)
            .map(|n| event(n * batch, batch))
            .collect();
        let event_bytes = events.iter().map(String::len).max().unwrap_or_default();
        let mut functions = vec![];
        for n in (1..=invocations(batch)).rev() {
            let own = events.split_off(events.len() - events.len() / n as usize);
            functions.push((Function::start(bootstrap, address).await?, own));
        }
        let started = Instant::now();
        let work = functions
            .iter_mut()
            .map(|(function, events)| function.work(events));
        try_join_all(work).await?;
        let seconds = started.elapsed().as_secs_f64();
        let memory = functions
            .iter()
            .map(|(function, _)| function.peak_memory_kib());
        Ok(Through {
            figures: Figures {
                seconds,
                calls: [("put".to_owned(), messages)].into(),
                peak_memory_kib: memory.max().unwrap_or_default(),
            },
            event_bytes,
        })
    })
}

/// A process of the function with its Runtime API. The process ends when this value is dropped.
struct Function {
    process: Child,
    api: RuntimeApi,
}

impl Function {
    async fn start(bootstrap: &Path, dynamodb: &str) -> Result<Self, Error> {
        let api = RuntimeApi::start().await?;
        let process = function(bootstrap, "ingest-tasks", ENVIRONMENT)
            .env("AWS_LAMBDA_RUNTIME_API", &api.address)
            .env("AWS_ENDPOINT_URL_DYNAMODB", format!("http://{dynamodb}"))
            .spawn()?;
        Ok(Self { process, api })
    }

    async fn work(&mut self, events: &[String]) -> Result<(), Error> {
        for event in events {
            let (end, response) = timeout(PATIENCE, self.api.invoke(event.clone())).await??;
            if end != "response" || response != json!({"batchItemFailures": []}) {
                return Err(format!("not all was written: {response}").into());
            }
        }
        Ok(())
    }

    fn peak_memory_kib(&self) -> u64 {
        peak_memory_kib_of(&self.process.id().to_string())
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        let _ended = self
            .process
            .kill()
            .and_then(|()| self.process.wait().map(drop));
    }
}

fn event(first: u32, batch: u32) -> String {
    let sent = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let sent = sent.unwrap_or_default().as_millis().to_string();
    let records: Vec<Value> = (first..first + batch)
        .map(|n| {
            let body = json!({"payload": {"device": format!("d-{n}"), "reading": [n, 2, 3]}});
            json!({
                "messageId": format!("00000000-0000-4000-8000-{n:012}"),
                "receiptHandle": "AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a".repeat(6),
                "body": body.to_string(),
                "attributes": {
                    "ApproximateReceiveCount": "1",
                    "SentTimestamp": sent,
                    "SenderId": "AIDAIENQZJOLO23YVJ4VO",
                    "ApproximateFirstReceiveTimestamp": sent,
                },
                "messageAttributes": {},
                "md5OfBody": "e4e68fb7bd0e697a0ae8f1bb342846b3",
                "eventSource": "aws:sqs",
                "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:ingest",
                "awsRegion": "us-east-1",
            })
        })
        .collect();
    json!({"Records": records}).to_string()
}
