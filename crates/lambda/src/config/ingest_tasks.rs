//! Configuration of `ingest-tasks`.

use std::time::Duration;

use lifo_queue::backoff::Backoff;
use lifo_queue::ingest::IngestSettings;

use super::variable as var;
use super::{ConfigError, Reader};

/// The report is there so long before the function's deadline: for writing the log, and for the
/// answer's way.
pub const REPORT_MARGIN: Duration = Duration::from_secs(1);

/// Configuration of `ingest-tasks`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngestTasks {
    /// The task table.
    pub table: String,
    /// The URL of the queue that tasks come from.
    pub queue: String,
    /// The URL of the queue for messages that are no tasks.
    pub dead_letters: String,
    /// The URL of the queue that shed tasks go to; `None`: they are counted only.
    pub shed_queue: Option<String>,
    /// How long before the function's deadline the last write ends; the rest of the time is for
    /// invalid, shed and failed messages.
    pub margin: Duration,
    /// How batches are worked through.
    pub settings: IngestSettings,
}

impl IngestTasks {
    /// Reads it through `lookup`.
    ///
    /// # Errors
    /// [`ConfigError`] names every variable that is missing or wrong.
    pub fn read(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let mut env = Reader::new(lookup);
        let config = Self {
            table: env.text(var::TASK_TABLE_NAME),
            queue: env.text(var::INGEST_QUEUE_URL),
            dead_letters: env.text(var::INGEST_DEAD_LETTER_QUEUE_URL),
            shed_queue: env.optional_text(var::SHED_QUEUE_URL),
            margin: env.millis(var::DEADLINE_MARGIN_MS, 0),
            settings: IngestSettings {
                create: super::create(&mut env),
                parallel: env.number(var::WRITE_PARALLELISM, 1),
                visibility: Backoff {
                    base: env.seconds(var::VISIBILITY_BASE_SECONDS, 1),
                    max: env.seconds(var::VISIBILITY_MAX_SECONDS, 1),
                },
            },
        };
        for (variable, url) in [
            (var::INGEST_QUEUE_URL, Some(&config.queue)),
            (
                var::INGEST_DEAD_LETTER_QUEUE_URL,
                Some(&config.dead_letters),
            ),
            (var::SHED_QUEUE_URL, config.shed_queue.as_ref()),
        ] {
            super::standard_queue(&mut env, variable, url.map(String::as_str));
        }
        env.check(
            config.queue != config.dead_letters,
            var::INGEST_DEAD_LETTER_QUEUE_URL,
            "names the ingest queue itself, which would redeliver an invalid message without end; name its dead-letter queue",
        );
        env.check(
            config.margin > REPORT_MARGIN,
            var::DEADLINE_MARGIN_MS,
            "leaves no time for invalid and failed messages; give more than 1000, better 5000",
        );
        env.finish(config)
    }
}
