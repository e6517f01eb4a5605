//! Loads that rise and fall: what admission costs in runs that could have been done.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::{HOUR, INVOCATIONS, Load, Variant, count, goodput, play};
use crate::figures::rounded;
use crate::parallel;

const MINUTE: Duration = Duration::from_secs(60);
/// Arrivals a second in a quiet time, and in a storm.
const QUIET: usize = 20;
const STORM: usize = 2_000;

/// Figures of a ramp.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Ramp {
    /// Runs that ended, as a share of those that the downstream could do, without admission.
    goodput_of_none: f64,
    /// Runs with admission as a share of those without it.
    goodput_against_none: f64,
    /// Tasks that were not admitted, as a share of the arrivals.
    shed: f64,
}

/// Arrivals a second, and seconds.
const LOADS: [(&str, &[(usize, u64)]); 3] = [
    ("idle_to_storm", &[(0, 30), (STORM, 90)]),
    ("storm_then_quiet", &[(STORM, 60), (QUIET, 90)]),
    (
        "alternating",
        &[
            (STORM, 15),
            (QUIET, 30),
            (STORM, 15),
            (QUIET, 30),
            (STORM, 15),
            (QUIET, 30),
        ],
    ),
];

/// Plays every ramp with both expiries, without and with admission.
pub(super) fn all() -> BTreeMap<String, Ramp> {
    let expiries = [("60s", MINUTE), ("1h", HOUR)];
    let cells: Vec<_> = LOADS
        .iter()
        .flat_map(|(name, phases)| expiries.map(|(expiry, time)| (*name, *phases, expiry, time)))
        .collect();
    let played = parallel::map(cells, |(name, phases, expiry, time)| {
        let load = || Load {
            phases: phases
                .iter()
                .map(|(rate, seconds)| {
                    let lasting = Duration::from_secs(*seconds);
                    (count((*rate, lasting)), lasting)
                })
                .collect(),
            expiry: time,
            invocations: INVOCATIONS,
            in_storm: false,
        };
        let [(none, _), (some, tally)] =
            [Variant::Postpone, Variant::Admission].map(|variant| play(variant, &load()));
        #[allow(clippy::cast_precision_loss, reason = "counts of tasks")]
        let ramp = Ramp {
            goodput_of_none: goodput(&none, load().lasts().as_secs_f64()),
            goodput_against_none: rounded(some.runs.len() as f64 / none.runs.len().max(1) as f64),
            shed: rounded(tally.shed as f64 / some.created.len() as f64),
        };
        (format!("{name}_{expiry}"), ramp)
    });
    played.into_iter().collect()
}
