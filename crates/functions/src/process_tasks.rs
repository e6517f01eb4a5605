//! `process-tasks` without the task runner. A binary with your own runner therefore needs only a
//! few lines in its `main`:
//!
//! ```no_run
//! use lifo_queue::runner::{Outcome, TaskRunner};
//! use lifo_queue::task::Task;
//!
//! struct MyRunner;
//!
//! #[async_trait::async_trait]
//! impl TaskRunner for MyRunner {
//!     async fn run(&self, task: &Task) -> Outcome {
//!         tracing::info!(task_id = %task.task_id, "done");
//!         Outcome::Success
//!     }
//! }
//!
//! fn main() -> Result<(), functions::Error> {
//!     functions::process_tasks::serve(async |_start| Ok(MyRunner))
//! }
//! ```

use std::sync::Arc;

use async_trait::async_trait;
use aws_config::SdkConfig;
use lambda_runtime::Context;
use lifo_queue::control::Cause;
use lifo_queue::notify::sns::SnsNotifier;
use lifo_queue::process::{FailedTurn, Invocation, ProcessSettings, Processor, TurnSummary};
use lifo_queue::runner::config::{RunnerConfig, RunnerConfigError};
use lifo_queue::runner::{Outcome, TaskRunner};
use lifo_queue::store::dynamodb::DynamoStore;
use lifo_queue::task::Task;
use lifo_queue::time::{Clock, Millis, SystemClock};
use lifo_queue::trace::Tracer;
use serde_json::Value;

use crate::aws;
use crate::config::{self, ConfigError, ProcessTasks};
use crate::diagnostics::Failure;
use crate::event::{self, EventError};
use crate::serve::Handler;
use crate::telemetry;
use crate::telemetry::metrics::Metrics;

/// Maximum number of worker threads. If there are more slots, slots share threads.
const MAX_THREADS: usize = 64;

/// Input for the factory function that builds a runner.
#[derive(Clone, Debug)]
pub struct Start {
    /// Configuration for the runner's own AWS clients. They share the queue's HTTPS client and
    /// credentials, and its short timeouts and retries unless they set others.
    pub aws: SdkConfig,
    /// Settings of a turn. A run can take up to [`ProcessSettings::task_timeout`].
    pub settings: ProcessSettings,
    pub runner: RunnerConfig,
}

impl Start {
    /// Builds the runner that `TASK_RUNNER` describes. The default binary uses this runner, and a
    /// custom runner can wrap it.
    pub fn configured_runner(&self) -> Result<ConfiguredRunner, RunnerConfigError> {
        let runner = self.runner.clone();
        let runner = runner.build(&self.aws, self.settings.task_timeout)?;
        Ok(ConfiguredRunner(runner))
    }
}

pub struct ConfiguredRunner(Arc<dyn TaskRunner>);

#[async_trait]
impl TaskRunner for ConfiguredRunner {
    async fn run(&self, task: &Task) -> Outcome {
        self.0.run(task).await
    }
}

/// Serves `process-tasks` with the runner that `factory` creates once per process.
///
/// # Errors
/// When the process cannot continue; see [`crate::serve()`].
pub fn serve<R: TaskRunner + 'static>(
    factory: impl AsyncFnOnce(Start) -> Result<R, Failure>,
) -> Result<(), crate::Error> {
    telemetry::init();
    let config = ProcessTasks::read(&config::environment);
    crate::serve(threads(&config), async move {
        let ProcessTasks {
            table,
            process_tasks_topic,
            trigger_topic,
            settings,
            runner,
        } = config?;
        let metrics = Metrics::install(&table)?;
        let aws = aws::sdk_config().await;
        let store = Arc::new(DynamoStore::new(aws_sdk_dynamodb::Client::new(&aws), table));
        let sns = aws_sdk_sns::Client::new(&aws);
        let notifier = Arc::new(SnsNotifier::new(
            sns,
            process_tasks_topic,
            Some(trigger_topic),
        ));
        let start = Start {
            aws,
            settings,
            runner,
        };
        let runner = Arc::new(factory(start).await?);
        let clock = Arc::new(SystemClock);
        let processor = Processor::new(store, notifier, runner, clock, settings);
        Ok(ProcessTasksHandler {
            processor,
            metrics,
            tracer: telemetry::traces::tracer(settings.traces),
        })
    })
}

/// Returns the number of threads: one per slot, plus one. If a runner blocks its thread (it should
/// not), other tasks and the heartbeat of the processor lease still continue. An idle thread costs
/// a few microseconds and kilobytes.
fn threads(config: &Result<ProcessTasks, ConfigError>) -> usize {
    let slots = config
        .as_ref()
        .map_or(0, |config| usize::from(config.settings.slots));
    slots.saturating_add(1).min(MAX_THREADS)
}

struct ProcessTasksHandler {
    processor: Processor,
    metrics: Metrics,
    tracer: Option<Arc<Tracer>>,
}

impl Handler for ProcessTasksHandler {
    type Event = Value;
    type Response = TurnSummary;

    async fn handle(&self, event: Value, context: Context) -> Result<TurnSummary, Failure> {
        let invocation = invocation(event, &context, SystemClock.now())?;
        let (summary, failed) = match self.processor.turn(invocation).await {
            Ok(summary) => (summary, None),
            Err(FailedTurn { summary, error }) => (summary, Some(error)),
        };
        // Log and count failed turns too.
        log(&summary);
        self.metrics.emit(&summary);
        failed.map_or(Ok(summary), |error| Err(error.into()))
    }

    fn tracer(&self) -> Option<&Arc<Tracer>> {
        self.tracer.as_ref()
    }
}

/// Parses an invocation by SNS, or by an operator with `{}`.
///
/// Ignores a deadline in the past, because `cargo lambda watch` sends one in 1970.
fn invocation(event: Value, context: &Context, now: Millis) -> Result<Invocation, EventError> {
    let message_id = match event {
        event if event::is_from(&event, "aws:sns") => event::sns_message_id(event)?,
        Value::Null => context.request_id.clone(),
        Value::Object(fields) if fields.is_empty() => context.request_id.clone(),
        other => {
            return Err(EventError::unexpected(
                &other,
                "a notification of ProcessTasksTopic, or {} for a manual turn",
            ));
        }
    };
    let deadline = i64::try_from(context.deadline)
        .ok()
        .map(Millis)
        .filter(|at| *at > now);
    Ok(Invocation {
        message_id,
        deadline,
    })
}

fn log(summary: &TurnSummary) {
    tracing::info!(
        exit = ?summary.exit,
        tail_call = summary.tail_call,
        taken = summary.taken,
        succeeded = summary.succeeded,
        failed = summary.failed,
        retried = summary.retried,
        busy = summary.busy,
        unavailable = summary.unavailable,
        probes = summary.probes,
        breaker_open = summary.breaker_open,
        limit = summary.limit,
        cause = summary.cause.map_or("none", Cause::name),
        superseded = summary.superseded,
        overloaded_ms = summary.overloaded_ms,
        cut_off = summary.cut_off,
        unstarted = summary.unstarted,
        quarantined = summary.quarantined,
        lost_races = summary.lost_races,
        empty_polls = summary.empty_polls,
        queries = summary.queries,
        store_errors = summary.store_errors,
        idle_turns = summary.idle_turns,
        duration_ms = summary.duration_ms,
        oldest_start_ms = summary.oldest_start_ms,
        "turn"
    );
}

#[cfg(test)]
mod tests;
