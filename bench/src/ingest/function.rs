//! The release binary, at work on batches.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use super::runtime_api::RuntimeApi;
use crate::Error;
use crate::process::{Figures, peak_memory_kib_of};

/// Writes under way at once, as `ingest-tasks.env` has it.
pub(crate) const PARALLEL: u16 = 32;

const ENVIRONMENT: &str = include_str!("../../ingest-tasks.env");

/// How long one batch may take.
const PATIENCE: Duration = Duration::from_secs(300);

pub(crate) struct Through {
    pub(crate) figures: Figures,
    /// The largest event, in bytes.
    pub(crate) event_bytes: usize,
}

/// Hands `messages` to the function, `batch` at a time, one batch after the other.
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
        let mut api = RuntimeApi::start().await?;
        let function = Function::start(bootstrap, &api.address, address)?;
        let events: Vec<String> = (0..messages / batch)
            .map(|n| event(n * batch, batch))
            .collect();
        let event_bytes = events.iter().map(String::len).max().unwrap_or_default();
        let mut seconds = 0.0;
        for event in events {
            let started = Instant::now();
            let answer = tokio::time::timeout(PATIENCE, api.invoke(event)).await??;
            seconds += started.elapsed().as_secs_f64();
            if answer != json!({"batchItemFailures": []}) {
                return Err(format!("not all was written: {answer}").into());
            }
        }
        Ok(Through {
            figures: Figures {
                seconds,
                calls: [("put".to_owned(), messages)].into(),
                peak_memory_kib: peak_memory_kib_of(&function.0.id().to_string()),
            },
            event_bytes,
        })
    })
}

/// Ended when it is dropped.
struct Function(Child);

impl Function {
    fn start(bootstrap: &Path, api: &str, dynamodb: &str) -> Result<Self, Error> {
        let variables = ENVIRONMENT.lines().filter_map(|line| line.split_once('='));
        let child = Command::new(bootstrap)
            .env_clear()
            .envs(variables)
            .env("AWS_LAMBDA_RUNTIME_API", api)
            .env("AWS_ENDPOINT_URL_DYNAMODB", format!("http://{dynamodb}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()?;
        Ok(Self(child))
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        let _ended = self.0.kill().and_then(|()| self.0.wait().map(drop));
    }
}

/// A batch as Lambda hands it over.
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
