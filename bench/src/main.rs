//! # Costs of a turn of `process-tasks` and of a match of a call and an agent
//!
//! The program prints, from one run:
//!
//! - the rate of a turn over 1,000 tasks with a runner that takes no time, and the calls per task
//!   by kind;
//! - the peak memory;
//! - the takes per task among poison tasks and with a busy downstream;
//! - the time of the release binary from exec to its first `next`.
//!
//! Then it prints the rate of `ingest-tasks` by batch size ([`ingest`]).
//!
//! Finally, it prints figures for the agents' queue ([`agents`]): matches per second with parallel
//! matchers, whose transactions conflict as on DynamoDB, and the calls and units per enqueue and
//! per match.
//!
//! The server and the turn run in separate processes, so the measured memory is only that of the
//! turn. A slow run does not fail.

mod agents;
mod cold_start;
mod ingest;
mod process;
mod report;
mod runtime;
mod server;
mod table;
mod takes;
mod turn;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

type Error = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone, Parser)]
#[command(about = "Measures a turn of process-tasks and a match of agents and calls")]
struct Arguments {
    /// Tasks per turn.
    #[arg(long, default_value_t = 1_000)]
    tasks: u32,
    /// Concurrent tasks.
    #[arg(long, default_value_t = 10)]
    slots: u16,
    /// Runs of each measurement; the medians are printed.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Runs of each large mode with each number of matchers. Small modes run ten times as often.
    /// The means are printed. At least 1.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    agent_runs: u64,
    /// The release binary whose start is timed; not timed if omitted.
    #[arg(long)]
    cold_start: Option<PathBuf>,
    /// The release binary of ingest-tasks; not measured if omitted.
    #[arg(long)]
    ingest: Option<PathBuf>,
    #[command(subcommand)]
    part: Option<Part>,
}

/// One process of the measurement.
#[derive(Clone, Subcommand)]
enum Part {
    /// Serves an embedded DynamoDB; prints its address, and ends when its standard input ends.
    Server,
    /// Runs one turn against the server at this address; prints its figures as JSON.
    Turn {
        /// Where the server listens.
        address: String,
    },
    /// Writes items of a task's size; prints their figures as JSON.
    Puts {
        /// Where the server listens.
        address: String,
    },
    /// Sends batches to the release binary `--ingest`; prints the table.
    Ingest,
    /// Matches agents and calls; prints the tables.
    Agents,
}

// As in process-tasks.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), Error> {
    let arguments = Arguments::parse();
    match &arguments.part {
        Some(Part::Server) => server::serve(),
        Some(Part::Turn { address }) => process::print(turn::measure(&arguments, address)?),
        Some(Part::Puts { address }) => process::print(ingest::puts::measure(&arguments, address)?),
        Some(Part::Ingest) => match &arguments.ingest {
            Some(bootstrap) => ingest::measure(&arguments, bootstrap),
            None => Err("give the release binary: --ingest target/release/ingest-tasks".into()),
        },
        Some(Part::Agents) => agents::run(&arguments),
        None => report::run_all(&arguments),
    }
}
