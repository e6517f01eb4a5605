//! `count-shed`: counts the shed tasks, and publishes an event for each task that ended.
//!
//! DynamoDB's time to live deleted the shed tasks while they were PENDING or TAKEN. They go to a
//! queue if one is configured. Events require an event bus.
//!
//! Its event source mapping requires `ReportBatchItemFailures`. Lambda retries the batch from the
//! first task that could not be sent or published, and no task before it is counted twice.

mod bus;
mod event;

use std::sync::Arc;

use aws_lambda_events::streams::DynamoDbEventResponse;
use functions::config::{self, CountShed};
use functions::telemetry::metrics::Metrics;
use functions::{Context, Failure, Handler, aws};
use lifo_queue::shed::sqs::SqsShedSink;
use lifo_queue::shed::{ShedCounter, ShedSink};
use serde_json::Value;

use self::bus::Bus;

fn main() -> Result<(), functions::Error> {
    functions::serve(1, start())
}

struct Counts {
    counter: ShedCounter,
    bus: Option<Bus>,
    metrics: Metrics,
}

async fn start() -> Result<Counts, Failure> {
    let settings = CountShed::read(&config::environment)?;
    let metrics = Metrics::install(&settings.table)?;
    let aws = aws::sdk_config().await;
    let sink = settings.shed_queue.map(|url| {
        let client = aws_sdk_sqs::Client::new(&aws);
        Arc::new(SqsShedSink::new(client, url)) as Arc<dyn ShedSink>
    });
    let bus = settings.event_bus.map(|arn| {
        let client = aws_sdk_eventbridge::Client::new(&aws);
        Bus::new(client, arn, settings.table)
    });
    let counter = ShedCounter::new(sink);
    Ok(Counts {
        counter,
        bus,
        metrics,
    })
}

impl Handler for Counts {
    type Event = Value;
    type Response = DynamoDbEventResponse;

    async fn handle(&self, event: Value, _: Context) -> Result<Self::Response, Failure> {
        let batch = event::read(&event)?;
        // Publish events first: shed tasks after a record that will be retried must not be counted.
        let (published, unpublished) = match &self.bus {
            Some(bus) => {
                let published = bus.publish(&batch.ended).await;
                (published, batch.unpublished(published))
            }
            None => (0, None),
        };
        let report = self.counter.count(batch.shed_before(unpublished)).await;
        let not_counted = report
            .again_from
            .and_then(|task| batch.record_of_shed(task));
        let response = batch.response(not_counted.or(unpublished))?;
        tracing::info!(
            records = batch.records,
            published,
            pending = report.pending,
            taken = report.taken,
            not_handed_over = report.not_handed_over.len(),
            "shed tasks"
        );
        self.metrics.emit(&report);
        Ok(response)
    }
}
