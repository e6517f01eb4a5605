//! Typed configuration: what each function reads from its environment, once, at its start.
//!
//! A function whose environment is incomplete says everything that is wrong with it in one
//! error, each variable with its remedy. The names are held together with the template's by
//! `tests/contract.json`.

mod agents;
mod count_shed;
mod ingest_tasks;
mod process_tasks;
mod reader;
pub mod variable;

use std::time::Duration;

use lifo_queue::backoff::Backoff;
use lifo_queue::create::{CreateSettings, LONGEST_TTL};
use lifo_queue::store::Order;
use lifo_queue::sweep::SweepSettings;
use lifo_queue::task::Place;

pub use self::agents::{AgentDesk, AgentQueue, MatchCalls};
pub use self::count_shed::CountShed;
pub use self::ingest_tasks::{IngestTasks, REPORT_MARGIN};
pub use self::process_tasks::ProcessTasks;
pub use self::reader::{ConfigError, Problem, Reader};
use self::variable as var;

/// A value of `TASK_ORDER`: the newest task first.
const NEWEST_FIRST: &str = "newest-first";
/// A value of `TASK_ORDER`: the key that has waited longest first.
const OLDEST_KEY_FIRST: &str = "oldest-key-first";

/// The process's environment, as [`Reader`] wants it.
#[must_use]
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Configuration of `create-tasks`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateTasks {
    /// The task table.
    pub table: String,
    /// Expiries of new tasks.
    pub create: CreateSettings,
    /// Whether `{"simulate": …}` is answered: outside production only.
    pub simulation: bool,
}

impl CreateTasks {
    /// Reads it through `lookup`.
    ///
    /// # Errors
    /// [`ConfigError`] names every variable that is missing or wrong.
    pub fn read(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let mut env = Reader::new(lookup);
        let config = Self {
            table: env.text(var::TASK_TABLE_NAME),
            create: create(&mut env),
            simulation: env.flag(var::SIMULATION_ENABLED),
        };
        env.finish(config)
    }
}

/// What every function that creates tasks reads of them.
fn create(env: &mut Reader<'_>) -> CreateSettings {
    let settings = CreateSettings {
        default_ttl: env.seconds(var::DEFAULT_TTL_SECONDS, 1),
        max_ttl: env
            .optional_seconds(var::MAX_TTL_SECONDS, 1)
            .unwrap_or(LONGEST_TTL),
        key_ttl: env.seconds(var::KEY_TTL_SECONDS, 1),
        place: match order(env) {
            Order::NewestFirst => Place::Moves,
            Order::OldestFirst => Place::Stays,
        },
    };
    env.check(
        settings.default_ttl <= settings.max_ttl,
        var::MAX_TTL_SECONDS,
        "is shorter than DEFAULT_TTL_SECONDS; raise it, or lower the default",
    );
    settings
}

/// From which end the queue runs.
fn order(env: &mut Reader<'_>) -> Order {
    match env.optional_text(var::TASK_ORDER).as_deref() {
        None | Some(NEWEST_FIRST) => Order::NewestFirst,
        Some(OLDEST_KEY_FIRST) => Order::OldestFirst,
        Some(_) => {
            let fault = "is neither newest-first nor oldest-key-first; set one of the two";
            env.check(false, var::TASK_ORDER, fault);
            Order::NewestFirst
        }
    }
}

/// The URL of a standard queue, if there is one
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-queue-message-identifiers.html>:
/// a FIFO queue's name, and so its URL, ends in `.fifo`).
fn standard_queue(env: &mut Reader<'_>, variable: var::Variable, url: Option<&str>) {
    env.check(
        !url.is_some_and(|url| url.ends_with(".fifo")),
        variable,
        "names a FIFO queue, which takes no message without a group; name a standard queue",
    );
}

/// Configuration of `trigger`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// The task table.
    pub table: String,
    /// How processors are woken.
    pub wake: Wake,
}

impl Trigger {
    /// Reads it through `lookup`.
    ///
    /// # Errors
    /// [`ConfigError`] names every variable that is missing or wrong.
    pub fn read(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let mut env = Reader::new(lookup);
        let config = Self {
            table: env.text(var::TASK_TABLE_NAME),
            wake: Wake::read(&mut env),
        };
        env.finish(config)
    }
}

/// Configuration of `sweep-tasks`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepTasks {
    /// The task table.
    pub table: String,
    /// How processors are woken.
    pub wake: Wake,
    /// How it returns and fails the tasks that it finds.
    pub settings: SweepSettings,
}

impl SweepTasks {
    /// Reads it through `lookup`.
    ///
    /// # Errors
    /// [`ConfigError`] names every variable that is missing or wrong.
    pub fn read(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let mut env = Reader::new(lookup);
        let config = Self {
            table: env.text(var::TASK_TABLE_NAME),
            wake: Wake::read(&mut env),
            settings: SweepSettings {
                default_ttl: env.seconds(var::DEFAULT_TTL_SECONDS, 1),
                expiry_bound: env.optional_seconds(var::EXPIRY_BOUND_SECONDS, 1),
                overload_reach: env
                    .optional_millis(var::CODEL_TARGET_MS, 1)
                    .map(|target| 2 * target),
                max_attempts: env.number(var::MAX_ATTEMPTS, 1),
                backoff: backoff(&mut env),
                failure_retention: env.seconds(var::FAILURE_RETENTION_SECONDS, 0),
                clock_skew: env.millis(var::CLOCK_SKEW_MS, 0),
            },
        };
        env.finish(config)
    }
}

fn backoff(env: &mut Reader<'_>) -> Backoff {
    Backoff {
        base: env.millis(var::RETRY_BASE_MS, 0),
        max: env.millis(var::RETRY_MAX_MS, 0),
    }
}

/// What every function that wakes processors needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wake {
    /// ARN of ProcessTasksTopic.
    pub process_tasks_topic: String,
    /// How long one notification holds others back (rule 9).
    pub marker: Duration,
}

impl Wake {
    fn read(env: &mut Reader<'_>) -> Self {
        Self {
            process_tasks_topic: env.arn(var::PROCESS_TASKS_TOPIC_ARN),
            marker: env.millis(var::NOTIFICATION_MARKER_MS, 0),
        }
    }
}
