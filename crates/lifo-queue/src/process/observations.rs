//! Collects observations about the runs of a turn, for operators.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::sync::watch;

use super::attempt::{Attempted, End};
use super::capacity::Measured;
use super::settings::ProcessSettings;
use crate::observed::{Capacity, LastResponse, LimitSettings, LongestRun, Observed};
use crate::time::Millis;

/// Maximum number of recent runs from which the median duration is calculated.
const RUNS: usize = 50;

/// Observations of a turn, which continue the observations of the previous turn.
pub(super) struct Observations {
    observed: watch::Sender<Observed>,
    /// Durations of this turn's most recent runs, in milliseconds, oldest first.
    runs: VecDeque<u64>,
}

impl Observations {
    pub(super) fn new(left: Observed, settings: &ProcessSettings) -> Self {
        let starts = settings.rate.map(|rate| starts_per_1000_s(rate.interval));
        let observed = Observed {
            measures_overload: settings.codel.is_some(),
            limits: Some(LimitSettings {
                concurrency: settings.slots,
                starts_per_1000_s: starts,
            }),
            ..left
        };
        Self {
            observed: watch::Sender::new(observed),
            runs: VecDeque::with_capacity(RUNS),
        }
    }

    /// A receiver for the observations, used by the heartbeat.
    pub(super) fn watch(&self) -> watch::Receiver<Observed> {
        self.observed.subscribe()
    }

    pub(super) fn observed(&self) -> Observed {
        self.observed.borrow().clone()
    }

    /// Records a finished attempt.
    pub(super) fn record(&mut self, attempted: &Attempted, now: Millis) {
        // A busy downstream responds immediately, which says nothing about the duration of the work.
        let ended = matches!(attempted.end, End::Succeeded | End::Failed);
        let ran = attempted.ran.filter(|_| ended);
        let ran = ran.map(|ran| u64::try_from(ran.as_millis()).unwrap_or(u64::MAX));
        if let Some(ms) = ran {
            if self.runs.len() == RUNS {
                self.runs.pop_front();
            }
            self.runs.push_back(ms);
        }
        let median = self.median();
        self.observed.send_modify(|observed| {
            match attempted.end {
                End::Succeeded => observed.ended.count(now, false),
                End::Failed | End::Quarantined => observed.ended.count(now, true),
                End::Returned { .. } | End::LostRace | End::StoreFailed => {}
            }
            observed.median_run_ms = median.or(observed.median_run_ms);
            if let Some(ms) = ran {
                let ended = LongestRun { at: now, ms };
                observed.longest_run = Some(LongestRun::after(observed.longest_run, ended));
            }
            if let Some(text) = &attempted.reason {
                let response = LastResponse::new(now, &attempted.task, text);
                observed.last_response = Some(response);
            }
        });
    }

    /// Records the capacity measured in an interval.
    pub(super) fn measured(&mut self, measured: Measured, now: Millis) {
        let left = self.observed.borrow().capacity;
        let confirmed = left.map(|capacity| Capacity {
            at: now,
            ..capacity
        });
        let capacity = match measured {
            Measured::Spare => None,
            Measured::Open => confirmed,
            Measured::Full { concurrency, rate } => match self.mean_run() {
                Some(seconds) => {
                    #[allow(clippy::cast_precision_loss, reason = "a number of slots")]
                    let by_slots = concurrency as f64 / seconds;
                    Some(Capacity::new(by_slots.min(rate.unwrap_or(by_slots)), now))
                }
                // The runs are so long that none has ended in this turn.
                None => confirmed,
            },
        };
        if capacity != left {
            self.observed
                .send_modify(|observed| observed.capacity = capacity);
        }
    }

    /// Mean duration of the recent runs, in seconds, with a minimum of one millisecond.
    fn mean_run(&self) -> Option<f64> {
        #[allow(clippy::cast_precision_loss, reason = "milliseconds")]
        let mean = self.runs.iter().sum::<u64>() as f64 / self.runs.len() as f64;
        (!self.runs.is_empty()).then(|| (mean / 1_000.0).max(0.001))
    }

    fn median(&self) -> Option<u64> {
        let mut runs: Vec<u64> = self.runs.iter().copied().collect();
        let middle = runs.len() / 2;
        (!runs.is_empty()).then(|| *runs.select_nth_unstable(middle).1)
    }
}

/// Number of starts in 1,000 s at this interval between two starts, rounded, because the interval
/// of a rate is rarely a whole number of nanoseconds.
fn starts_per_1000_s(interval: Duration) -> u64 {
    let interval = interval.as_nanos().max(1);
    let starts = (Duration::from_secs(1_000).as_nanos() + interval / 2) / interval;
    u64::try_from(starts).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_is_shown_as_it_was_set() {
        for rate in [1, 3, 7, 19, 900] {
            let interval = Duration::from_secs(1) / rate;
            assert_eq!(starts_per_1000_s(interval), u64::from(rate) * 1_000);
        }
        assert_eq!(starts_per_1000_s(Duration::from_millis(20_000)), 50);
    }
}
