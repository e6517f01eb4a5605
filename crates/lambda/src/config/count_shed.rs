//! Configuration of `count-shed`.

use super::variable as var;
use super::{ConfigError, Reader};

/// Configuration of `count-shed`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountShed {
    /// The task table.
    pub table: String,
    /// The URL of the queue that shed tasks go to; `None`: they are counted only.
    pub shed_queue: Option<String>,
}

impl CountShed {
    /// Reads it through `lookup`.
    ///
    /// # Errors
    /// [`ConfigError`] names every variable that is missing or wrong.
    pub fn read(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let mut env = Reader::new(lookup);
        let config = Self {
            table: env.text(var::TASK_TABLE_NAME),
            shed_queue: env.optional_text(var::SHED_QUEUE_URL),
        };
        super::standard_queue(&mut env, var::SHED_QUEUE_URL, config.shed_queue.as_deref());
        env.finish(config)
    }
}
