//! The figures that determine the default of `ingest.admission.factor`.

use std::collections::BTreeMap;
use std::time::Duration;

use lifo_queue::ingest::AdmissionSettings;
use serde::Serialize;

use super::figures::Sustained;
use super::load::{Load, Variant};
use super::play::play;
use super::ramps::{Ramp, alternating, runs_of_none, storm_then_quiet};
use crate::parallel;

const FACTORS: [u32; 5] = [1, 2, 3, 5, 8];
/// Sustained load of a hundred times the capacity.
const SUSTAINED: (usize, Duration) = (10_000, Duration::from_secs(20));
const EXPIRY: Duration = Duration::from_secs(60);

/// Figures for one factor.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Factor {
    /// Figures at a hundred times the capacity, with an expiry of one hour.
    pub(super) sustained: Sustained,
    /// Figures for a storm and a quiet period, with an expiry of 60 seconds.
    pub(super) storm_then_quiet: Ramp,
    pub(super) alternating: Ramp,
}

/// Simulates the storms with each factor.
pub(super) fn all() -> BTreeMap<u32, Factor> {
    let short = [storm_then_quiet(), alternating()].map(|load| Load {
        expiry: EXPIRY,
        ..load
    });
    let none = parallel::map(short.to_vec(), |load| runs_of_none(&load));
    let played = parallel::map(FACTORS.to_vec(), |factor| {
        let with = |load: &Load| Load {
            admission: AdmissionSettings {
                factor,
                ..load.admission
            },
            ..load.clone()
        };
        let load = with(&Load::sustained(SUSTAINED));
        let figures = Factor {
            sustained: Sustained::of(&play(Variant::Admission, &load), &load),
            storm_then_quiet: Ramp::against(none[0], &with(&short[0])),
            alternating: Ramp::against(none[1], &with(&short[1])),
        };
        (factor, figures)
    });
    played.into_iter().collect()
}
