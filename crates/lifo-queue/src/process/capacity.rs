//! Measures the downstream's capacity for ingest admission: the runs per second that the downstream
//! can handle, measured while no slot is free. The number of completed runs does not show the
//! capacity, because at low load it equals the number of arrivals.

use std::time::Duration;

use crate::time::Millis;

/// Maximum share of an interval for which a slot may be free if the interval counts as full.
const FREE: f64 = 0.1;

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
