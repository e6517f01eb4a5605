//! `trigger`: requests one wake-up per batch of inserted tasks and per tail call.
//!
//! The function fails if a wake-up may be lost. Lambda then retries a stream batch. A tail call
//! goes to the failure destination, and the sweep wakes the queue instead.

mod event;

use std::sync::Arc;

use functions::config::{self, Trigger};
use functions::telemetry::metrics::Metrics;
use functions::telemetry::traces;
use functions::{Context, Failure, Handler, aws};
use lifo_queue::notify::sns::SnsNotifier;
use lifo_queue::store::dynamodb::DynamoStore;
use lifo_queue::time::SystemClock;
use lifo_queue::trace::{self, Tracer};
use lifo_queue::wake::{Wake, Waker};
use serde::Serialize;
use serde_json::Value;

fn main() -> Result<(), functions::Error> {
    functions::serve(1, start())
}

struct Wakes {
    waker: Waker,
    metrics: Metrics,
    tracer: Option<Arc<Tracer>>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Response {
    Published,
    AlreadyAwake,
    AlreadyNotified,
    Paused,
    NothingInserted,
}

async fn start() -> Result<Wakes, Failure> {
    let Trigger {
        table,
        process_tasks_topic,
        settings,
    } = Trigger::read(&config::environment)?;
    let metrics = Metrics::install(&table)?;
    let aws = aws::sdk_config().await;
    let store = Arc::new(DynamoStore::new(aws_sdk_dynamodb::Client::new(&aws), table));
    let sns = aws_sdk_sns::Client::new(&aws);
    let notifier = Arc::new(SnsNotifier::new(sns, process_tasks_topic, None));
    let waker = Waker::new(store, notifier, Arc::new(SystemClock), settings.marker);
    Ok(Wakes {
        waker,
        metrics,
        tracer: traces::tracer(settings.traces),
    })
}

impl Handler for Wakes {
    type Event = Value;
    type Response = Response;

    async fn handle(&self, event: Value, _context: Context) -> Result<Response, Failure> {
        let Some(event) = event::read(event)? else {
            return Ok(Response::NothingInserted);
        };
        event
            .causes
            .iter()
            .for_each(|header| trace::caused_by(header));
        let wake = self.waker.request(&event.id, event.reason).await?;
        tracing::info!(event = event.id, reason = ?event.reason, tasks = event.tasks, ?wake, "wake-up");
        self.metrics.emit(&wake);
        Ok(match wake {
            Wake::Published => Response::Published,
            Wake::AlreadyAwake => Response::AlreadyAwake,
            Wake::AlreadyNotified => Response::AlreadyNotified,
            Wake::Paused => Response::Paused,
        })
    }

    fn tracer(&self) -> Option<&Arc<Tracer>> {
        self.tracer.as_ref()
    }
}
