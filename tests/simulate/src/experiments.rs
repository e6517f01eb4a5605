//! The experiments and their figures.

mod burst;
mod latency;
mod loads;

use std::collections::BTreeMap;
use std::time::Duration;

use lifo_queue::process::ProcessSettings;
use serde::Serialize;
use simulator::cloud::BEGIN;

pub(crate) use self::burst::{BURST_LASTS, burst};
pub(crate) use self::latency::{Halved, halved};
pub(crate) use self::loads::{Loads, loads};
use crate::arrivals::Arrivals;
use crate::downstream::{CAPACITY, Kind, Model, Outage, capacity_per_second};
use crate::figures::{OutageFigures, rounded};
use crate::parallel;
use crate::queue::{self, Experiment, settings};

/// Time before an outage. `OUTAGE` is the duration of the outage, `AFTER` the time after it.
const BEFORE: Duration = Duration::from_secs(30);
const OUTAGE: Duration = Duration::from_secs(60);
const AFTER: Duration = Duration::from_secs(90);
/// Task timeout in the outage experiments. In an outage with timeouts, each run lasts this long.
const OUTAGE_TASK_TIMEOUT: Duration = Duration::from_secs(2);
/// Load in the outage experiments, as a factor of the capacity.
const OUTAGE_LOAD: f64 = 0.8;
/// Seeds of the outage experiments. Each figure is the worst across these seeds.
const SEEDS: [u64; 3] = [1, 2, 3];

pub(crate) type Features = BTreeMap<String, OutageFigures>;

#[derive(Debug, Serialize)]
pub(crate) struct Outages {
    #[serde(flatten)]
    features: Features,
    by_kind: BTreeMap<String, Features>,
}

impl Outages {
    /// Returns the figures for an outage with HTTP 502 and this feature.
    pub(crate) fn of(&self, feature: &str) -> Option<&OutageFigures> {
        self.features.get(feature)
    }
}

fn features() -> [(&'static str, ProcessSettings); 2] {
    let breaker = ProcessSettings {
        task_timeout: OUTAGE_TASK_TIMEOUT,
        ..settings()
    };
    let retries_only = ProcessSettings {
        breaker: None,
        ..breaker
    };
    [("retries_only", retries_only), ("breaker", breaker)]
}

/// Simulates outages of each kind with each feature.
pub(crate) fn outages() -> Outages {
    let mut cells = Vec::new();
    for kind in Kind::ALL {
        for (feature, process) in features() {
            cells.extend(SEEDS.map(|seed| (kind, feature, process, seed)));
        }
    }
    let played = parallel::map(cells, |(kind, feature, process, seed)| {
        let outage = Outage {
            from: BEGIN.plus(BEFORE),
            to: BEGIN.plus(BEFORE + OUTAGE),
            kind,
        };
        let played = queue::play(&Experiment {
            seed,
            arrivals: Arrivals::Poisson {
                per_second: OUTAGE_LOAD * capacity_per_second(),
                lasting: BEFORE + OUTAGE + AFTER,
            },
            rest: Duration::ZERO,
            model: Model::Rejecting(CAPACITY),
            outage: Some(outage),
            process,
        });
        (kind, feature, OutageFigures::of(&played, outage))
    });
    let mut by_kind: BTreeMap<String, Features> = BTreeMap::new();
    for (kind, feature, figures) in played {
        let of_kind = by_kind.entry(kind.key().to_owned()).or_default();
        of_kind
            .entry(feature.to_owned())
            .and_modify(|there| *there = there.worst(figures))
            .or_insert(figures);
    }
    Outages {
        features: by_kind[Kind::BadGateway.key()].clone(),
        by_kind,
    }
}

/// The delay that poison tasks at the head cause for the healthy tasks behind them.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Poisoned {
    /// Seconds from the start until the last healthy task succeeded, for the worst seed.
    healthy_done_seconds: f64,
}

/// Simulates 30 poison tasks ahead of 70 healthy tasks, per concurrency and feature.
pub(crate) fn poisoned() -> BTreeMap<String, BTreeMap<String, Poisoned>> {
    let mut cells = Vec::new();
    for slots in [1_u16, 8, 50] {
        for (feature, process) in features() {
            cells.push((slots, feature, ProcessSettings { slots, ..process }));
        }
    }
    let figures = parallel::map(cells, |(slots, feature, process)| {
        let done = SEEDS.map(|seed| {
            let played = queue::play(&Experiment {
                seed,
                arrivals: Arrivals::Poisoned {
                    healthy: 70,
                    poison: 30,
                },
                rest: Duration::from_secs(120),
                model: Model::Rejecting(usize::from(slots)),
                outage: None,
                process,
            });
            let runs = played.runs.iter();
            let healthy = runs.filter(|run| run.success && !run.poison);
            let last = healthy.map(|run| run.ended).max();
            last.map_or(f64::INFINITY, |at| at.since(BEGIN).as_secs_f64())
        });
        let poisoned = Poisoned {
            healthy_done_seconds: rounded(done.into_iter().fold(0.0, f64::max)),
        };
        (slots, feature, poisoned)
    });
    let mut poisoned: BTreeMap<String, BTreeMap<String, Poisoned>> = BTreeMap::new();
    for (slots, feature, figure) in figures {
        let of_slots = poisoned.entry(slots.to_string()).or_default();
        of_slots.insert(feature.to_owned(), figure);
    }
    poisoned
}
