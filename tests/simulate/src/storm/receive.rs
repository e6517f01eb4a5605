//! Figures by the rate at which Lambda's pollers receive messages, which AWS does not publish.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::Variants;
use super::figures::{Burst, Sustained};
use super::load::{Load, Receive, Variant};
use super::play::play;
use crate::parallel;

/// Messages per second that the pollers receive.
const RATES: [usize; 4] = [1_000, 3_000, 10_000, 50_000];
const SUSTAINED: (usize, Duration) = (10_000, Duration::from_secs(40));

#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Received {
    /// Concurrent invocations of `ingest-tasks`.
    pub(super) invocations: usize,
    /// Figures of admission at 10,000 arrivals per second.
    pub(super) under_2s: f64,
    pub(super) goodput: f64,
    /// Time from the end of a burst of 100,000 messages until a task that was sent later starts
    /// within two seconds; `None` if none does.
    pub(super) caught_up_seconds: Option<f64>,
    /// Age at the start of the tasks sent from 15 seconds after the burst on.
    pub(super) p95_age_of_new_seconds: f64,
}

/// Simulates both loads at each rate, without and with the own receive.
pub(super) fn all() -> BTreeMap<usize, Variants<Received>> {
    let cells = RATES
        .iter()
        .flat_map(|rate| [("pollers", false), ("own", true)].map(|(name, own)| (*rate, name, own)));
    let played = parallel::map(cells.collect(), |(pollers, name, own)| {
        let receive = Receive { pollers, own };
        let burst = Load {
            receive,
            ..Load::new(&super::BURST)
        };
        let sustained = Load {
            receive,
            ..Load::sustained(SUSTAINED)
        };
        let after = Burst::of(&play(Variant::Postpone, &burst), &burst);
        let figures = Sustained::of(&play(Variant::Admission, &sustained), &sustained);
        let received = Received {
            invocations: sustained.invocations,
            under_2s: figures.under_2s,
            goodput: figures.goodput,
            caught_up_seconds: after.caught_up_seconds,
            p95_age_of_new_seconds: after.p95_age_of_new_seconds,
        };
        (pollers, name.to_owned(), received)
    });
    let mut all = BTreeMap::<_, Variants<_>>::new();
    for (pollers, name, received) in played {
        all.entry(pollers).or_default().insert(name, received);
    }
    all
}
