//! Generates the page `docs/reference/storms.md`.

use std::fmt::Display;

use super::figures::Sustained;
use super::load::{RUNS, Variant};
use super::{Storm, Variants};

/// Minimum share of new tasks among the started tasks for a load to count as newest first.
const NEW: f64 = 0.95;
/// The price of a million write units in us-east-1, in dollars.
const WRITE_UNITS: f64 = 0.625;

/// Renders the page.
pub(crate) fn page(storm: &Storm) -> String {
    format!(
        "# Storms

Unless a table says otherwise, these figures assume that Lambda's pollers receive 1,000 messages per second, about the published rate of ten
provisioned pollers; AWS publishes no rate for the default mode. `make simulate` generates the page: it runs the real ingest and processor on a
virtual clock. The index takes 1,000 write units per second for pending tasks, an SQS queue has at most 120,000 messages in flight, and the
downstream does {RUNS} runs per second. An invocation of `ingest-tasks` with 256 MB takes 0.5 ms per message and 2 ms per written task, derived from its
processor time; there are ten, and above 5,000 arrivals/s one per 500 arrivals/s. [Scaling](../explanation/scaling.md#storms) explains the rules.
*Arrival order* is an ingest that repeats throttled writes and receives only from the pollers; *admission* is `ingest.admission: {{}}`. The same figures
are in `target/simulate/storm.json`.

## The rate of the pollers

With 10,000 arrivals/s and admission, and after a burst of 100,000 messages without admission. *Own* is the default: `ingest-tasks` also receives
messages itself in a backlog. *Pollers* is without it.

{}
## Started tasks under 2 s old

In the second half of a load of 40 s, with an expiry of an hour. At 10,000 arrivals/s, the load begins in the state that a long storm leaves.

{}
At least {} of the started tasks are under 2 s old up to {}.

## A burst

100,000 messages in 10 s, then 50 per second for 110 s. *New* are the tasks sent from 15 s after the burst on.

{}
## The bill of a sustained storm

{}
## Loads that rise and fall

Successful runs with admission as a share of those without it, and the share of the arrivals that admission sheds. *Storm* is 2,000
arrivals/s, *quiet* 20.

{}
## The factor of admission

`factor` is the number of tasks that are admitted per run in a sustained storm. A larger factor starts tasks earlier and writes more. A smaller
one leaves fewer old tasks to run after a storm, which only a short expiry shows: the last two columns have an expiry of 60 s. The default of
3 is the smallest factor from which on the age changes little.

{}",
        receive(storm),
        ages(storm),
        percent(NEW),
        limits(storm),
        burst(storm),
        bill(storm),
        ramps(storm),
        factors(storm),
    )
}

fn receive(storm: &Storm) -> String {
    let rows = storm.receive.iter().flat_map(|(rate, variants)| {
        variants.iter().rev().map(|(name, figures)| {
            let caught_up = figures.caught_up_seconds;
            vec![
                thousands(*rate),
                name.clone(),
                figures.invocations.to_string(),
                percent(figures.under_2s),
                percent(figures.goodput),
                caught_up.map_or_else(|| "never".to_owned(), seconds),
                seconds(figures.p95_age_of_new_seconds),
            ]
        })
    });
    let head = "pollers, messages/s | receive | invocations | 10,000 arrivals/s: started tasks under 2 s | \
                runs, of those possible | burst: first new task under 2 s | p95 age of new tasks after 15 s";
    table(head, rows)
}

fn ages(storm: &Storm) -> String {
    let rows = by_arrivals(storm).map(|(arrivals, variants)| {
        let mut row = vec![thousands(arrivals)];
        row.extend(in_order(variants).map(|figures| percent(figures.under_2s)));
        row.extend(in_order(variants).map(|figures| seconds(figures.p99_age_seconds)));
        row
    });
    let head = "arrivals/s | arrival order | freshq | admission \
                | p99 age, arrival order | freshq | admission";
    table(head, rows)
}

/// Describes the maximum arrival rate per variant at which most started tasks are new.
fn limits(storm: &Storm) -> String {
    let of = |name: &str| {
        let new = by_arrivals(storm).take_while(|(_, variants)| {
            let figures = variants.get(name);
            figures.is_some_and(|figures| figures.under_2s >= NEW)
        });
        new.last().map_or(0, |(arrivals, _)| arrivals)
    };
    let [today, postpone, admission] = Variant::ALL.map(|(name, _)| thousands(of(name)));
    format!(
        "{today} arrivals/s in arrival order, {postpone} with freshq and {admission} with admission"
    )
}

fn burst(storm: &Storm) -> String {
    let rows = in_order(&storm.burst).zip(["arrival order", "freshq", "admission"]);
    let rows = rows.map(|(figures, name)| {
        vec![
            name.to_owned(),
            percent(figures.goodput),
            seconds(figures.p95_age_of_new_seconds),
            figures.receives_per_message.to_string(),
        ]
    });
    let head = "variant | runs, of those possible | age of new tasks at the start (p95) \
                | receives per message";
    table(head, rows)
}

fn bill(storm: &Storm) -> String {
    let storms = by_arrivals(storm).filter(|(arrivals, _)| *arrivals >= 10_000);
    let rows = storms.filter_map(|(arrivals, variants)| {
        let figures = variants.get("admission")?;
        let all = figures.write_units_if_all_inserted;
        Some(vec![
            thousands(arrivals),
            percent(figures.goodput),
            percent(figures.shed),
            format!("{:.0}", all),
            format!("{:.0}", figures.write_units),
            dollars(all),
            dollars(figures.write_units),
        ])
    });
    let head = "arrivals/s | runs, of those possible | shed | write units/s, if all were written \
                | with admission | DynamoDB per hour, if all were written | with admission";
    table(head, rows)
}

fn ramps(storm: &Storm) -> String {
    const MEANING: [(&str, &str); 8] = [
        ("idle_to_storm", "30 s without arrivals, 90 s of storm"),
        ("storm_then_quiet", "60 s of storm, 90 s of quiet"),
        ("alternating", "three times 15 s of storm and 30 s of quiet"),
        (
            "pause",
            "600 arrivals/s for 11 minutes, the last ten in a pause, then 4 minutes of quiet",
        ),
        (
            "outage",
            "90 s of storm, the last 60 s in an outage, then 60 s of quiet",
        ),
        (
            "runs_of_30s",
            "300 arrivals/s for 5 minutes, with runs of 30 s",
        ),
        (
            "expiries_per_task",
            "120 s of storm; each second task expires after 30 s",
        ),
        (
            "falling_capacity",
            "120 s of storm; after 60 s, runs last ten times as long",
        ),
    ];
    let rows = MEANING.iter().filter_map(|(name, meaning)| {
        let of = |expiry: &str| storm.ramps.get(&format!("{name}_{expiry}"));
        let (short, long) = (of("60s")?, of("1h")?);
        let goodput = [short, long].map(|ramp| percent(ramp.goodput_against_none));
        let shed = [short, long].map(|ramp| percent(ramp.shed));
        Some([vec![(*meaning).to_owned()], goodput.to_vec(), shed.to_vec()].concat())
    });
    let head = "load | runs, expiry 60 s | runs, expiry 1 h | shed, 60 s | shed, 1 h";
    table(head, rows)
}

fn factors(storm: &Storm) -> String {
    let rows = storm.factors.iter().map(|(factor, figures)| {
        vec![
            factor.to_string(),
            seconds(figures.sustained.p99_age_seconds),
            percent(figures.sustained.goodput),
            format!("{:.0}", figures.sustained.write_units),
            percent(figures.storm_then_quiet.goodput_against_none),
            percent(figures.alternating.goodput_against_none),
        ]
    });
    let head = "factor | age at the start (p99), 10,000 arrivals/s | runs, of those possible \
                | write units/s | runs, storm then quiet | runs, alternating";
    table(head, rows)
}

fn by_arrivals(storm: &Storm) -> impl Iterator<Item = (usize, &Variants<Sustained>)> {
    let of_runs = storm.sustained.iter();
    of_runs.filter_map(|(arrivals, by_runs)| Some((*arrivals, by_runs.get(&RUNS)?)))
}

/// Returns the figures of all variants, in variant order.
fn in_order<F>(variants: &Variants<F>) -> impl Iterator<Item = &F> {
    Variant::ALL
        .into_iter()
        .filter_map(|(name, _)| variants.get(name))
}

/// Renders a Markdown table.
fn table(head: &str, rows: impl Iterator<Item = Vec<String>>) -> String {
    let columns = head.split('|').count();
    let line = |cells: &dyn Display| format!("| {cells} |\n");
    let mut text = line(&head) + &format!("|{}\n", "---|".repeat(columns));
    for row in rows {
        text += &line(&row.join(" | "));
    }
    text
}

fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent > 99.0 && share < 1.0 {
        true => format!("{percent:.1} %"),
        false => format!("{percent:.0} %"),
    }
}

fn seconds(seconds: f64) -> String {
    match seconds < 10.0 {
        true => format!("{seconds:.2} s"),
        false => format!("{seconds:.0} s"),
    }
}

/// Returns the hourly price for this number of write units per second.
fn dollars(units: f64) -> String {
    format!("${:.2}", units * 3_600.0 / 1_000_000.0 * WRITE_UNITS)
}

fn thousands(count: usize) -> String {
    match count / 1_000 {
        0 => count.to_string(),
        thousands => format!("{thousands},{:03}", count % 1_000),
    }
}
