//! One tenant's downstream is down for a minute. The other tenants' downstreams and poison tasks
//! behave as without an outage.

use std::time::Duration;

use lifo_queue::process::{GroupSettings, ProcessSettings};
use lifo_queue::time::Millis;
use serde::Serialize;
use simulator::cloud::{BEGIN, Deed};

use super::scene::{self, Played, Scene, Tenants};
use crate::downstream::SERVICE;
use crate::{parallel, queue};

const SLOTS: u16 = 10;
/// Load of each of the four tenants, as a factor of the capacity.
const LOAD: f64 = 0.2;
const BEFORE: Duration = Duration::from_secs(30);
const OUTAGE: Duration = Duration::from_secs(60);
const AFTER: Duration = Duration::from_secs(60);
/// Duration of a call that ends with HTTP 502 or 500.
const ERROR: Duration = Duration::from_millis(5);

/// Figures for the outage of one of four tenants.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct OutageOfOne {
    /// Number of tasks that ended in FAILURE, without the poison tasks.
    failed: usize,
    /// Whether a healthy tenant's poison task ended in FAILURE.
    poison_failed: bool,
    /// Share of the other tenants' tasks that were in time, of those created during the outage.
    others_in_time: f64,
    /// Share of the other tenants' tasks in time over the same period, without an outage.
    others_in_time_without: f64,
    /// Number of calls to the failing tenant's downstream during the outage.
    calls: usize,
}

pub(super) fn of_one() -> OutageOfOne {
    let played = parallel::map(vec![true, false], |is_down| match is_down {
        true => play(|kind: &str, at: Millis| match kind {
            "down" if is_outage(at) => (ERROR, Deed::Unavailable),
            "poison" => (ERROR, Deed::Unavailable),
            _ => (SERVICE, Deed::Succeed),
        }),
        false => play(|kind: &str, _: Millis| match kind {
            "poison" => (ERROR, Deed::Unavailable),
            _ => (SERVICE, Deed::Succeed),
        }),
    });
    let (from, to) = (BEGIN.plus(BEFORE), BEGIN.plus(BEFORE + OUTAGE));
    let shares = played.iter();
    let shares: Vec<_> = shares
        .map(|played| played.in_time("other", from, to))
        .collect();
    let down = &played[0];
    let is_poison = |kind: &&String| *kind == "poison";
    let calls = down.starts.iter();
    OutageOfOne {
        failed: down.failed.iter().filter(|kind| !is_poison(kind)).count(),
        poison_failed: down.failed.iter().any(|kind| is_poison(&kind)),
        others_in_time: shares[0],
        others_in_time_without: shares[1],
        calls: calls
            .filter(|run| run.kind == "down" && is_outage(run.at))
            .count(),
    }
}

fn play<D>(downstream: D) -> Played
where
    D: Fn(&str, Millis) -> (Duration, Deed) + Copy + Send + Sync + 'static,
{
    let capacity = f64::from(SLOTS) / SERVICE.as_secs_f64();
    let tenants = |kind, name, groups, per_second| Tenants {
        kind,
        name,
        groups,
        per_second,
    };
    scene::play(&Scene {
        process: ProcessSettings {
            slots: SLOTS,
            groups: Some(GroupSettings {
                breaker: true,
                ..GroupSettings::default()
            }),
            ..queue::settings()
        },
        lasting: BEFORE + OUTAGE + AFTER,
        expiry: Duration::from_secs(3_600),
        tenants: &[
            tenants("down", "down", 1, LOAD * capacity),
            tenants("other", "other", 3, 3.0 * LOAD * capacity),
            // Poison tasks of the other tenants.
            tenants("poison", "other", 3, 0.1),
        ],
        downstream,
    })
}

fn is_outage(at: Millis) -> bool {
    BEGIN.plus(BEFORE) <= at && at < BEGIN.plus(BEFORE + OUTAGE)
}
