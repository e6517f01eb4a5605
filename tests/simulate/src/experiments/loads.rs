//! Loads below and above the downstream's capacity.

use std::collections::BTreeMap;
use std::time::Duration;

use lifo_queue::process::{CodelSettings, ProcessSettings};
use simulator::cloud::BEGIN;

use crate::actors::{self, Actor};
use crate::arrivals::Arrivals;
use crate::downstream::{CAPACITY, Model, capacity_per_second};
use crate::figures::{Load, Played};
use crate::parallel;
use crate::queue::{self, Experiment, settings};

/// Loads, as factors of the downstream's capacity.
const LOADS: [f64; 6] = [0.5, 0.8, 1.0, 1.2, 1.5, 2.0];
/// Time for which tasks arrive. Figures start after `WARM`.
const LASTS: Duration = Duration::from_secs(180);
const WARM: Duration = Duration::from_secs(60);
/// Settings of the age bound under overload.
const CODEL: CodelSettings = CodelSettings {
    target: Duration::from_secs(1),
    interval: Duration::from_secs(5),
};

/// Figures by load factor and discipline.
pub(crate) type Loads = BTreeMap<String, BTreeMap<String, Load>>;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Discipline {
    Actor(Actor),
    NewestFirst,
    Codel,
}

impl Discipline {
    pub(crate) const ALL: [(&'static str, Self); 4] = [
        ("arrival_order", Self::Actor(Actor::ArrivalOrder)),
        ("published", Self::Actor(Actor::PublishedPages)),
        ("newest_first", Self::NewestFirst),
        ("codel", Self::Codel),
    ];

    fn play(self, experiment: &Experiment) -> Played {
        match self {
            Self::Actor(actor) => actors::play(actor, experiment),
            Self::NewestFirst | Self::Codel => queue::play(experiment),
        }
    }

    fn settings(self) -> ProcessSettings {
        ProcessSettings {
            codel: matches!(self, Self::Codel).then_some(CODEL),
            ..settings()
        }
    }
}

/// Simulates every discipline under every load.
pub(crate) fn loads() -> Loads {
    let cells: Vec<_> = LOADS
        .into_iter()
        .flat_map(|factor| Discipline::ALL.map(|(name, discipline)| (factor, name, discipline)))
        .collect();
    let figures = parallel::map(cells, |(factor, name, discipline)| {
        let played = discipline.play(&Experiment {
            seed: 1,
            arrivals: Arrivals::Poisson {
                per_second: factor * capacity_per_second(),
                lasting: LASTS,
            },
            rest: Duration::ZERO,
            model: Model::Rejecting(CAPACITY),
            outage: None,
            process: discipline.settings(),
        });
        let load = Load::of(&played, BEGIN.plus(WARM), BEGIN.plus(LASTS));
        (format!("{factor:.1}"), name.to_owned(), load)
    });
    let mut loads = Loads::new();
    for (factor, name, load) in figures {
        loads.entry(factor).or_default().insert(name, load);
    }
    loads
}
