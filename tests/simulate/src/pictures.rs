//! The documentation charts: SVG cards that follow the color scheme of the reader's system. Each
//! chart has one message, which is its title.

mod burst;
mod card;

use std::fs;
use std::io;
use std::path::Path;

use maud::{Markup, html};

use self::card::{LEFT, RIGHT, card, text};
use crate::experiments::{Loads, Outages};
use crate::figures::{Load, OutageFigures, Played};
use crate::groups::Groups;
use crate::keys::Keys;
use crate::storm::Storm;

/// A line in the load chart: its key in `overload.json`, its label, and its class.
const LINES: [(&str, &str, &str); 3] = [
    ("newest_first", "freshq", "freshq"),
    ("published", "published sample", "other dashed"),
    ("arrival_order", "arrival order", "other"),
];

/// Writes all charts to `folder`.
pub(crate) fn write(
    folder: &Path,
    loads: &Loads,
    outages: &Outages,
    keys: &Keys,
    storm: &Storm,
    groups: &Groups,
    (arrival, newest): (&Played, &Played),
) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (name, picture) in [
        ("overload.svg", overload(loads)),
        ("outage.svg", outage(outages)),
        ("keys.svg", latest_wins(keys)),
        ("burst.svg", burst::picture(arrival, newest)),
        ("storm.svg", storm_of_messages(storm)),
        ("groups.svg", quiet_tenants(groups)),
    ] {
        fs::write(folder.join(name), picture.into_string())?;
    }
    Ok(())
}

/// Draws the share of tasks that started within two seconds, by load.
fn overload(loads: &Loads) -> Markup {
    const TOP: f64 = 96.0;
    const BOTTOM: f64 = 310.0;
    const END: f64 = RIGHT - 120.0;
    const START: f64 = LEFT + 44.0;
    let x = |load: f64| START + (load - 0.5) / 1.5 * (END - START);
    let y = |share: f64| BOTTOM - share * (BOTTOM - TOP);
    let points = |name: &str| -> Vec<(f64, f64)> {
        let of = |figures: &Load| figures.started_in_2s;
        loads
            .iter()
            .filter_map(|(load, disciplines)| {
                Some((x(load.parse().ok()?), y(of(disciplines.get(name)?))))
            })
            .collect()
    };
    let body = html! {
        @for percent in [0, 50, 100] {
            @let at = y(f64::from(percent) / 100.0);
            path class="axis" d=(format!("M{START} {at}H{END}")) {}
            (text(START - 8.0, at + 4.0, "muted end", &format!("{percent} %")))
        }
        @for load in [0.5, 1.0, 1.5, 2.0] {
            (text(x(load), BOTTOM + 20.0, "muted middle", &format!("{load}×")))
        }
        (text(f64::midpoint(START, END), BOTTOM + 40.0, "muted middle", "load (1× is the capacity of the downstream)"))
        @for (name, label, class) in LINES {
            @let points = points(name);
            path class={ "line " (class) } d=(polyline(&points)) {}
            @if let Some((at, height)) = points.last() {
                (text(at + 10.0, height + 4.0, if class == "freshq" { "freshq strong" } else { "muted" }, label))
            }
        }
    };
    card(
        BOTTOM + 60.0,
        "Fresh under overload: the capacity goes to new tasks",
        "Share of all tasks that start within 2 s of their creation",
        &body,
    )
}

/// Draws the failed tasks and useless calls in an outage, with and without the circuit breaker.
fn outage(outages: &Outages) -> Markup {
    let with = outages.of("breaker");
    let without = outages.of("retries_only");
    let pair = |of: fn(&OutageFigures) -> usize| {
        vec![
            ("freshq", whole(with.map(of).unwrap_or_default()), true),
            (
                "retries only",
                whole(without.map(of).unwrap_or_default()),
                false,
            ),
        ]
    };
    let count = |value: f64| thousands(value);
    let failed = pair(|figures| figures.failed);
    let calls = pair(|figures| figures.calls);
    let body = html! {
        (text(LEFT, 104.0, "ink", "Tasks that end as FAILURE"))
        (bars(116.0, &failed, count))
        (text(LEFT, 212.0, "ink", "Calls into the broken system"))
        (bars(224.0, &calls, count))
    };
    card(
        300.0,
        "An outage loses nothing",
        "60 s of HTTP 502, 16 tasks/s, 5 attempts per task",
        &body,
    )
}

/// Draws the age of new tasks behind a burst of messages.
fn storm_of_messages(storm: &Storm) -> Markup {
    let value = |name| storm.age_after_burst(name).unwrap_or_default();
    let rows = [
        ("freshq", value("own"), true),
        ("pollers alone", value("pollers"), false),
    ];
    let body = bars(92.0, &rows, |seconds| format!("{seconds:.1} s"));
    card(
        180.0,
        "100,000 messages arrive at once: new tasks pass them",
        "Age of new tasks at their start (95th percentile), from 15 s after the burst on",
        &body,
    )
}

/// Draws the share of the quiet tenants' tasks that start in time, with and without groups.
fn quiet_tenants(groups: &Groups) -> Markup {
    const CASES: [(&str, &str); 4] = [
        ("ten_slots", "1 noisy tenant, 10 concurrent tasks"),
        ("ten_noisy", "10 noisy tenants, 10 concurrent tasks"),
        ("rate_limit", "1 noisy tenant, a limit of 10 starts/s"),
        ("four_hundred_slots", "1 noisy tenant, 400 concurrent tasks"),
    ];
    const STEP: f64 = 104.0;
    let percent = |share: f64| format!("{share:.0} %");
    let body = html! {
        @for (place, (name, label)) in (0_u32..).zip(CASES) {
            @let top = 104.0 + f64::from(place) * STEP;
            @let (without, with) = groups.quiet_in_time(name).unwrap_or_default();
            (text(LEFT, top, "ink", label))
            (bars(top + 12.0, &[
                ("freshq, groups", 100.0 * with, true),
                ("without groups", 100.0 * without, false),
            ], percent))
        }
    };
    card(
        104.0 + 4.0 * STEP,
        "Groups: a noisy tenant delays only itself",
        "Tasks of three quiet tenants that start within 2 s; the noisy ones send 4.5× the capacity",
        &body,
    )
}

/// Draws the mean age of a key's last known state, by discipline.
fn latest_wins(keys: &Keys) -> Markup {
    const LABELS: [(&str, &str); 4] = [
        ("arrival_order", "arrival order"),
        ("newest_first", "newest first, no keys"),
        ("latest_wins", "keys, newest first"),
        ("oldest_key_first", "keys, oldest-key-first"),
    ];
    let mut rows: Vec<(&str, f64, bool)> = LABELS
        .iter()
        .filter_map(|(name, label)| {
            let ages = keys.get(*name)?;
            Some((*label, ages.mean_age_seconds, label.starts_with("keys")))
        })
        .collect();
    rows.sort_by(|one, other| one.1.total_cmp(&other.1));
    card(
        260.0,
        "Latest wins: with keys, what you know of each device is fresh",
        "Mean age of the last known state of 100 devices, at 10× the capacity",
        &bars(92.0, &rows, |seconds| format!("{seconds:.1} s")),
    )
}

/// Draws horizontal bars with labels and values. True marks a freshq bar.
fn bars(top: f64, rows: &[(&str, f64, bool)], value: impl Fn(f64) -> String) -> Markup {
    const HEIGHT: f64 = 24.0;
    const STEP: f64 = 36.0;
    const START: f64 = LEFT + 176.0;
    let highest = rows.iter().map(|row| row.1).fold(1.0, f64::max);
    html! {
        @for (place, (label, size, ours)) in (0_u32..).zip(rows) {
            @let at = top + f64::from(place) * STEP;
            @let long = size / highest * (RIGHT - 70.0 - START);
            (text(START - 10.0, at + 17.0, if *ours { "freshq strong end" } else { "muted end" }, label))
            rect class={ "bar " (if *ours { "freshq" } else { "other" }) }
                x=(START) y=(at) width=(format!("{:.1}", long.max(2.0))) height=(HEIGHT) rx="3" {}
            (text(START + long.max(2.0) + 8.0, at + 17.0, if *ours { "freshq strong" } else { "muted" }, &value(*size)))
        }
    }
}

fn polyline(points: &[(f64, f64)]) -> String {
    let steps = points.iter().map(|(x, y)| format!("{x:.1} {y:.1}"));
    format!("M{}", steps.collect::<Vec<_>>().join("L"))
}

fn whole(count: usize) -> f64 {
    count as f64
}

fn thousands(value: f64) -> String {
    let whole = format!("{value:.0}");
    match whole.len().checked_sub(3) {
        Some(at) if at > 0 => format!("{},{}", &whole[..at], &whole[at..]),
        _ => whole,
    }
}
