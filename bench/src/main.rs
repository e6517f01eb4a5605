//! # What a turn of `process-tasks` costs, and what a match of a call and an agent
//!
//! Prints, from one run: tasks/s of a turn over 1,000 tasks with a runner that costs nothing,
//! calls a task by kind, peak memory, and the ratio to the store's own limit (two conditional
//! updates a task from the same client at the same concurrency, nothing else) and to the very
//! updates of a turn without its loop; how often a task is taken beside poison and with a busy
//! downstream; and how long the release binary takes from exec to its first `next`.
//!
//! Then messages/s through `ingest-tasks` by the size of its batches ([`ingest`]).
//!
//! Then, for the queue of agents: matches/s with matchers in parallel whose transactions meet as
//! on DynamoDB, calls and units an enqueue and a match, and what a look at a queue costs by its
//! depth, each beside the published sample's way of doing it ([`agents`]).
//!
//! Server, turn and limit each run in a process of their own, so that memory is the turn's alone.
//! Nothing here fails for being slow: the figures are for reading.

mod agents;
mod cold_start;
mod ingest;
mod limit;
mod process;
mod report;
mod server;
mod table;
mod takes;
mod turn;
mod updates;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// What any part may fail with.
type Error = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone, Parser)]
#[command(about = "Measures a turn of process-tasks and a match of agents and calls")]
struct Arguments {
    /// Tasks a turn.
    #[arg(long, default_value_t = 1_000)]
    tasks: u32,
    /// Tasks at once.
    #[arg(long, default_value_t = 10)]
    slots: u16,
    /// Runs of each; the medians are printed.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Runs of each large mode with each number of matchers, ten times as many of each small one;
    /// the means are printed.
    #[arg(long, default_value_t = 2)]
    agent_runs: u64,
    /// The release binary whose start is timed; left out, none is.
    #[arg(long)]
    cold_start: Option<PathBuf>,
    /// The release binary of ingest-tasks; left out, it is not measured.
    #[arg(long)]
    ingest: Option<PathBuf>,
    #[command(subcommand)]
    part: Option<Part>,
}

/// One process of the measurement.
#[derive(Clone, Subcommand)]
enum Part {
    /// Serves an embedded DynamoDB; prints its address, ends with its standard input.
    Server,
    /// Runs one turn against the server at this address; prints its figures as JSON.
    Turn {
        /// Where the server listens.
        address: String,
    },
    /// Makes a turn's two updates a task without its loop; prints their figures as JSON.
    Updates {
        /// Where the server listens.
        address: String,
    },
    /// Drives the store to its limit; prints its figures as JSON.
    Limit {
        /// Where the server listens.
        address: String,
    },
    /// Puts items of a task's size; prints their figures as JSON.
    Puts {
        /// Where the server listens.
        address: String,
    },
    /// Hands batches to the release binary `--ingest`; prints the table.
    Ingest,
    /// Matches agents and calls, our way and the published one; prints the tables and writes
    /// `target/bench/agents.json`.
    Agents,
}

fn main() -> Result<(), Error> {
    let arguments = Arguments::parse();
    match &arguments.part {
        Some(Part::Server) => server::serve(),
        Some(Part::Turn { address }) => process::print(turn::measure(&arguments, address)?),
        Some(Part::Updates { address }) => process::print(updates::measure(&arguments, address)?),
        Some(Part::Limit { address }) => process::print(limit::measure(&arguments, address)?),
        Some(Part::Puts { address }) => process::print(ingest::puts::measure(&arguments, address)?),
        Some(Part::Ingest) => match &arguments.ingest {
            Some(bootstrap) => ingest::measure(&arguments, bootstrap),
            None => Err("give the release binary: --ingest target/release/ingest-tasks".into()),
        },
        Some(Part::Agents) => agents::run(&arguments),
        None => report::run_all(&arguments),
    }
}
