//! Code that the `main` of every function shares.
//!
//! | module | content |
//! |---|---|
//! | [`config`] | typed configuration from the environment; reports all errors together |
//! | [`aws`] | one HTTPS client, one set of timeouts and retries |
//! | [`telemetry`] | logs in the format of Lambda's logging controls, metrics in embedded format, traces for X-Ray |
//! | [`serve()`], [`Handler`] | the runtime loop, from the process's start to the handler |
//! | [`event`] | incoming events |
//! | [`sqs`] | batches of an SQS queue, and their failed messages |
//! | [`diagnostics`] | errors as Lambda reports them |
//! | [`process_tasks`] | `process-tasks` without the task runner |
//! | `agents` | code that the functions of an agents' queue share |

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
