//! Configuration of `process-tasks`.

use std::num::NonZeroU32;
use std::time::Duration;

use lifo_queue::process::{BreakerSettings, CodelSettings, ProcessSettings, RateLimit};
use lifo_queue::runner::config::RunnerConfig;
use lifo_queue::task::Retention;

use super::variable as var;
use super::{ConfigError, Reader};

/// Configuration of `process-tasks`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessTasks {
    /// The task table.
    pub table: String,
    /// ARN of ProcessTasksTopic.
    pub process_tasks_topic: String,
    /// ARN of TriggerTopic.
    pub trigger_topic: String,
    /// How a turn works.
    pub settings: ProcessSettings,
    /// Which runner; [`RunnerConfig::Custom`] for one that a binary of one's own brings.
    pub runner: RunnerConfig,
}

impl ProcessTasks {
    /// Reads it through `lookup`.
    ///
    /// # Errors
    /// [`ConfigError`] names every variable that is missing or wrong.
    pub fn read(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let mut env = Reader::new(lookup);
        let config = Self {
            table: env.text(var::TASK_TABLE_NAME),
            process_tasks_topic: env.arn(var::PROCESS_TASKS_TOPIC_ARN),
            trigger_topic: env.arn(var::TRIGGER_TOPIC_ARN),
            settings: settings(&mut env),
            runner: env.json(var::TASK_RUNNER, RunnerConfig::Custom {}),
        };
        env.check(
            config.settings.heartbeat * 2 <= config.settings.processor_lease,
            var::HEARTBEAT_MS,
            "is more than half of PROCESSOR_LEASE_MS, so one lost renewal would end a turn; \
             lower it, or lengthen the lease",
        );
        env.check(
            config.settings.backoff.base <= config.settings.backoff.max,
            var::RETRY_MAX_MS,
            "is less than RETRY_BASE_MS; raise it",
        );
        env.finish(config)
    }
}

fn settings(env: &mut Reader<'_>) -> ProcessSettings {
    ProcessSettings {
        turn: env.millis(var::TURN_MS, 1),
        task_timeout: env.millis(var::TASK_TIMEOUT_MS, 1),
        deadline_margin: env.millis(var::DEADLINE_MARGIN_MS, 0),
        slots: env.number(var::TASK_SLOTS, 1),
        rate: rate(env),
        max_attempts: env.number(var::MAX_ATTEMPTS, 1),
        max_busy_returns: env.number(var::MAX_BUSY_RETURNS, 0),
        breaker: breaker(env),
        codel: codel(env),
        target_latency: env.optional_millis(var::TARGET_LATENCY_MS, 1),
        backoff: super::backoff(env),
        processor_lease: env.millis(var::PROCESSOR_LEASE_MS, 1),
        heartbeat: env.millis(var::HEARTBEAT_MS, 1),
        index_lag: env.millis(var::INDEX_LAG_MS, 0),
        max_idle_turns: env.number(var::MAX_IDLE_TURNS, 1),
        clock_skew: env.millis(var::CLOCK_SKEW_MS, 0),
        retention: Retention {
            success: env.seconds(var::SUCCESS_RETENTION_SECONDS, 0),
            failure: env.seconds(var::FAILURE_RETENTION_SECONDS, 0),
        },
        default_ttl: env.seconds(var::DEFAULT_TTL_SECONDS, 1),
        expiry_bound: env.optional_seconds(var::EXPIRY_BOUND_SECONDS, 1),
        order: super::order(env),
        notification_marker: env.millis(var::NOTIFICATION_MARKER_MS, 0),
        pause: env.millis(var::PAUSE_MS, 1),
    }
}

/// The circuit breaker, unless it is switched off.
fn breaker(env: &mut Reader<'_>) -> Option<BreakerSettings> {
    let max_returns = env.number(var::MAX_UNAVAILABLE_RETURNS, 0);
    let pause_after = env.optional_seconds(var::BREAKER_PAUSE_AFTER_SECONDS, 1)?;
    Some(BreakerSettings {
        pause_after,
        max_returns,
    })
}

/// The bound on age under overload, if there is one.
fn codel(env: &mut Reader<'_>) -> Option<CodelSettings> {
    let target = env.optional_millis(var::CODEL_TARGET_MS, 1);
    let interval = env.optional_millis(var::CODEL_INTERVAL_MS, 1);
    env.check(
        target.is_some() == interval.is_some(),
        var::CODEL_INTERVAL_MS,
        "has no meaning without CODEL_TARGET_MS, nor that without this; set or remove both",
    );
    Some(CodelSettings {
        target: target?,
        interval: interval?,
    })
}

/// The rate limit, if there is one. Without `RATE_BURST` one second's starts may come at once.
fn rate(env: &mut Reader<'_>) -> Option<RateLimit> {
    let per_second = env.optional_rate(var::RATE_PER_SECOND);
    let burst: Option<NonZeroU32> = env.optional_number(var::RATE_BURST, NonZeroU32::MIN);
    env.check(
        per_second.is_some() || burst.is_none(),
        var::RATE_BURST,
        "has no meaning without RATE_PER_SECOND; set that, or remove this",
    );
    let per_second = per_second?;
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and saturates"
    )]
    let one_second = NonZeroU32::new(per_second.ceil() as u32).unwrap_or(NonZeroU32::MIN);
    Some(RateLimit {
        interval: Duration::from_secs_f64(per_second.recip()),
        burst: burst.unwrap_or(one_second),
    })
}
