//! Groups: noisy tenants and three quiet tenants in one queue, and the outage of one tenant.

mod outage;
mod scene;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use lifo_queue::process::{ProcessSettings, RateLimit};
use lifo_queue::time::Millis;
use serde::Serialize;
use simulator::cloud::{BEGIN, Deed};

use self::outage::OutageOfOne;
use self::scene::{Played, Scene, Tenants};
use crate::downstream::SERVICE;
use crate::figures::rounded;
use crate::{parallel, queue};

/// Total arrivals of the noisy groups and of the quiet groups, as factors of the capacity.
const NOISY: f64 = 4.5;
const QUIET: f64 = 0.15;
const QUIET_GROUPS: usize = 3;
/// Maximum time from creation to start for a task to be in time.
const IN_TIME: Duration = Duration::from_secs(2);
/// Size of an index entry with a group in its id, in bytes.
const ENTRY_BYTES: f64 = 125.0;

/// Content of `groups.json`.
#[derive(Serialize)]
pub(crate) struct Groups {
    /// Figures by case, without and with groups.
    cases: BTreeMap<&'static str, BTreeMap<&'static str, Figures>>,
    outage_of_one: OutageOfOne,
}

impl Groups {
    /// Returns the shares of quiet tasks that started in time, without and with groups.
    pub(crate) fn quiet_in_time(&self, case: &str) -> Option<(f64, f64)> {
        let of = |variant| Some(self.cases.get(case)?.get(variant)?.quiet_in_time);
        Some((of("none")?, of("groups")?))
    }
}

/// Figures for one case.
#[derive(Clone, Copy, Debug, Serialize)]
struct Figures {
    /// The share of quiet tasks that started in time.
    quiet_in_time: f64,
    /// Ratio of runs to the runs that the queue could start.
    goodput: f64,
    /// Read units per second of the processor's queries.
    read_units: f64,
}

/// One case: a queue and the noisy groups in front of it.
#[derive(Clone, Copy)]
struct Case {
    slots: u16,
    /// The `ratePerSecond` setting.
    rate: Option<u16>,
    noisy: usize,
    lasting: Duration,
    /// Warm-up time, which the figures exclude.
    warm: Duration,
}

impl Case {
    const fn of(slots: u16, noisy: usize) -> Self {
        Self {
            slots,
            rate: None,
            noisy,
            lasting: Duration::from_secs(150),
            warm: Duration::from_secs(20),
        }
    }

    /// Returns the number of starts per second that the slots and the rate limit allow.
    fn capacity(self) -> f64 {
        let slots = f64::from(self.slots) / SERVICE.as_secs_f64();
        self.rate.map_or(slots, |rate| slots.min(f64::from(rate)))
    }

    fn process(self, groups: bool) -> ProcessSettings {
        ProcessSettings {
            slots: self.slots,
            rate: self.rate.map(|rate| RateLimit {
                interval: Duration::from_secs(1) / u32::from(rate),
                burst: NonZeroU32::MIN,
            }),
            groups: groups.then(Default::default),
            ..queue::settings()
        }
    }

    fn play(self, groups: bool) -> Figures {
        let tenants = |kind, groups, load: f64| Tenants {
            kind,
            name: kind,
            groups,
            per_second: load * self.capacity(),
        };
        let played = scene::play(&Scene {
            process: self.process(groups),
            lasting: self.lasting,
            expiry: Duration::from_secs(60),
            tenants: &[
                tenants("noisy", self.noisy, NOISY),
                tenants("quiet", QUIET_GROUPS, QUIET),
            ],
            downstream: |_: &str, _: Millis| (SERVICE, Deed::Succeed),
        });
        self.figures(&played)
    }

    fn figures(self, played: &Played) -> Figures {
        let (from, to) = (BEGIN.plus(self.warm), BEGIN.plus(self.lasting));
        let runs = played.starts.iter();
        let runs = runs.filter(|task| from <= task.at && task.at < to).count();
        let possible = self.capacity() * to.since(from).as_secs_f64();
        Figures {
            quiet_in_time: played.in_time("quiet", from, to.minus(IN_TIME)),
            goodput: rounded(runs as f64 / possible),
            read_units: rounded(read_units(played.read) / self.lasting.as_secs_f64()),
        }
    }
}

fn cases() -> [(&'static str, Case); 7] {
    let rate = Case {
        rate: Some(10),
        ..Case::of(10, 1)
    };
    let large = Case {
        lasting: Duration::from_secs(20),
        warm: Duration::from_secs(5),
        ..Case::of(400, 1)
    };
    [
        ("ten_slots", Case::of(10, 1)),
        ("two_slots", Case::of(2, 1)),
        ("one_slot", Case::of(1, 1)),
        ("rate_limit", rate),
        ("three_noisy", Case::of(10, 3)),
        ("ten_noisy", Case::of(10, 10)),
        ("four_hundred_slots", large),
    ]
}

/// Simulates every case and the outage.
pub(crate) fn groups() -> Groups {
    let mut cells = Vec::new();
    for (name, case) in cases() {
        cells.extend([("none", false), ("groups", true)].map(|variant| (name, case, variant)));
    }
    let played = parallel::map(cells, |(name, case, (variant, groups))| {
        (name, variant, case.play(groups))
    });
    let mut cases: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
    for (name, variant, figures) in played {
        cases.entry(name).or_default().insert(variant, figures);
    }
    Groups {
        cases,
        outage_of_one: outage::of_one(),
    }
}

/// Returns the read units of eventually consistent queries: 0.5 per 4 KB, rounded up per page.
fn read_units((pages, entries): (u64, u64)) -> f64 {
    0.5 * (entries as f64 * ENTRY_BYTES / 4_096.0 + 0.5 * pages as f64)
}
