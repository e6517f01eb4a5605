//! `match-calls`: assigns the calls from the call queue, an SQS FIFO queue, to agents.

mod event;

use std::sync::Arc;

use agent_queue::intake::sqs::SqsCallQueue;
use agent_queue::intake::{Intake, MARGIN};
use agent_queue::queue::AgentQueue;
use aws_lambda_events::sqs::SqsBatchResponse;
use functions::agents::{self, Agents};
use functions::config::{self, MatchCalls};
use functions::telemetry::metrics::Metrics;
use functions::{Context, Failure, Handler, sqs};
use serde_json::Value;

fn main() -> Result<(), functions::Error> {
    functions::serve(1, start())
}

struct Matches {
    intake: Intake,
    queue: Arc<AgentQueue>,
    metrics: Metrics,
}

async fn start() -> Result<Matches, Failure> {
    let MatchCalls { queue, call_queue } = MatchCalls::read(&config::environment)?;
    let Agents {
        queue,
        publisher,
        sqs,
        metrics,
    } = agents::start(queue).await?;
    let intake = Intake::new(queue.clone(), publisher.clone(), publisher)
        .showing_again(Arc::new(SqsCallQueue::new(sqs, call_queue)));
    Ok(Matches {
        intake,
        queue,
        metrics,
    })
}

impl Handler for Matches {
    type Event = Value;
    type Response = SqsBatchResponse;

    async fn handle(&self, event: Value, context: Context) -> Result<Self::Response, Failure> {
        let batch = event::read(event)?;
        let deadline = sqs::deadline(&context, MARGIN);
        let report = self.intake.work(&batch, deadline).await;
        tracing::info!(
            messages = batch.len(),
            assigned = report.assigned,
            queued = report.queued,
            expired = report.expired,
            rejected = report.rejected,
            published = report.published.published,
            dead_lettered = report.published.dead_lettered,
            unpublished = report.published.failed,
            returned = report.failed.len(),
            "calls"
        );
        self.metrics.emit(&self.queue.counted());
        self.metrics.emit(&report);
        Ok(sqs::response(report.failed))
    }
}
