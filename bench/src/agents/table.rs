//! The tables.

use comfy_table::{Table, presets};

use super::figures::{Figure, Report};
use super::mode::Mode;
use super::peek::Looked;
use super::{LATENCY, LIMITED, MATCHERS, WRITE_LIMIT};
use crate::table::{row, table};

/// A decrease of the rate up to this share counts as chance, because conflicts are random.
const NOISE: f64 = 0.03;

pub(super) fn line(mode: Mode, matchers: usize, figure: &Figure) -> String {
    format!(
        "{:<20}{matchers:>3} at once: {:>7.1} matches/s, {:>4.1} % conflicts, {:.2} calls a match",
        mode.name(),
        figure.ours,
        100.0 * figure.conflict_share,
        figure.calls_per_match
    )
}

pub(super) fn print(report: &Report, enqueue: &Figure, looks: &[Looked]) {
    print_rates(report);
    print_spread(report);
    print_costs(report, enqueue);
    print_looks(looks);
    print_aims(report, looks);
}

fn some(figure: Option<f64>, digits: usize) -> String {
    figure.map_or_else(|| "-".to_owned(), |figure| format!("{figure:.digits$}"))
}

fn print_rates(report: &Report) {
    let mut table = wide([
        "mode",
        "at once",
        "matches/s",
        "conflicts",
        "calls a match",
        "write units",
        "p99",
    ]);
    for mode in Mode::ALL {
        for matchers in MATCHERS {
            let figure = report.of(mode, matchers);
            table.add_row([
                mode.name().to_owned(),
                matchers.to_string(),
                format!("{:.0}", figure.ours),
                format!("{:.0} %", 100.0 * figure.conflict_share),
                format!("{:.2}", figure.calls_per_match),
                some(figure.write_units, 1),
                format!("{:.0} ms", figure.p99_ms),
            ]);
        }
    }
    println!("{table}");
    println!(
        "Latency: {} ms a request, {} ms a transaction, on a virtual clock. Conflicts are the \
         share of all transactions. Units are DynamoDB's, as its responses say; rejected \
         transactions are billed too, but no response says so.",
        LATENCY.plain.as_millis(),
        LATENCY.transaction.as_millis()
    );
}

/// Matches per second with the limit, by number of partitions of agents.
fn print_spread(report: &Report) {
    let mut table = wide([
        "mode",
        "at once",
        "partitions of agents",
        "matches/s",
        "limited by",
    ]);
    for mode in Mode::ALL.into_iter().filter(|mode| mode.is_limited()) {
        for matchers in LIMITED {
            let figure = report.of(mode, matchers);
            for (partitions, rate) in &figure.limited {
                let by = figure.limited_by.get(partitions);
                table.add_row([
                    mode.name().to_owned(),
                    matchers.to_string(),
                    partitions.to_string(),
                    format!("{rate:.0}"),
                    by.cloned().unwrap_or_else(|| "-".to_owned()),
                ]);
            }
        }
    }
    println!("{table}");
    println!(
        "The limit: {WRITE_LIMIT} write units/s for each partition of DynamoDB, which never splits."
    );
}

fn print_costs(report: &Report, enqueue: &Figure) {
    let mut table = wide(["cost, one at a time", "calls", "read units", "write units"]);
    let match_costs = report.of(Mode::Unchanged, 1);
    for (what, figure) in [("an enqueue", enqueue), ("a match", &match_costs)] {
        table.add_row([
            what.to_owned(),
            format!("{:.2}", figure.calls_per_match),
            some(figure.read_units, 2),
            some(figure.write_units, 2),
        ]);
    }
    println!("{table}");
}

fn print_looks(looks: &[Looked]) {
    let mut table = wide(["a read of a queue, no latency added", "units", "time"]);
    for look in looks {
        table.add_row([
            format!("{} agents queued", look.depth),
            format!("{:.1}", look.cost.units),
            format!("{:.1} ms", look.cost.millis),
        ]);
    }
    println!("{table}");
}

fn print_aims(report: &Report, looks: &[Looked]) {
    let mut table = table("matching: aims");
    let one = report.of(Mode::Unchanged, 1);
    let eight = report.of(Mode::Unchanged, 8);
    row(
        &mut table,
        "8 matchers, unchanged",
        format!("{:.0}/s", eight.ours),
        ">= 500",
    );
    let large = format!("{:.0}/s", report.of(Mode::Large, 8).ours);
    row(&mut table, "8 matchers, large", large, ">= 900");
    let calls = format!("{:.2}", one.calls_per_match);
    row(&mut table, "calls a match at 1 matcher", calls, "<= 2.2");
    row(
        &mut table,
        "write units a match",
        some(one.write_units, 2),
        "<= 11",
    );
    row(
        &mut table,
        "modes slower with more processes",
        fewer(report),
        "none",
    );
    if let [shallow, .., deep] = looks {
        let units = deep.cost.units / shallow.cost.units;
        let units = format!("{units:.1} times the units");
        row(&mut table, "a read, depth 10,000 to depth 10", units, "1");
    }
    println!("{table}");
}

/// The modes in which more processes make fewer matches.
fn fewer(report: &Report) -> String {
    let falls = |mode: &Mode| {
        let rates = MATCHERS.map(|matchers| report.of(*mode, matchers).ours);
        rates
            .windows(2)
            .any(|pair| pair[1] < pair[0] * (1.0 - NOISE))
    };
    let falling: Vec<_> = Mode::ALL
        .into_iter()
        .filter(falls)
        .map(Mode::name)
        .collect();
    match falling.is_empty() {
        true => "none".to_owned(),
        false => falling.join(", "),
    }
}

fn wide<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    *table.style_mut() = presets::ASCII_BORDERS_ONLY_CONDENSED;
    table.set_header(header);
    table
}
