//! A downstream that loses half of its capacity and becomes slower, without errors.

use std::collections::BTreeMap;
use std::time::Duration;

use lifo_queue::process::ProcessSettings;
use serde::Serialize;
use simulator::cloud::BEGIN;

use crate::arrivals::Arrivals;
use crate::downstream::{CAPACITY, Model, SERVICE, capacity_per_second};
use crate::figures::{Load, rounded};
use crate::parallel;
use crate::queue::{self, Experiment, settings};

/// Time at which the downstream loses half of its capacity.
const HALVED: Duration = Duration::from_secs(60);
const LASTS: Duration = Duration::from_secs(180);
/// Load before that time, as a factor of the capacity.
const LOAD: f64 = 0.8;
/// Number of slots, chosen for a larger downstream than this one.
const SLOTS: u16 = 50;

/// Queue figures after the downstream became slower.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Halved {
    /// Ratio of tasks that succeeded in time to tasks that the downstream could complete.
    in_time_of_possible: f64,
    #[serde(flatten)]
    load: Load,
}

/// Simulates a downstream with halved capacity, with and without a target latency.
pub(crate) fn halved() -> BTreeMap<String, Halved> {
    let off = ProcessSettings {
        slots: SLOTS,
        ..settings()
    };
    let on = ProcessSettings {
        target_latency: Some(2 * SERVICE),
        ..off
    };
    let figures = parallel::map(vec![("off", off), ("on", on)], |(name, process)| {
        let per_second = LOAD * capacity_per_second();
        let played = queue::play(&Experiment {
            seed: 1,
            arrivals: Arrivals::Poisson {
                per_second,
                lasting: LASTS,
            },
            rest: Duration::ZERO,
            model: Model::Queueing {
                servers: CAPACITY,
                halved: BEGIN.plus(HALVED),
            },
            outage: None,
            process,
        });
        let load = Load::of(&played, BEGIN.plus(HALVED), BEGIN.plus(LASTS));
        let possible = (capacity_per_second() / 2.0).min(per_second);
        let halved = Halved {
            in_time_of_possible: rounded(load.in_time * per_second / possible),
            load,
        };
        (name.to_owned(), halved)
    });
    figures.into_iter().collect()
}
