//! Collects observations about the runs of a turn, for operators, and measures the downstream's
//! capacity for ingest admission: the runs per second that the downstream can handle, measured
//! while no slot is free. The number of completed runs does not show the capacity, because at low
//! load it equals the number of arrivals.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::sync::watch;

use super::attempt::{Attempted, End};
use super::settings::ProcessSettings;
use crate::observed::{Capacity, LastResponse, LimitSettings, LongestRun, Observed};
use crate::time::Millis;

/// Maximum number of recent runs from which the median duration is calculated.
const RUNS: usize = 50;

/// Maximum share of an interval for which a slot may be free if the interval counts as full.
const FREE: f64 = 0.1;

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

/// Time for which a slot was free because no task could start.
#[derive(Debug)]
pub(super) struct FreeTime {
    /// Start of the interval.
    since: Millis,
    free: Duration,
    free_since: Option<Millis>,
}

/// Result of measuring the capacity over an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Measured {
    /// A slot was free, so the capacity is unknown but exceeds the load.
    Spare,
    /// No slot was free. Contains the limits on concurrent tasks and on starts per second.
    Full {
        concurrency: usize,
        rate: Option<f64>,
    },
    /// The circuit breaker is open, so the last measured capacity applies.
    Open,
}

impl FreeTime {
    pub(super) fn new(now: Millis) -> Self {
        Self {
            since: now,
            free: Duration::ZERO,
            free_since: None,
        }
    }

    /// Records whether a slot is free because no task can start.
    pub(super) fn note(&mut self, is_free: bool, now: Millis) {
        match self.free_since {
            None if is_free => self.free_since = Some(now),
            Some(since) if !is_free => {
                self.free += now.since(since);
                self.free_since = None;
            }
            _ => {}
        }
    }

    /// Returns whether a slot was free and begins a new interval; `None` before the interval's end.
    pub(super) fn ended(&mut self, interval: Duration, now: Millis) -> Option<bool> {
        let passed = now.since(self.since);
        if passed < interval {
            return None;
        }
        let is_free = self.free_since.is_some();
        self.note(false, now);
        let was_free = self.free > passed.mul_f64(FREE);
        *self = Self::new(now);
        self.note(is_free, now);
        Some(was_free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(5);

    #[test]
    fn rate_is_shown_as_it_was_set() {
        for rate in [1, 3, 7, 19, 900] {
            let interval = Duration::from_secs(1) / rate;
            assert_eq!(starts_per_1000_s(interval), u64::from(rate) * 1_000);
        }
        assert_eq!(starts_per_1000_s(Duration::from_millis(20_000)), 50);
    }

    #[test]
    fn interval_counts_as_full_if_a_slot_was_free_for_a_tenth_or_less() {
        for (free_ms, expected) in [(0, false), (500, false), (501, true), (5_000, true)] {
            let mut time = FreeTime::new(Millis(1_000));
            time.note(true, Millis(2_000));
            assert_eq!(time.ended(INTERVAL, Millis(2_000)), None);
            time.note(false, Millis(2_000 + free_ms));
            assert_eq!(
                time.ended(INTERVAL, Millis(6_000)),
                Some(expected),
                "{free_ms}"
            );
            assert_eq!(time.ended(INTERVAL, Millis(11_000)), Some(false));
        }
    }

    #[test]
    fn slot_that_stays_free_counts_in_each_interval() {
        let mut time = FreeTime::new(Millis(0));
        time.note(true, Millis(4_000));
        assert_eq!(time.ended(INTERVAL, Millis(5_000)), Some(true));
        assert_eq!(time.ended(INTERVAL, Millis(10_000)), Some(true));
        time.note(false, Millis(10_100));
        assert_eq!(time.ended(INTERVAL, Millis(15_000)), Some(false));
    }
}
