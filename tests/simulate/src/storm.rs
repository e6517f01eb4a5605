//! Storms: more arrivals than the table can take, through an SQS queue and the real ingest.
//!
//! The index takes 1,000 write units per second for pending tasks. An insert and a take use one
//! unit each. `today` is an ingest without backpressure, whose writes wait in arrival order.
//! `postpone` is the current ingest, and `admission` adds admission to it. If not stated otherwise,
//! Lambda's pollers receive 1,000 messages per second, and the ingest receives messages itself.
//!
//! The figures for a sustained load cover its second half. At 10,000 arrivals/s and above, the load
//! starts in the state that a long storm leaves: the capacity is known, and the queue holds as many
//! tasks as admission allows. At 100,000 arrivals/s, it lasts six seconds instead of 40.

mod factors;
mod figures;
mod load;
mod meter;
mod page;
mod play;
mod queue;
mod ramps;
mod receive;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use self::factors::Factor;
use self::figures::{Burst, Sustained};
use self::load::{Load, RUNS, Rate, Receive, Variant};
pub(crate) use self::page::page;
use self::play::play;
use self::ramps::Ramp;
use self::receive::Received;
use crate::parallel;

/// Rates of the burst: 100,000 messages in ten seconds, then 50 per second.
const BURST: [Rate; 2] = [
    (10_000, Duration::from_secs(10)),
    (50, Duration::from_secs(110)),
];
const LASTS: Duration = Duration::from_secs(40);
/// Rates of the sustained loads.
const RATES: [Rate; 8] = [
    (500, LASTS),
    (800, LASTS),
    (900, LASTS),
    (1_000, LASTS),
    (2_000, LASTS),
    (3_000, LASTS),
    (4_000, LASTS),
    (10_000, LASTS),
];

/// Figures by variant.
type Variants<F> = BTreeMap<String, F>;

/// Content of `storm.json`.
#[derive(Serialize)]
pub(crate) struct Storm {
    /// Figures by messages per second that Lambda's pollers receive, without and with the own
    /// receive: `pollers` and `own`.
    receive: BTreeMap<usize, Variants<Received>>,
    burst: Variants<Burst>,
    /// Figures by arrivals per second, then by runs per second.
    sustained: BTreeMap<usize, BTreeMap<u32, Variants<Sustained>>>,
    /// Figures by name and expiry.
    ramps: BTreeMap<String, Ramp>,
    /// Figures by the admission setting `factor`.
    factors: BTreeMap<u32, Factor>,
}

impl Storm {
    /// Returns the 95th percentile of the age of tasks sent from 15 seconds after the burst on, with
    /// the pollers' default rate: `own` or `pollers`.
    pub(crate) fn age_after_burst(&self, receive: &str) -> Option<f64> {
        let received = self.receive.get(&Receive::DEFAULT.pollers)?;
        Some(received.get(receive)?.p95_age_of_new_seconds)
    }
}

/// Simulates every storm.
pub(crate) fn storms() -> Storm {
    let burst = Load::new(&BURST);
    let bursts = parallel::map(Variant::ALL.to_vec(), |(name, variant)| {
        (name.to_owned(), Burst::of(&play(variant, &burst), &burst))
    });
    let cells = RATES
        .iter()
        .flat_map(|rate| Variant::ALL.map(|variant| (*rate, variant)));
    let played = parallel::map(cells.collect(), |(rate, (name, variant))| {
        let load = Load::sustained(rate);
        let figures = Sustained::of(&play(variant, &load), &load);
        (rate.0, name.to_owned(), figures)
    });
    let mut sustained: BTreeMap<_, BTreeMap<_, Variants<Sustained>>> = BTreeMap::new();
    for (rate, name, figures) in played {
        let by_runs = sustained.entry(rate).or_default();
        by_runs.entry(RUNS).or_default().insert(name, figures);
    }
    Storm {
        receive: receive::all(),
        burst: bursts.into_iter().collect(),
        sustained,
        ramps: ramps::all(),
        factors: factors::all(),
    }
}
