//! # A newest-first task queue on DynamoDB
//!
//! For tasks that lose value with age and are sent to a system that cannot keep up. The newest task
//! runs first. Tasks that are too old are shed.
//!
//! ## Modules, in the order in which a task uses them
//!
//! | module | content |
//! |---|---|
//! | [`task`] | a task, its states and their transitions |
//! | [`create`] | checks and inserts new tasks |
//! | [`ingest`] | inserts the tasks of an SQS standard queue, one batch at a time |
//! | [`wake`] | the wake-up protocol: requests |
//! | [`process`] | the newest-first loop: one turn of `process-tasks` |
//! | [`runner`] | runs a task: HTTP, Lambda, a simulation or your own code |
//! | [`sweep`] | handles expired leases and lost wake-ups |
//! | [`operate`] | operators' commands: status, pause, resume, redrive, cancel, wake |
//! | [`depth`] | the number of tasks, and the age of the oldest |
//! | [`ended`] | tasks that ended, as the table's stream shows them |
//! | [`shed`] | counts tasks that expired before they ended and sends them to a queue |
//! | [`store`] | stores tasks in DynamoDB, or in memory for tests |
//! | [`control`] | the control item, which names the one active processor |
//! | [`notify`] | notifications to processors: SNS |
//! | [`time`] | milliseconds, epoch seconds and the clock |
//! | [`backoff`] | the delay of a task after an attempt |
//! | [`schema`] | the names in the table |
//! | [`settings`] | reads settings from JSON |
//! | [`trace`] | traces of sampled tasks: AWS X-Ray |
//!
//! The crate uses AWS services through traits. It doesn't depend on Lambda event or runtime types
//! ([`runner::lambda`] is a client of Invoke) and doesn't read environment variables.

pub mod backoff;
pub mod control;
pub mod create;
pub mod depth;
pub mod ended;
mod image;
pub mod ingest;
pub mod notify;
pub mod observed;
pub mod operate;
pub mod process;
#[deny(missing_docs)] // Apps can implement its trait `TaskRunner`.
pub mod runner;
pub mod schema;
pub mod settings;
pub mod shed;
pub mod store;
pub mod sweep;
#[deny(missing_docs)]
pub mod task;
pub mod time;
pub mod trace;
pub mod wake;

/// Compiles the Rust snippet of `docs/how-to/producers.md`.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/how-to/producers.md")]
struct Producers;
