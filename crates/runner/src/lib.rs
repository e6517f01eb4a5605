//! Write the task runner of a freshq queue in Rust: implement [`TaskRunner`], and [`serve`] it as
//! the queue's `process-tasks` function.
//!
//! ```no_run
//! use freshq_runner::{Outcome, Task, TaskRunner, async_trait, serve};
//!
//! struct MyRunner;
//!
//! #[async_trait]
//! impl TaskRunner for MyRunner {
//!     async fn run(&self, task: &Task) -> Outcome {
//!         tracing::info!(task_id = %task.task_id, "done");
//!         Outcome::Success
//!     }
//! }
//!
//! fn main() -> Result<(), freshq_runner::Error> {
//!     serve(async |_start| Ok(MyRunner))
//! }
//! ```
//!
//! [`Task`] has public fields, so a test of your runner can build one.

pub use async_trait::async_trait;
pub use functions::process_tasks::{ConfiguredRunner, Start, serve};
pub use functions::{Error, Failure};
pub use lifo_queue::process::ProcessSettings;
pub use lifo_queue::runner::config::{RunnerConfig, RunnerConfigError};
pub use lifo_queue::runner::{Outcome, TaskRunner};
pub use lifo_queue::task::{Task, TaskId};
pub use lifo_queue::time::{EpochSeconds, Millis};
