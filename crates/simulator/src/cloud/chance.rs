//! The seeded generator of faults.

use std::sync::Mutex;
use std::time::Duration;

use lifo_queue::time::Millis;

use super::census::Census;
use super::fault::{FaultKind, Rates};
use crate::sync::lock;

pub(crate) struct Chance {
    rng: Mutex<fastrand::Rng>,
    rates: Rates,
    /// Time from which no more faults are drawn.
    until: Millis,
    scripted: Mutex<Vec<Scripted>>,
    pub(crate) census: Mutex<Census>,
}

struct Scripted {
    operation: String,
    /// Number of matching calls that pass before the fault.
    after: u32,
    kind: FaultKind,
}

impl Chance {
    pub(crate) fn new(seed: u64, rates: Rates, until: Millis) -> Self {
        Self {
            rng: Mutex::new(fastrand::Rng::with_seed(seed)),
            rates,
            until,
            scripted: Mutex::default(),
            census: Mutex::default(),
        }
    }

    /// Injects the fault `kind` into the `nth` call of `operation` from now on.
    pub(crate) fn script(&self, operation: impl Into<String>, nth: u32, kind: FaultKind) {
        let scripted = Scripted {
            operation: operation.into(),
            after: nth.saturating_sub(1),
            kind,
        };
        lock(&self.scripted).push(scripted);
    }

    /// The fault of this call of `operation`, if any: a scripted one of these kinds, or else the
    /// first one drawn.
    pub(crate) fn befalls(
        &self,
        operation: &str,
        kinds: &[FaultKind],
        now: Millis,
    ) -> Option<FaultKind> {
        let kind = self.scripted(operation, kinds);
        let kind = kind.or_else(|| kinds.iter().copied().find(|kind| self.draw(*kind, now)))?;
        self.count(kind);
        Some(kind)
    }

    /// Whether a scripted kill applies to this call of `operation`.
    pub(crate) fn is_killed(&self, operation: &str) -> bool {
        self.scripted(operation, &[FaultKind::KilledAtCall])
            .is_some()
    }

    fn scripted(&self, operation: &str, kinds: &[FaultKind]) -> Option<FaultKind> {
        let mut scripted = lock(&self.scripted);
        let mut hit = None;
        for (place, fault) in scripted.iter_mut().enumerate() {
            if fault.operation != operation || !kinds.contains(&fault.kind) {
                continue;
            }
            match fault.after.checked_sub(1) {
                Some(left) => fault.after = left,
                None => hit = hit.or(Some(place)),
            }
        }
        hit.map(|place| scripted.remove(place).kind)
    }

    /// Draws whether a fault of this kind occurs. Does not count it.
    pub(crate) fn draw(&self, kind: FaultKind, now: Millis) -> bool {
        let rate = self.rates.of(kind);
        rate > 0.0 && now < self.until && lock(&self.rng).f64() < rate
    }

    /// A random duration from `from` to `to` inclusive, in whole milliseconds.
    pub(crate) fn between(&self, from: Duration, to: Duration) -> Duration {
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let (from, to) = (millis(from), millis(to));
        Duration::from_millis(lock(&self.rng).u64(from..=to.max(from)))
    }

    /// A random number from 0, below `end`.
    pub(crate) fn below(&self, end: u32) -> u32 {
        lock(&self.rng).u32(0..end.max(1))
    }

    pub(crate) fn count(&self, kind: FaultKind) {
        lock(&self.census).fault(kind);
    }
}
