//! Code shared by the `main` of every function.
//!
//! | module | content |
//! |---|---|
//! | [`config`] | typed configuration from the environment; reports all errors together |
//! | [`aws`] | one HTTPS client, one set of timeouts and retries |
//! | [`telemetry`] | logs in the format of Lambda's logging controls, metrics in embedded format, traces for X-Ray |
//! | [`serve()`], [`Handler`] | the runtime loop, from process start to the handler |
//! | [`event`] | incoming events |
//! | [`sqs`] | SQS batches and their failed messages |
//! | [`diagnostics`] | errors as Lambda reports them |
//! | [`process_tasks`] | `process-tasks` without the task runner |
//! | `agents` | code shared by the functions of an agents' queue |

#[cfg(feature = "agents")]
pub mod agents;
pub mod aws;
pub mod config;
pub mod diagnostics;
pub mod event;
pub mod process_tasks;
mod serve;
pub mod sqs;
pub mod telemetry;

pub use lambda_runtime::{Context, Error};

pub use self::diagnostics::Failure;
pub use self::serve::{Handler, serve};
