//! Simulates loads that rise and fall, pauses and outages. Measures how many successful runs
//! admission costs.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::load::{Downstream, HOUR, Load, Variant};
use super::play::play;
use crate::figures::rounded;
use crate::parallel;

const MINUTE: Duration = Duration::from_secs(60);
/// Arrivals per second in a quiet period, in a storm, and in a storm of several minutes.
const QUIET: usize = 20;
const STORM: usize = 2_000;
const LONG: usize = 300;
/// Arrivals per second until the end of a pause. Admission sheds some of them, even with an expiry
/// of an hour.
const PAUSED: usize = 600;

/// Figures for a ramp.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Ramp {
    /// Number of successful runs without admission.
    runs_of_none: usize,
    /// Ratio of successful runs with admission to successful runs without it.
    pub(super) goodput_against_none: f64,
    /// Ratio of tasks that were not admitted to arrivals.
    pub(super) shed: f64,
}

impl Ramp {
    /// Simulates a load with and without admission.
    pub(super) fn of(load: &Load) -> Self {
        Self::against(runs_of_none(load), load)
    }

    /// Simulates a load with admission.
    pub(super) fn against(runs_of_none: usize, load: &Load) -> Self {
        let (some, tally) = play(Variant::Admission, load);
        Self {
            runs_of_none,
            goodput_against_none: rounded(some.runs.len() as f64 / runs_of_none.max(1) as f64),
            shed: rounded(tally.shed as f64 / some.created.len() as f64),
        }
    }
}

/// Returns the number of successful runs without admission.
pub(super) fn runs_of_none(load: &Load) -> usize {
    play(Variant::Postpone, load).0.runs.len()
}

/// Creates a load from arrivals per second, each rate with its duration in seconds.
fn rising(rates: &[(usize, u64)]) -> Load {
    let rates: Vec<_> = rates
        .iter()
        .map(|(rate, seconds)| (*rate, Duration::from_secs(*seconds)))
        .collect();
    Load::new(&rates)
}

/// Creates a storm followed by a quiet period.
pub(super) fn storm_then_quiet() -> Load {
    rising(&[(STORM, 60), (QUIET, 90)])
}

/// Creates alternating short storms and quiet periods.
pub(super) fn alternating() -> Load {
    let both = [(STORM, 15), (QUIET, 30)];
    rising(&[both, both, both].concat())
}

/// Returns the name and load of each ramp. The expiry is set later.
fn loads() -> Vec<(&'static str, Load)> {
    let storm = rising(&[(STORM, 120)]);
    vec![
        ("idle_to_storm", rising(&[(0, 30), (STORM, 90)])),
        ("storm_then_quiet", storm_then_quiet()),
        ("alternating", alternating()),
        (
            "pause",
            Load {
                pause: Some((MINUTE, 11 * MINUTE)),
                // Only tasks that arrived during the pause can fill the quiet period.
                ..rising(&[(PAUSED, 660), (QUIET, 240)])
            },
        ),
        (
            "outage",
            Load {
                downstream: Downstream::Outage(MINUTE / 2, 3 * MINUTE / 2),
                ..rising(&[(STORM, 90), (QUIET, 60)])
            },
        ),
        (
            "runs_of_30s",
            Load {
                downstream: Downstream::Steady(MINUTE / 2),
                ..rising(&[(LONG, 300)])
            },
        ),
        (
            "expiries_per_task",
            Load {
                every_second: Some(MINUTE / 2),
                ..storm.clone()
            },
        ),
        (
            "falling_capacity",
            Load {
                downstream: Downstream::Slower(MINUTE),
                ..storm
            },
        ),
    ]
}

/// Simulates every ramp with both expiries, with and without admission.
pub(super) fn all() -> BTreeMap<String, Ramp> {
    let expiries = [("60s", MINUTE), ("1h", HOUR)];
    let cells = loads().into_iter().flat_map(|(name, load)| {
        expiries.map(|(expiry, time)| {
            let load = Load {
                expiry: time,
                ..load.clone()
            };
            (format!("{name}_{expiry}"), load)
        })
    });
    let played = parallel::map(cells.collect(), |(name, load)| (name, Ramp::of(&load)));
    played.into_iter().collect()
}
