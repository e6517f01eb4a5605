//! Measures the throughput of `ingest-tasks` in messages per second, by batch size. The release
//! binary gets its batches from a Runtime API like Lambda's and writes to an embedded DynamoDB. The
//! result is compared with the database's own limit: the same number of conditional puts of items
//! of the same size, from the same client at the same concurrency, and nothing else. If a batch has
//! fewer messages than one invocation writes concurrently, multiple invocations run in parallel to
//! reach that number. Lambda would start more.

mod function;
pub(crate) mod puts;

use std::path::Path;

use crate::process::{Figures, Server, run};
use crate::table::{Lines as _, median, table};
use crate::{Arguments, Error};

/// Batch sizes: from the default to the maximum that Lambda delivers.
const BATCHES: [u32; 4] = [10, 100, 1_000, 10_000];

/// Minimum number of messages per run, so that each run is long enough to measure.
const LEAST_MESSAGES: u32 = 2_000;

/// Number of runs per batch size. The medians are printed.
const RUNS: usize = 5;

struct Measured {
    batch: u32,
    messages: u32,
    ours: Vec<Figures>,
    limit: Vec<Figures>,
    /// Size of the largest batch event, in bytes.
    event_bytes: usize,
}

pub(crate) fn measure(arguments: &Arguments, bootstrap: &Path) -> Result<(), Error> {
    let mut all = vec![];
    for batch in BATCHES {
        let messages = batch.max(LEAST_MESSAGES);
        let (mut ours, mut limit) = (vec![], vec![]);
        let mut event_bytes = 0;
        for _ in 0..RUNS {
            // Start a new server per run and alternate the two measurements, because the machine
            // may be busy with other work.
            let server = Server::start()?;
            let through = function::measure(bootstrap, &server.address, batch, messages)?;
            event_bytes = through.event_bytes;
            ours.push(through.figures);
            let tasks = Arguments {
                tasks: messages,
                slots: function::PARALLEL,
                ..arguments.clone()
            };
            limit.push(run(&tasks, "puts", &Server::start()?.address)?);
        }
        all.push(Measured {
            batch,
            messages,
            ours,
            limit,
            event_bytes,
        });
    }
    print(&all);
    Ok(())
}

fn print(all: &[Measured]) {
    let mut table = table(&format!(
        "through ingest-tasks, {} concurrent writes ({RUNS} runs, medians)",
        function::PARALLEL
    ));
    for of in all {
        let rate = |figures: &[Figures]| {
            let seconds = median(figures.iter().map(|figures| figures.seconds));
            format!("{:.0}", f64::from(of.messages) / seconds)
        };
        let shares = of.ours.iter().zip(&of.limit);
        let share = 100.0 * median(shares.map(|(ours, limit)| limit.seconds / ours.seconds));
        let peak = of.ours.iter().map(|figures| figures.peak_memory_kib).max();
        let peak = peak.unwrap_or_default() as f64 / 1_024.0;
        let event = of.event_bytes as f64 / 1_048_576.0;
        let (batch, at_once) = (of.batch, function::invocations(of.batch));
        let batch = format!("batch of {batch}, {at_once} concurrent, messages/s");
        table.line(&batch, rate(&of.ours), "");
        table.line("  puts alone, messages/s", rate(&of.limit), "");
        table.line("  share of the limit", format!("{share:.0} %"), ">= 80 %");
        table.line(
            &format!("  peak memory, for a batch of {event:.1} MiB"),
            format!("{peak:.1} MiB"),
            &format!("< {:.0} MiB", event + 64.0),
        );
    }
    println!("{table}");
}
