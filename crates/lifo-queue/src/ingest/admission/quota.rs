//! The share of tasks that is admitted.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use super::AdmissionSettings;
use crate::control::Control;
use crate::store::{Mark, Meter};
use crate::task::NewTask;
use crate::time::Millis;

/// Time, in seconds, in which the number of held tasks approaches its limit. Longer than the
/// meter's delay, so that the number does not oscillate.
const APPROACH: f64 = 2.0;

/// Minimum time over which arrivals are measured.
const SPAN: Duration = Duration::from_millis(500);

/// Minimum share of the usual rate that is admitted while the queue holds too many tasks, for
/// example because the capacity fell. This way, new tasks can still start.
const LEAST: f64 = 0.5;

/// Which tasks are admitted in the next second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::ingest) struct Quota {
    /// Number of tasks that the downstream can run per second.
    capacity: f64,
    factor: f64,
    most_held: f64,
    held: f64,
    /// Number of tasks arriving per second that admission can shed.
    arrivals: f64,
}

/// Returns the current mark and quota. Without a quota, every task is admitted.
pub(super) fn of(
    meter: &Meter,
    control: &Control,
    settings: &AdmissionSettings,
    now: Millis,
) -> (Mark, Option<Quota>) {
    let mark = |held| Mark {
        at: now,
        held,
        received: meter.received,
        admitted: meter.admitted,
    };
    let Some(capacity) = control.capacity(now) else {
        return (mark(0), None);
    };
    let factor = f64::from(settings.factor);
    let Some(there) = meter.mark else {
        return (mark(0), None);
    };
    let passed = now.since(there.at);
    let admitted = float(meter.admitted.saturating_sub(there.admitted));
    let drained = factor * capacity * passed.as_secs_f64();
    let held = (float(there.held) + admitted - drained).max(0.0);
    let received = float(meter.received.saturating_sub(there.received));
    let quota = Quota {
        capacity,
        factor,
        most_held: f64::from(settings.most_held),
        held,
        arrivals: received / passed.max(SPAN).as_secs_f64(),
    };
    let held = held as u64;
    (mark(held), Some(quota))
}

impl Quota {
    /// Whether this task is admitted. `sent` is the time at which its message was sent. The
    /// decision depends on the id and the minute, so that no id is shed for an entire storm.
    pub(in crate::ingest) fn admits(&self, task: &NewTask, sent: Millis, now: Millis) -> bool {
        let share = self.share(task.expires_at.millis().since(now));
        let mut hasher = DefaultHasher::new();
        (task.id.as_str(), sent.0.div_euclid(60_000)).hash(&mut hasher);
        // Convert the upper 32 bits to a number from 0 to 1.
        let number = f64::from(u32::try_from(hasher.finish() >> 32).unwrap_or(u32::MAX));
        number / f64::from(u32::MAX) < share
    }

    /// Returns the admitted share of tasks that expire in the time `left`; 1 or more admits all.
    fn share(&self, left: Duration) -> f64 {
        let limit = (self.capacity * left.as_secs_f64()).min(self.most_held);
        let usual = self.factor * self.capacity;
        let rate = usual + (limit - self.held) / APPROACH;
        match self.arrivals > 0.0 {
            true => rate.max(usual * LEAST) / self.arrivals,
            false => 1.0,
        }
    }
}

/// Exact up to 2^53.
fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
