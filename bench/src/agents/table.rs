//! Prints the tables.

use super::figures::{Figure, Report};
use super::mode::Mode;
use super::{FEW, LATENCY, MATCHERS, WRITE_LIMIT};
use crate::table::{Lines as _, table, wide};

/// Maximum relative decrease in the rate that is attributed to chance, as conflicts are random.
const NOISE: f64 = 0.03;

pub(super) fn print(report: &Report, enqueue: &Figure) {
    print_rates(report);
    print_comparison(report);
    print_costs(report, enqueue);
    print_aims(report);
}

fn some(figure: Option<f64>, digits: usize) -> String {
    figure.map_or_else(|| "-".to_owned(), |figure| format!("{figure:.digits$}"))
}

fn print_rates(report: &Report) {
    let mut table = wide([
        "mode",
        "concurrently",
        "matches/s",
        "with the limit",
        "conflicts",
        "calls a match",
        "write units",
        "p99",
    ]);
    for ((mode, matchers), figure) in report {
        table.add_row([
            mode.name().to_owned(),
            matchers.to_string(),
            format!("{:.0}", figure.rate),
            some(figure.limited, 0),
            format!("{:.0} %", 100.0 * figure.conflict_share),
            format!("{:.2}", figure.calls_per_match),
            some(figure.write_units, 1),
            format!("{:.0} ms", figure.p99_ms),
        ]);
    }
    println!("{table}");
    println!(
        "Latency: {} ms a request, {} ms a transaction, on a virtual clock. The limit: {WRITE_LIMIT} \
         write units/s for each partition of DynamoDB, which never splits. Conflicts are the share \
         of all transactions. Units are DynamoDB's, as its responses say; rejected \
         transactions are billed too, but no response says so.",
        LATENCY.plain.as_millis(),
        LATENCY.transaction.as_millis()
    );
}

/// Prints the rates of freshq and of the published algorithm, with the same agents, calls and batches.
fn print_comparison(report: &Report) {
    let mut table = wide([
        "mode",
        "concurrently",
        "matches/s",
        "published",
        "times",
        "with the limit",
        "published",
        "times",
    ]);
    for mode in Mode::ALL.into_iter().filter(|mode| mode.is_limited()) {
        for matchers in FEW {
            let figure = &report[&(mode, matchers)];
            table.add_row([
                mode.name().to_owned(),
                matchers.to_string(),
                format!("{:.0}", figure.rate),
                some(figure.sample, 0),
                some(figure.times(), 1),
                some(figure.limited, 0),
                some(figure.sample_limited, 0),
                some(figure.times_limited(), 1),
            ]);
        }
    }
    println!("{table}");
}

fn print_costs(report: &Report, enqueue: &Figure) {
    let mut table = wide(["cost, one at a time", "calls", "read units", "write units"]);
    let a_match = &report[&(Mode::Unchanged, 1)];
    for (what, figure) in [("an enqueue", enqueue), ("a match", a_match)] {
        table.add_row([
            what.to_owned(),
            format!("{:.2}", figure.calls_per_match),
            some(figure.read_units, 2),
            some(figure.write_units, 2),
        ]);
    }
    println!("{table}");
}

fn print_aims(report: &Report) {
    let mut table = table("matching: aims");
    let one = &report[&(Mode::Unchanged, 1)];
    let eight = &report[&(Mode::Unchanged, 8)];
    table.line(
        "8 matchers, unchanged",
        format!("{:.0}/s", eight.rate),
        ">= 500",
    );
    table.line(
        "8 matchers, unchanged, to the published algorithm",
        format!("{} times", some(eight.times(), 1)),
        ">= 10",
    );
    let large = format!("{:.0}/s", report[&(Mode::Large, 8)].rate);
    table.line("8 matchers, large", large, ">= 900");
    let calls = format!("{:.2}", one.calls_per_match);
    table.line("calls a match at 1 matcher", calls, "<= 2.2");
    table.line("write units a match", some(one.write_units, 2), "<= 11");
    table.line("modes slower with more processes", fewer(report), "none");
    println!("{table}");
}

/// Lists the modes in which more processes make fewer matches per second.
fn fewer(report: &Report) -> String {
    let falls = |mode: &Mode| {
        let rates = MATCHERS.map(|matchers| report[&(*mode, matchers)].rate);
        let mut pairs = rates.windows(2);
        pairs.any(|pair| pair[1] < pair[0] * (1.0 - NOISE))
    };
    let falling = Mode::ALL.into_iter().filter(falls);
    let falling: Vec<_> = falling.map(Mode::name).collect();
    match falling.is_empty() {
        true => "none".to_owned(),
        false => falling.join(", "),
    }
}
