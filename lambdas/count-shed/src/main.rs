//! `count-shed`: counts the tasks that DynamoDB's time to live deleted while they were PENDING
//! or TAKEN, and hands them to a queue if there is one.
//!
//! Its mapping needs `ReportBatchItemFailures`: a task that could not be handed over is asked for
//! again with everything after it, and what came before it is not counted twice.

mod event;

use std::sync::Arc;

use aws_lambda_events::streams::DynamoDbEventResponse;
use lambda::config::{self, CountShed};
use lambda::telemetry::metrics::Metrics;
use lambda::{Context, Failure, Handler, aws};
use lifo_queue::shed::sqs::SqsShedSink;
use lifo_queue::shed::{ShedCounter, ShedSink};
use serde_json::Value;

fn main() -> Result<(), lambda::Error> {
    lambda::serve(1, start())
}

struct Counts {
    counter: ShedCounter,
    metrics: Metrics,
}

async fn start() -> Result<Counts, Failure> {
    let CountShed { table, shed_queue } = CountShed::read(&config::environment)?;
    let metrics = Metrics::install(&table)?;
    let sink: Option<Arc<dyn ShedSink>> = match shed_queue {
        Some(url) => {
            let client = aws_sdk_sqs::Client::new(&aws::sdk_config().await);
            Some(Arc::new(SqsShedSink::new(client, url)))
        }
        None => None,
    };
    let counter = ShedCounter::new(sink);
    Ok(Counts { counter, metrics })
}

impl Handler for Counts {
    type Response = DynamoDbEventResponse;

    async fn handle(&self, event: Value, _: Context) -> Result<Self::Response, Failure> {
        let batch = event::read(&event)?;
        let report = self.counter.count(&batch.tasks).await;
        let response = batch.response(report.again_from)?;
        tracing::info!(
            records = batch.records,
            pending = report.pending,
            taken = report.taken,
            not_handed_over = report.not_handed_over.len(),
            "shed tasks"
        );
        self.metrics.emit(&report);
        Ok(response)
    }
}
