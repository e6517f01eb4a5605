//! # `freshq`: the operators' command
//!
//! One verb, one file under `verbs/`: it works by [`lifo_queue::operate`], and what it did is
//! printed as a table or as JSON.
//!
//! | module | what it holds |
//! |---|---|
//! | `arguments` | the command line |
//! | `queue` | which queue, and the hand on it |
//! | `stack` | a deployed stack's outputs |
//! | `aws` | what every client shares: region, credentials, one HTTPS client |
//! | `verbs` | what can be done |
//! | `report` | tables, JSON, exit codes |
//! | `time_format` | times, for people and for programs |
//! | `confirm` | the operator's confirmation, at the terminal |
//! | `failure` | what went wrong, and what to do about it |

mod arguments;
mod aws;
mod confirm;
mod failure;
mod queue;
mod report;
mod stack;
mod time_format;
mod verbs;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::Arguments;
use crate::confirm::Terminal;
use crate::failure::Failure;
use crate::queue::Queue;
use crate::report::Exit;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let exit = run(&Arguments::parse()).await.unwrap_or_else(|failure| {
        eprintln!("freshq: {}", failure.line());
        Exit::Failed
    });
    exit.into()
}

async fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let (verb, on) = arguments.verb.parts();
    let queue = Queue::connect(&on.queue).await?;
    let report = verb.run(&queue, &mut Terminal).await?;
    report::print(&*report, on.output)
}
