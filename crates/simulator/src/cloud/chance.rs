//! The seeded fault generator.

use std::sync::Mutex;
use std::time::Duration;

use lifo_queue::time::Millis;

use super::census::Census;
use crate::fault::{Fault, Rates};
use crate::sync::lock;

pub(crate) struct Chance {
    rng: Mutex<fastrand::Rng>,
    rates: Rates,
    /// Time from which no more faults are drawn.
    until: Millis,
    pub(crate) census: Mutex<Census>,
}

impl Chance {
    pub(crate) fn new(seed: u64, rates: Rates, until: Millis) -> Self {
        Self {
            rng: Mutex::new(fastrand::Rng::with_seed(seed)),
            rates,
            until,
            census: Mutex::default(),
        }
    }

    /// Draws each of these kinds in turn. Returns and counts the first fault that occurs, if any.
    pub(crate) fn befalls(&self, kinds: &[Fault], now: Millis) -> Option<Fault> {
        let kind = kinds.iter().copied().find(|kind| self.draw(*kind, now))?;
        self.count(kind);
        Some(kind)
    }

    /// Draws whether a fault of this kind occurs, without counting it.
    pub(crate) fn draw(&self, kind: Fault, now: Millis) -> bool {
        let rate = self.rates.of(kind);
        rate > 0.0 && now < self.until && lock(&self.rng).f64() < rate
    }

    /// Draws a duration from `from` to `to`, inclusive, in whole milliseconds.
    pub(crate) fn between(&self, from: Duration, to: Duration) -> Duration {
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let (from, to) = (millis(from), millis(to));
        Duration::from_millis(lock(&self.rng).u64(from..=to.max(from)))
    }

    /// Draws a number from 0 to `end`, exclusive.
    pub(crate) fn below(&self, end: u32) -> u32 {
        lock(&self.rng).u32(0..end.max(1))
    }

    pub(crate) fn count(&self, kind: Fault) {
        lock(&self.census).fault(kind);
    }
}
