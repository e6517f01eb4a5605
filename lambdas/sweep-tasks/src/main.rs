//! `sweep-tasks`: every minute, returns tasks whose lease expired, and wakes the queue if tasks are
//! due and no processor is active.

use std::sync::Arc;

use functions::config::{self, SweepTasks};
use functions::telemetry::metrics::Metrics;
use functions::{Context, Failure, Handler, aws};
use lifo_queue::notify::sns::SnsNotifier;
use lifo_queue::store::dynamodb::DynamoStore;
use lifo_queue::sweep::{SweepReport, Sweeper};
use lifo_queue::time::SystemClock;
use lifo_queue::wake::Waker;
use serde_json::Value;

fn main() -> Result<(), functions::Error> {
    functions::serve(1, start())
}

struct Sweep {
    sweeper: Sweeper,
    metrics: Metrics,
}

async fn start() -> Result<Sweep, Failure> {
    let SweepTasks {
        table,
        process_tasks_topic,
        settings,
    } = SweepTasks::read(&config::environment)?;
    let metrics = Metrics::install(&table)?;
    let aws = aws::sdk_config().await;
    let store = Arc::new(DynamoStore::new(aws_sdk_dynamodb::Client::new(&aws), table));
    let sns = aws_sdk_sns::Client::new(&aws);
    let notifier = Arc::new(SnsNotifier::new(sns, process_tasks_topic, None));
    let clock = Arc::new(SystemClock);
    let waker = Waker::new(store.clone(), notifier, clock.clone(), settings.marker);
    let sweeper = Sweeper::new(store, waker, clock, settings.sweep);
    Ok(Sweep { sweeper, metrics })
}

impl Handler for Sweep {
    type Event = Value;
    type Response = SweepReport;

    /// Ignores the event, because a sweep takes no input from the schedule or an operator.
    async fn handle(&self, _event: Value, context: Context) -> Result<SweepReport, Failure> {
        let (report, failed) = match self.sweeper.sweep(&context.request_id).await {
            Ok(report) => (report, None),
            Err(failed) => (failed.report.clone(), Some(failed)),
        };
        tracing::info!(
            pages = report.pages,
            returned = report.returned,
            failed = report.failed,
            superseded = report.superseded,
            due = report.due,
            woke = report.woke,
            adopted = report.adopted,
            quarantined = report.quarantined,
            errors = report.errors,
            complete = report.complete,
            paused = report.paused,
            pending = %report.pending,
            oldest_pending_ms = report.oldest_pending_ms,
            taken = %report.taken,
            "sweep"
        );
        match failed {
            None => {
                self.metrics.emit(&report);
                Ok(report)
            }
            Some(failed) => {
                self.metrics.emit(&failed);
                Err(failed.into())
            }
        }
    }
}
