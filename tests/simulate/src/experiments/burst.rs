//! Simulates a burst on top of a steady load below capacity, for a chart.

use std::time::Duration;

use lifo_queue::process::ProcessSettings;

use crate::actors::{self, Actor};
use crate::arrivals::Arrivals;
use crate::downstream::Model;
use crate::figures::Played;
use crate::queue::{self, Experiment, settings};

/// Time span of the chart.
pub(crate) const BURST_LASTS: Duration = Duration::from_secs(15);
const SLOTS: u16 = 2;

/// Simulates the burst in arrival order and newest first.
pub(crate) fn burst() -> (Played, Played) {
    let experiment = Experiment {
        seed: 1,
        arrivals: Arrivals::Burst {
            interval: Duration::from_millis(350),
            lasting: BURST_LASTS,
            at: Duration::from_secs(2),
            tasks: 18,
        },
        rest: Duration::ZERO,
        model: Model::Rejecting(usize::from(SLOTS)),
        outage: None,
        process: ProcessSettings {
            slots: SLOTS,
            ..settings()
        },
    };
    let in_arrival_order = actors::play(Actor::ArrivalOrder, &experiment);
    (in_arrival_order, queue::play(&experiment))
}
