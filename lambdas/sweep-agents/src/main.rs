//! `sweep-agents`: every minute, ends expired call leases, expires overdue calls, publishes the
//! remaining events, and assigns pending calls left behind by crashed processes.

use std::sync::Arc;
use std::time::Duration;

use agent_queue::aws::AwsPublisher;
use agent_queue::queue::AgentQueue;
use agent_queue::sweep::SweepReport;
use functions::agents::{self, Agents};
use functions::config::{self, variable};
use functions::telemetry::metrics::Metrics;
use functions::{Context, Failure, Handler, sqs};
use serde_json::Value;

/// Time reserved before the function's deadline to finish the current read or batch of messages and
/// to report.
const MARGIN: Duration = Duration::from_secs(9);

fn main() -> Result<(), functions::Error> {
    functions::serve(1, start())
}

struct Sweeps {
    queue: Arc<AgentQueue>,
    publisher: Arc<AwsPublisher>,
    metrics: Metrics,
}

async fn start() -> Result<Sweeps, Failure> {
    let config = config::AgentQueue::read(variable::SETTINGS_SWEEP_AGENTS, &config::environment)?;
    let Agents {
        queue,
        publisher,
        metrics,
        ..
    } = agents::start(config).await?;
    Ok(Sweeps {
        queue,
        publisher,
        metrics,
    })
}

impl Handler for Sweeps {
    type Event = Value;
    type Response = SweepReport;

    /// Ignores the event, because a sweep takes no input from the schedule or an operator.
    async fn handle(&self, _event: Value, context: Context) -> Result<SweepReport, Failure> {
        let queue = self.queue.until(sqs::deadline(&context, MARGIN));
        let swept = queue.sweep(&*self.publisher).await;
        // Report the figures of the completed steps even if the sweep failed.
        let report = swept.as_ref().unwrap_or_else(|error| &error.report);
        tracing::info!(
            returned = report.returned,
            undone = report.undone,
            assigned = report.assigned,
            expired = report.expired,
            published = report.published,
            dead_lettered = report.dead_lettered,
            unpublished = report.untold,
            queued_agents = report.queued_agents,
            pending_calls = report.pending_calls,
            oldest_pending_ms = report.oldest_pending_micros / 1_000,
            complete = report.complete,
            "sweep"
        );
        self.metrics.emit(&self.queue.counted());
        self.metrics.emit(report);
        Ok(swept?)
    }
}
