//! Configuration of the functions of a task queue.

use std::time::Duration;

use lifo_queue::create::CreateSettings;
use lifo_queue::ingest::IngestSettings;
use lifo_queue::process::ProcessSettings;
use lifo_queue::runner::config::RunnerConfig;
use lifo_queue::settings::ms;
use lifo_queue::sweep::SweepSettings;
use lifo_queue::trace::TraceSettings;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::variable::{self as var, Variable};
use super::{ConfigError, Reader};

/// Time reserved before the function's deadline for the log and the response.
pub const REPORT_MARGIN: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq)]
pub struct CreateTasks {
    pub table: String,
    pub settings: CreateTasksSettings,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct CreateTasksSettings {
    pub create: CreateSettings,
    /// Whether the function executes `{"simulate": …}` events; true only outside production.
    pub simulation: bool,
    /// Trace settings; `None` without traces.
    pub traces: Option<TraceSettings>,
}

impl CreateTasks {
    /// Reads the configuration through `lookup`.
    pub fn read(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let mut env = Reader::new(lookup);
        let table = env.text(var::TASK_TABLE_NAME);
        let settings = env.json(var::SETTINGS_CREATE_TASKS);
        env.finish(|| {
            Some(Self {
                table: table?,
                settings: settings?,
            })
        })
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct IngestTasks {
    pub table: String,
    pub queue: String,
    /// URL of the dead-letter queue for invalid messages.
    pub dead_letters: String,
    /// URL of the queue for shed tasks. With `None`, shed tasks are only counted.
    pub shed_queue: Option<String>,
    pub settings: IngestTasksSettings,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct IngestTasksSettings {
    pub ingest: IngestSettings,
    /// Time reserved between the last write and the function's deadline, to handle invalid, shed
    /// and failed messages.
    #[serde(rename = "deadlineMarginMs", deserialize_with = "ms")]
    pub margin: Duration,
    /// Trace settings; `None` without traces.
    pub traces: Option<TraceSettings>,
}

impl IngestTasks {
    /// Reads the configuration through `lookup`.
    pub fn read(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let mut env = Reader::new(lookup);
        let table = env.text(var::TASK_TABLE_NAME);
        let queue = env.text(var::INGEST_QUEUE_URL);
        let dead_letters = env.text(var::INGEST_DEAD_LETTER_QUEUE_URL);
        let shed_queue = env.optional_text(var::SHED_QUEUE_URL);
        let settings = env.json(var::SETTINGS_INGEST_TASKS);
        env.finish(|| {
            Some(Self {
                table: table?,
                queue: queue?,
                dead_letters: dead_letters?,
                shed_queue,
                settings: settings?,
            })
        })
    }
}

/// Configuration of `trigger` and `sweep-tasks`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waking<S> {
    pub table: String,
    pub process_tasks_topic: String,
    pub settings: S,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct TriggerSettings {
    /// Lifetime of the start marker (rule 9 of the wake-up protocol).
    #[serde(rename = "notificationMarkerMs", deserialize_with = "ms")]
    pub marker: Duration,
    /// Trace settings; `None` without traces.
    pub traces: Option<TraceSettings>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct SweepTasksSettings {
    pub sweep: SweepSettings,
    /// Lifetime of the start marker (rule 9 of the wake-up protocol).
    #[serde(rename = "notificationMarkerMs", deserialize_with = "ms")]
    pub marker: Duration,
}

pub type Trigger = Waking<TriggerSettings>;

pub type SweepTasks = Waking<SweepTasksSettings>;

impl Trigger {
    /// Reads the configuration through `lookup`.
    pub fn read(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        waking(var::SETTINGS_TRIGGER, lookup)
    }
}

impl SweepTasks {
    /// Reads the configuration through `lookup`.
    pub fn read(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        waking(var::SETTINGS_SWEEP_TASKS, lookup)
    }
}

fn waking<S: DeserializeOwned>(
    variable: Variable,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<Waking<S>, ConfigError> {
    let mut env = Reader::new(lookup);
    let table = env.text(var::TASK_TABLE_NAME);
    let process_tasks_topic = env.arn(var::PROCESS_TASKS_TOPIC_ARN);
    let settings = env.json(variable);
    env.finish(|| {
        Some(Waking {
            table: table?,
            process_tasks_topic: process_tasks_topic?,
            settings: settings?,
        })
    })
}

#[derive(Clone, Debug, PartialEq)]
pub struct ProcessTasks {
    pub table: String,
    pub process_tasks_topic: String,
    pub trigger_topic: String,
    pub settings: ProcessSettings,
    /// The runner; [`RunnerConfig::Custom`] if a custom binary contains it.
    pub runner: RunnerConfig,
}

impl ProcessTasks {
    /// Reads the configuration through `lookup`.
    pub fn read(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let mut env = Reader::new(lookup);
        let table = env.text(var::TASK_TABLE_NAME);
        let process_tasks_topic = env.arn(var::PROCESS_TASKS_TOPIC_ARN);
        let trigger_topic = env.arn(var::TRIGGER_TOPIC_ARN);
        let settings = env.json(var::SETTINGS_PROCESS_TASKS);
        let runner = env.json(var::TASK_RUNNER);
        env.finish(|| {
            Some(Self {
                table: table?,
                process_tasks_topic: process_tasks_topic?,
                trigger_topic: trigger_topic?,
                settings: settings?,
                runner: runner?,
            })
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountShed {
    pub table: String,
    /// URL of the queue for shed tasks. With `None`, shed tasks are only counted.
    pub shed_queue: Option<String>,
    /// ARN of the event bus for events of finished tasks. With `None`, no events are published.
    pub event_bus: Option<String>,
}

impl CountShed {
    /// Reads the configuration through `lookup`.
    pub fn read(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let mut env = Reader::new(lookup);
        let table = env.text(var::TASK_TABLE_NAME);
        let shed_queue = env.optional_text(var::SHED_QUEUE_URL);
        let event_bus = env.optional_text(var::EVENT_BUS_ARN);
        env.finish(|| {
            Some(Self {
                table: table?,
                shed_queue,
                event_bus,
            })
        })
    }
}
