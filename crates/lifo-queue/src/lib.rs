//! # A newest-first task queue on DynamoDB
//!
//! For work that loses its value with age, in front of a system that cannot keep up: the
//! newest task runs first, and what got too old is shed.
//!
//! ## Layout, in the order of a task's way
//!
//! | module | what it holds |
//! |---|---|
//! | [`task`] | a task, its states and what may follow what |
//! | [`create`] | checks and inserts new tasks |
//! | [`ingest`] | tasks from an SQS standard queue, a batch at a time |
//! | [`wake`] | the wake-up protocol: trigger's side |
//! | [`process`] | the newest-first loop: one turn of `process-tasks` |
//! | [`runner`] | what a task does: HTTP, Lambda, simulated, or your own |
//! | [`sweep`] | expired leases and lost wake-ups |
//! | [`operate`] | what operators do: look, pause, resume, redrive, cancel, wake |
//! | [`depth`] | how many tasks there are, and how old the oldest is |
//! | [`ended`] | tasks that ended, as the table's stream shows them |
//! | [`shed`] | what DynamoDB deleted before it was done: counted, and handed to a queue |
//! | [`store`] | where tasks live: DynamoDB, and memory for tests |
//! | [`control`] | the control item, which names the one active processor |
//! | [`notify`] | how a processor is woken: SNS |
//! | [`time`] | milliseconds, epoch seconds and the clock |
//! | [`backoff`] | how long a task waits after an attempt |
//! | [`causes`] | an error and its causes on one line |
//! | [`schema`] | the table's names |
//! | [`settings`] | how settings are read from JSON |
//! | [`trace`] | traces of sampled tasks: AWS X-Ray |
//!
//! The crate knows AWS services behind traits. It knows no Lambda event or runtime type
//! ([`runner::lambda`] is a client of Invoke) and reads no environment.

pub mod backoff;
pub mod control;
pub mod create;
pub mod depth;
pub mod ended;
mod image;
pub mod ingest;
pub mod notify;
pub mod operate;
pub mod process;
pub mod runner;
pub mod schema;
pub mod settings;
pub mod shed;
pub mod store;
pub mod sweep;
pub mod task;
pub mod time;
pub mod trace;
pub mod wake;

/// Compiles the Rust snippet of `docs/how-to/producers.md`.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/how-to/producers.md")]
struct Producers;
