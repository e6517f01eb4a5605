//! # `freshq`: the operators' command
//!
//! Each verb is a file under `verbs/`. It calls [`lifo_queue::operate`] and returns a report, which
//! is printed as a table or as JSON.
//!
//! | module | content |
//! |---|---|
//! | `account` | the account and the region, for display to operators |
//! | `arguments` | the command line |
//! | `agents` | the verbs of the agents' queue |
//! | `queue` | the queue that the command line names, and its clients |
//! | `stack` | the outputs of a deployed stack |
//! | `aws` | the configuration of all AWS clients: region, credentials, one HTTPS client |
//! | `function` | a deployed function that responds to an event |
//! | `deployed` | a deployed stack: its template, and the current settings of its resources |
//! | `cost` | the cost of a workload |
//! | `dev` | a task queue on this machine, for development |
//! | `console` | a local web page for both queues |
//! | `shell` | shell completions and manual pages |
//! | `verbs` | the verbs of the task queue |
//! | `report` | reports as tables and as JSON |
//! | `sample` | a sample of a queue's state, and the figures of earlier samples |
//! | `exit` | exit codes |
//! | `time_format` | times, as text and as JSON |
//! | `confirm` | the operator's confirmation, at the terminal |
//! | `failure` | errors and their fixes |

mod account;
mod agents;
mod arguments;
mod aws;
mod confirm;
mod console;
mod cost;
mod deployed;
mod dev;
mod exit;
mod failure;
mod function;
mod overrides;
mod queue;
mod report;
mod sample;
mod shell;
mod stack;
mod time_format;
mod verbs;

use std::io::ErrorKind;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::arguments::{Arguments, Job};
use crate::confirm::Terminal;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::queue::Queue;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let exit = match run(&Arguments::parse()).await {
        Ok(exit) => exit,
        // A reader that stops early, such as head, is not an error.
        Err(Failure::Terminal(error)) if error.kind() == ErrorKind::BrokenPipe => Exit::Done,
        Err(failure) => {
            eprintln!("freshq: {}", failure.line());
            failure.exit()
        }
    };
    exit.into()
}

async fn run(arguments: &Arguments) -> Result<Exit> {
    match arguments.verb.job() {
        Job::Read(verb, on) => {
            let queue = Queue::connect(&on.queue, &on.aws).await?;
            report::print(&verb.run(&queue, &mut Terminal).await?, on.output)
        }
        Job::Change(verb, on) => {
            let queue = Queue::connect(&on.queue, &on.aws).await?;
            let mut terminal = Terminal;
            let report = verb.run(&queue, &mut terminal);
            let (report, account) = tokio::join!(report, queue.caller.account());
            report::print(&report?.of_change(&queue.name, account), on.output)
        }
        Job::Messages(messages, on) => {
            report::print(&messages.read(&on.queue, &on.aws).await?, on.output)
        }
        Job::Logs(logs, on) => logs.show(&on.queue, &on.aws).await,
        Job::CheckAgents(on) => {
            let report = verbs::check_agents(&on.queue, &on.aws).await?;
            report::print(&report, on.output)
        }
        Job::Desk(command, on) => report::print(&agents::run(&command, on).await?, on.output),
        Job::Console(console, on) => console.serve(&on.queue, &on.aws, on.output).await,
        Job::Dev(dev) => dev.run().await,
        Job::Cost(cost) => report::print(&cost.report(), cost.output),
        Job::Completions(completions) => {
            let printed = completions.print(&mut Arguments::command());
            printed.map(|()| Exit::Done)
        }
        Job::Man(man) => man.write(Arguments::command()).map(|()| Exit::Done),
    }
}
