//! `agent-desk`: executes one command per invocation. An operator or an authorized program sends
//! the command.

use std::sync::Arc;
use std::time::Duration;

use agent_queue::desk::{Command, Desk, Response};
use agent_queue::queue::AgentQueue;
use agent_queue::time::SystemClock;
use functions::agents::{self, Agents};
use functions::config::{self, variable};
use functions::telemetry::metrics::Metrics;
use functions::{Context, Failure, Handler, sqs};
use serde_json::Value;

/// Time reserved before the function's deadline to publish assignments and to respond.
const MARGIN: Duration = Duration::from_secs(9);

fn main() -> Result<(), functions::Error> {
    functions::serve(1, start())
}

struct Serves {
    desk: Desk,
    queue: Arc<AgentQueue>,
    metrics: Metrics,
}

async fn start() -> Result<Serves, Failure> {
    let config = config::AgentQueue::read(variable::SETTINGS_AGENT_DESK, &config::environment)?;
    let seed = config.seed;
    let Agents {
        queue,
        publisher,
        metrics,
        ..
    } = agents::start(config).await?;
    let desk = Desk::new(queue.clone(), publisher, Arc::new(SystemClock), seed);
    Ok(Serves {
        desk,
        queue,
        metrics,
    })
}

impl Handler for Serves {
    type Event = Value;
    type Response = Response;

    async fn handle(&self, event: Value, context: Context) -> Result<Response, Failure> {
        let command = Command::read(event, &self.queue.settings().dimensions)?;
        let deadline = sqs::deadline(&context, MARGIN);
        let (name, agent, call) = command.subject();
        let (agent, call) = (
            agent.map(ToString::to_string),
            call.map(ToString::to_string),
        );
        let done = self.desk.until(deadline).execute(command).await;
        self.metrics.emit(&self.queue.counted());
        let (response, report) = done?;
        tracing::info!(
            command = name,
            agent,
            call,
            rejected = response.rejected(),
            assigned = report.assigned,
            queued = report.calls_queued,
            cancelled = report.cancelled,
            expired = report.expired,
            agents_queued = report.agents_queued,
            published = report.published.published,
            dead_lettered = report.published.dead_lettered,
            unpublished = report.published.failed,
            "command"
        );
        self.metrics.emit(&report);
        Ok(response)
    }
}
