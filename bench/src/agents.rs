//! Matches agents and calls with several processes at once, with the latency and the conflicts of
//! DynamoDB.
//!
//! Tokio's clock is paused, so the figures do not depend on the machine. The rates are those of the
//! in-memory store, and the units those of the embedded DynamoDB. Every call goes through the
//! intake's batches, as in `match-calls`.

mod crowd;
mod figures;
mod mode;
mod peek;
mod process;
mod scene;
mod source;
mod stage;
mod table;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use agent_queue::schema::STRIPES;
use simulator::conflicts::{Latency, WriteLimit};

use self::crowd::Crowd;
use self::figures::{Figure, Report};
use self::mode::Mode;
use self::stage::{Conditions, Truth};
use crate::process::Server;
use crate::{Arguments, Error};

/// The latency of DynamoDB within its region, including the network.
const LATENCY: Latency = Latency {
    plain: Duration::from_millis(4),
    transaction: Duration::from_millis(8),
};

/// Write units per second of a partition of DynamoDB
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html>).
/// The model never splits a partition.
const WRITE_LIMIT: f64 = 1_000.0;

/// Numbers of partitions of the agents with the write limit. The last one is that of the table. With
/// the others, some of its partitions count as one.
const SPREAD: [u8; 5] = [1, 2, 4, 8, STRIPES];

/// Numbers of concurrent processes.
const MATCHERS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// Numbers of concurrent processes with the write limit.
const LIMITED: [usize; 3] = [1, 8, 64];

/// Calls in a batch of `match-calls`.
const BATCH: usize = 10;

/// Number of runs of a small mode for each run of a large one.
const SMALL_RUNS: u64 = 10;

const FILE: &str = "target/bench/agents.json";

pub(crate) fn run(arguments: &Arguments) -> Result<(), Error> {
    let report = measure_all(arguments)?;
    let enqueue = mean(arguments.agent_runs, |run| {
        in_virtual_time(run, scene::cost_of_an_enqueue(run))
    })?;
    let server = Server::start()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let looks = runtime.block_on(peek::measure(&server.address))?;
    table::print(&report, &enqueue, &looks);
    report.write(Path::new(FILE))
}

/// Measures every mode with every number of processes, on all processors. The measurements depend
/// neither on the machine nor on each other.
fn measure_all(arguments: &Arguments) -> Result<Report, Error> {
    let all = Mode::ALL.into_iter();
    let all = all.flat_map(|mode| MATCHERS.map(|matchers| (mode, matchers)));
    let left = Mutex::new(all.collect::<VecDeque<_>>());
    let next = || {
        left.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front()
    };
    let work = || {
        let mut measured = vec![];
        while let Some((mode, matchers)) = next() {
            let figure = measure(arguments, mode, matchers)?;
            println!("{}", table::line(mode, matchers, &figure));
            measured.push((mode, matchers, figure));
        }
        Ok::<_, Error>(measured)
    };
    let threads = std::thread::available_parallelism().map_or(1, |all| all.get());
    let mut report = Report::default();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            let measured = worker.join().map_err(|_| "a measurement panicked")?;
            for (mode, matchers, figure) in measured? {
                report.add(mode, matchers, figure);
            }
        }
        Ok(report)
    })
}

fn measure(arguments: &Arguments, mode: Mode, matchers: usize) -> Result<Figure, Error> {
    // In a run with few matches, chance has more influence.
    let runs = match mode.is_large() {
        true => arguments.agent_runs,
        false => SMALL_RUNS * arguments.agent_runs,
    };
    let conditions = |truth, write_limit, seed| Conditions {
        mode,
        truth,
        write_limit,
        seed,
    };
    let ours = |runs, write_limit| {
        mean(runs, |run| {
            let crowd = Crowd::draw(mode, run);
            let conditions = conditions(Truth::Memory, write_limit, run);
            in_virtual_time(run, scene::ours(conditions, matchers, &crowd))
        })
    };
    let mut figure = ours(runs, None)?;
    if mode.is_limited() && LIMITED.contains(&matchers) {
        for partitions in SPREAD {
            let limited = ours(runs / arguments.agent_runs, Some(limit(partitions)))?;
            figure.limited.insert(partitions, limited.ours);
            figure
                .limited_by
                .extend(limited.throttled_by.map(|by| (partitions, by)));
        }
    }
    if mode.has_units(matchers) {
        let crowd = Crowd::draw(mode, 0);
        let embedded = scene::ours(conditions(Truth::Embedded, None, 0), matchers, &crowd);
        let embedded = in_virtual_time(0, embedded)?;
        figure.write_units = embedded.write_units;
        figure.read_units = embedded.read_units;
    }
    Ok(figure)
}

fn limit(partitions: u8) -> WriteLimit {
    WriteLimit {
        per_second: WRITE_LIMIT,
        merged: Some(("Agents#", partitions)),
    }
}

fn mean(runs: u64, one: impl Fn(u64) -> Result<Figure, Error>) -> Result<Figure, Error> {
    let figures: Result<Vec<_>, _> = (0..runs.max(1)).map(one).collect();
    Ok(Figure::mean(&figures?))
}

/// Runs the work with tokio's clock paused.
fn in_virtual_time<T>(seed: u64, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    // The seed of the jitter.
    fastrand::seed(seed);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()?;
    runtime.block_on(work)
}
