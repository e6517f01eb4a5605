//! `ingest-tasks`: writes the tasks from an SQS standard queue to the table.
//!
//! Its event source mapping requires `ReportBatchItemFailures`. SQS redelivers exactly the messages
//! that could not be written completely, before the queue's visibility timeout ends. While the queue
//! has a backlog, the function receives further messages itself.

mod event;

use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::sqs::SqsBatchResponse;
use functions::config::{self, IngestTasks};
use functions::telemetry::metrics::Metrics;
use functions::telemetry::traces;
use functions::{Context, Failure, Handler, aws, sqs};
use lifo_queue::ingest::sqs::SqsIngestQueue;
use lifo_queue::ingest::{Deadlines, Ingest, IngestReport};
use lifo_queue::shed::sqs::SqsShedSink;
use lifo_queue::shed::{ShedCounter, ShedSink};
use lifo_queue::store::dynamodb::DynamoStore;
use lifo_queue::time::SystemClock;
use lifo_queue::trace::Tracer;
use serde_json::Value;

fn main() -> Result<(), functions::Error> {
    functions::serve(1, start())
}

struct Ingests {
    ingest: Ingest,
    metrics: Metrics,
    margin: Duration,
    tracer: Option<Arc<Tracer>>,
}

async fn start() -> Result<Ingests, Failure> {
    let config = IngestTasks::read(&config::environment)?;
    let metrics = Metrics::install(&config.table)?;
    let aws = aws::sdk_config().await;
    let dynamodb = aws_sdk_dynamodb::Client::new(&aws);
    let store = Arc::new(DynamoStore::new(dynamodb, config.table));
    let client = aws_sdk_sqs::Client::new(&aws);
    let sink = config
        .shed_queue
        .map(|url| Arc::new(SqsShedSink::new(client.clone(), url)) as Arc<dyn ShedSink>);
    let queue = SqsIngestQueue::new(client, config.queue, config.dead_letters);
    let ingest = Ingest::new(
        store.clone(),
        Arc::new(queue),
        ShedCounter::new(sink),
        Arc::new(SystemClock),
        config.settings.ingest,
    )
    .admitting_by(store);
    Ok(Ingests {
        ingest,
        metrics,
        margin: config.settings.margin,
        tracer: traces::tracer(config.settings.traces),
    })
}

impl Handler for Ingests {
    type Event = Value;
    type Response = SqsBatchResponse;

    async fn handle(&self, event: Value, context: Context) -> Result<Self::Response, Failure> {
        let batch = event::read(event)?;
        let deadlines = Deadlines {
            writes: sqs::deadline(&context, self.margin),
            report: sqs::deadline(&context, config::REPORT_MARGIN),
        };
        let report = self.ingest.work(&batch, deadlines).await;
        self.count(&report);
        self.ingest
            .catch_up(&batch, &report, deadlines, |report| self.count(report))
            .await;
        Ok(sqs::response(report.returned))
    }

    fn tracer(&self) -> Option<&Arc<Tracer>> {
        self.tracer.as_ref()
    }
}

impl Ingests {
    fn count(&self, report: &IngestReport) {
        tracing::info!(
            messages = report.messages,
            created = report.created,
            duplicates = report.duplicates,
            superseded = report.superseded,
            superseded_keys = report.superseded_keys(),
            shed = report.shed.counted(),
            not_admitted = report.shed.not_admitted,
            rejected = report.rejected,
            returned = report.returned.len(),
            postponed = report.postponed,
            "ingest"
        );
        self.metrics.emit(report);
    }
}
