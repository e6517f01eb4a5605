//! The tables.

use comfy_table::{Table, presets};
use local_cloud::conflicts::Figures;

use super::peek::Looked;
use super::{LATENCY, MATCHERS, Round, Way};
use crate::Arguments;
use crate::report::{median, row, table};

const FOOTER: &str = "\
Units are DynamoDB's, as its answers say: a transaction costs twice a plain write, a strongly \
consistent read twice an eventually consistent one. What is refused is billed too, but no answer \
says so: it is not among the units here.
The published way is the sample's, but begun anew after each cancellation, with our own pauses; \
the sample gives up. It is held back by the time its snapshot must stand, ours by the time one \
transaction takes: agents of one gender share counters, so two matches at once is nearly all there \
is to have, and matchers beyond that wait for their turn.

The ceiling on DynamoDB that exact counters impose:
- One queue's counters are one item, so every enqueue, leave and match of an agent in it comes \
after the other: about 1 / latency of a transaction, 100 to 200 a second, whatever the number of \
matchers; an agent in several queues counts in each.
- A partition bears 1,000 write units a second, at 2 a transactional write 500 a second at most; \
the counters of all queues have one partition key, which DynamoDB splits only once it is hot.
- Every assignment passes through one partition of the outbox, 2 units to write and 1 to delete: \
333 matches a second in the whole table; with leases on calls 250, at 4 units a lease.
What would lift it: counters that are not exact (added up outside the transaction, or from the \
table's stream); counters in several items a queue, added up when read; several matches of one \
batch in one transaction, of the 100 items it may have; and an outbox of several partitions.";

pub(super) fn print(arguments: &Arguments, rounds: &[Round], looks: &[Looked]) {
    print_matches(arguments, rounds);
    print_costs(arguments, rounds);
    print_looks(looks);
    print_aims(arguments, rounds, looks);
    println!("{FOOTER}");
}

fn name(way: Way) -> &'static str {
    match way {
        Way::Ours => "ours",
        Way::Published => "published, retried",
    }
}

/// The median of a figure over the runs of one way with so many matchers.
fn over(rounds: &[Round], way: Way, matchers: usize, figure: impl Fn(&Round) -> f64) -> f64 {
    let these = rounds
        .iter()
        .filter(|round| round.way == way && round.matchers == matchers);
    median(these.map(figure))
}

fn rate(arguments: &Arguments) -> impl Fn(&Round) -> f64 {
    let calls = arguments.calls as f64;
    move |round| calls / round.seconds
}

fn print_matches(arguments: &Arguments, rounds: &[Round]) {
    let mut table = wide([
        &format!(
            "{} agents, {} calls ({} runs, medians)",
            arguments.agents, arguments.calls, arguments.agent_runs
        ),
        "matchers",
        "matches/s",
        "conflicts",
        "conditions failed",
        "calls a match",
        "p50",
        "p99",
    ]);
    for way in [Way::Ours, Way::Published] {
        for matchers in MATCHERS {
            let over = |figure: &dyn Fn(&Round) -> f64| over(rounds, way, matchers, figure);
            let millis = |share: f64| {
                let millis = over(&|round| percentile(&round.waits, share));
                format!("{millis:.0} ms")
            };
            let conflicts =
                over(&|round| share(round.matches.all_conflicts(), transactions(&round.matches)));
            let failed = over(&|round| {
                share(
                    round.matches.refused.values().sum(),
                    transactions(&round.matches),
                )
            });
            let calls = over(&|round| round.matches.all_calls() as f64 / arguments.calls as f64);
            table.add_row([
                name(way).to_owned(),
                matchers.to_string(),
                format!("{:.1}", over(&rate(arguments))),
                format!("{:.0} %", 100.0 * conflicts),
                format!("{:.0} %", 100.0 * failed),
                format!("{calls:.2}"),
                millis(0.5),
                millis(0.99),
            ]);
        }
    }
    println!("{table}");
    println!(
        "Latency added: {} ms a request, {} ms a transaction. Conflicts and failed conditions are \
         shares of all transactions.",
        LATENCY.plain.as_millis(),
        LATENCY.transaction.as_millis()
    );
}

fn print_costs(arguments: &Arguments, rounds: &[Round]) {
    let mut table = wide([
        "what one costs, nobody in its way",
        "calls",
        "read units",
        "write units",
    ]);
    let mut add = |what: &str, way: Way, times: usize, figures: fn(&Round) -> &Figures| {
        let each = |figure: fn(&Figures) -> f64| {
            let figure = |round: &Round| figure(figures(round)) / times as f64;
            format!("{:.2}", over(rounds, way, 1, figure))
        };
        table.add_row([
            format!("{what}, {}", name(way)),
            each(|figures| figures.all_calls() as f64),
            each(Figures::read_units),
            each(Figures::write_units),
        ]);
    };
    for way in [Way::Ours, Way::Published] {
        add("an enqueue", way, arguments.agents, |round| &round.enqueues);
        add("a match", way, arguments.calls, |round| &round.matches);
    }
    println!("{table}");
}

fn print_looks(looks: &[Looked]) {
    let mut table = wide([
        "a look at a queue, no latency added",
        "ours, units",
        "ours",
        "published, units",
        "published",
    ]);
    for look in looks {
        table.add_row([
            format!("{} agents wait", look.depth),
            format!("{:.1}", look.ours.units),
            format!("{:.1} ms", look.ours.millis),
            format!("{:.1}", look.published.units),
            format!("{:.1} ms", look.published.millis),
        ]);
    }
    println!("{table}");
}

fn print_aims(arguments: &Arguments, rounds: &[Round], looks: &[Looked]) {
    let mut table = table("matching: aims");
    let rate = |way, matchers| over(rounds, way, matchers, rate(arguments));
    let calls = over(rounds, Way::Ours, 1, |round| {
        round.matches.all_calls() as f64 / arguments.calls as f64
    });
    let by_matchers = rate(Way::Ours, 8) / rate(Way::Ours, 1);
    let by_way = rate(Way::Ours, 8) / rate(Way::Published, 8);
    row(
        &mut table,
        "calls a match, nobody in its way",
        format!("{calls:.2}"),
        "<= 2.3",
    );
    row(
        &mut table,
        "matches/s of 8 matchers to those of 1",
        format!("{by_matchers:.1} times"),
        ">= 1",
    );
    row(
        &mut table,
        "8 matchers, ours to the published way",
        format!("{by_way:.1} times"),
        ">= 5",
    );
    if let [shallow, .., deep] = looks {
        let units = deep.ours.units / shallow.ours.units;
        let millis = deep.ours.millis / shallow.ours.millis;
        row(
            &mut table,
            "a look, 10,000 deep to 10 deep",
            format!("{units:.1} times the units, {millis:.1} times as long"),
            "1, 1",
        );
    }
    println!("{table}");
}

fn wide<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    *table.style_mut() = presets::ASCII_BORDERS_ONLY_CONDENSED;
    table.set_header(header);
    table
}

fn transactions(figures: &Figures) -> u64 {
    let of = |operation| figures.calls.get(operation).copied().unwrap_or(0);
    of("TransactWriteItems") + of("TransactGetItems")
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn percentile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let index = (share * last as f64).round() as usize;
    sorted.get(index).copied().unwrap_or(f64::NAN)
}
