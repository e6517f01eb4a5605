//! Measures how multiple concurrent processes match agents and calls, with simulated DynamoDB
//! latency and conflicts.
//!
//! Tokio's clock is paused, so the figures do not depend on the machine. The rates are measured on
//! the in-memory store, and the units on the embedded DynamoDB. Every call goes through the
//! intake's batches, as in `match-calls`.

mod crowd;
mod figures;
mod mode;
mod process;
mod published;
mod scene;
mod source;
mod stage;
mod table;

use std::time::Duration;

use simulator::conflicts::Latency;

use self::crowd::Crowd;
use self::figures::{Figure, Report};
use self::mode::Mode;
use self::stage::{Conditions, Truth};
use crate::runtime::in_virtual_time;
use crate::{Arguments, Error};

/// DynamoDB latency within a region, including the network.
const LATENCY: Latency = Latency {
    plain: Duration::from_millis(4),
    transaction: Duration::from_millis(8),
};

/// Maximum write units per second of a DynamoDB partition
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html>).
/// The model never splits a partition.
const WRITE_LIMIT: f64 = 1_000.0;

/// Numbers of concurrent processes.
const MATCHERS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// Numbers of concurrent processes for the published algorithm.
const FEW: [usize; 2] = [1, 8];

/// Maximum number of calls per `match-calls` batch.
const BATCH: usize = 10;

/// Number of times that a small mode runs per run of a large mode.
const SMALL_RUNS: u64 = 10;

pub(crate) fn run(arguments: &Arguments) -> Result<(), Error> {
    let report = measure_all(arguments)?;
    let enqueue = mean(arguments.agent_runs, |run| {
        in_virtual_time(run, scene::cost_of_an_enqueue(run))
    })?;
    table::print(&report, &enqueue);
    Ok(())
}

/// Measures every mode with every number of processes. The modes are measured concurrently, because
/// they depend neither on the machine nor on each other.
fn measure_all(arguments: &Arguments) -> Result<Report, Error> {
    let of_mode = |mode: Mode| {
        let one =
            |matchers| Ok::<_, Error>(((mode, matchers), measure(arguments, mode, matchers)?));
        let measured = MATCHERS.into_iter().map(one);
        let measured = measured.collect::<Result<Vec<_>, _>>();
        println!("measured: {}", mode.name());
        measured
    };
    std::thread::scope(|scope| {
        let modes = Mode::ALL.map(|mode| scope.spawn(move || of_mode(mode)));
        let mut report = Report::new();
        for mode in modes {
            report.extend(mode.join().map_err(|_| "a measurement panicked")??);
        }
        Ok(report)
    })
}

fn measure(arguments: &Arguments, mode: Mode, matchers: usize) -> Result<Figure, Error> {
    // Small modes run more often, because chance has more influence with few matches.
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
    let play = |truth, write_limit, seed| {
        let conditions = conditions(truth, write_limit, seed);
        let crowd = Crowd::draw(mode, seed);
        in_virtual_time(seed, scene::play(conditions, matchers, &crowd))
    };
    let sample = |write_limit| {
        let sample = mean(runs, |run| {
            let conditions = conditions(Truth::Memory, write_limit, run);
            let crowd = Crowd::draw(mode, run);
            in_virtual_time(run, published::play(conditions, matchers, &crowd))
        });
        Ok::<_, Error>(Some(sample?.rate))
    };
    let mut figure = mean(runs, |run| play(Truth::Memory, None, run))?;
    if mode.is_limited() {
        let runs = runs / arguments.agent_runs;
        let limited = mean(runs, |run| play(Truth::Memory, Some(WRITE_LIMIT), run))?;
        figure.limited = Some(limited.rate);
    }
    if mode.is_limited() && FEW.contains(&matchers) {
        figure.sample = sample(None)?;
        figure.sample_limited = sample(Some(WRITE_LIMIT))?;
    }
    if mode.has_units(matchers) {
        let embedded = play(Truth::Embedded, None, 0)?;
        figure.write_units = embedded.write_units;
        figure.read_units = embedded.read_units;
    }
    Ok(figure)
}

fn mean(runs: u64, one: impl Fn(u64) -> Result<Figure, Error>) -> Result<Figure, Error> {
    let figures: Result<Vec<_>, _> = (0..runs.max(1)).map(one).collect();
    Ok(Figure::mean(&figures?))
}
