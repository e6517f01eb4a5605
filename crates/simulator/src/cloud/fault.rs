//! What may go wrong, how often, and the seeded generator that decides.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lifo_queue::time::Millis;

use super::census::Census;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultKind {
    /// A call to the table is throttled.
    Throttled,
    /// A call to the table fails with a fault on the other side (500).
    Unavailable,
    /// A write meets a transaction on the same item.
    TransactionConflict,
    /// A call to the table is carried out, and its answer is lost.
    LostAck,
    /// The caller of a table request times out, and the request is executed seconds later.
    LateWrite,
    /// A call to the table takes seconds.
    Latency,
    /// A process has no answer from the table for a while.
    Partition,
    /// Part of a batch comes back unprocessed.
    PartialBatch,
    /// A write shows in the index only after a while, within the lag that is configured.
    StaleIndex,
    /// A write shows in the index later than that.
    StaleBeyondLag,
    /// A publish is rejected.
    PublishRefused,
    /// A publish is carried out, and its answer is lost.
    PublishUnanswered,
    /// A notification is lost.
    NotificationLost,
    /// A notification is delivered twice.
    NotificationDuplicated,
    /// A notification is delivered late.
    NotificationDelayed,
    /// A notification was overtaken by a later one: the outcome of delays.
    NotificationReordered,
    /// A stream record arrives late.
    StreamDelayed,
    /// A batch of the stream is delivered again though it succeeded.
    BatchRepeated,
    /// A batch failed and was cut in two: the outcome of other faults.
    BatchBisected,
    /// Records of the stream were skipped after their retries: the outcome of other faults.
    RecordsGivenUp,
    /// An asynchronous event waited because the function's concurrency was used up.
    EventThrottled,
    /// An asynchronous event was tried again.
    EventRetried,
    /// An asynchronous event was discarded after its retries: the outcome of other faults.
    EventDiscarded,
    /// A process died at one of its calls.
    KilledAtCall,
    /// A process died at some other moment.
    KilledAtRandom,
    /// A task killed its process.
    KilledByTask,
    /// The platform ended an invocation at its deadline.
    DeadlinePassed,
    /// A process' clock was wrong by more than half a second.
    ClockSkew,
}

impl FaultKind {
    /// Every kind.
    pub const ALL: [Self; 28] = [
        Self::Throttled,
        Self::Unavailable,
        Self::TransactionConflict,
        Self::LostAck,
        Self::LateWrite,
        Self::Latency,
        Self::Partition,
        Self::PartialBatch,
        Self::StaleIndex,
        Self::StaleBeyondLag,
        Self::PublishRefused,
        Self::PublishUnanswered,
        Self::NotificationLost,
        Self::NotificationDuplicated,
        Self::NotificationDelayed,
        Self::NotificationReordered,
        Self::StreamDelayed,
        Self::BatchRepeated,
        Self::BatchBisected,
        Self::RecordsGivenUp,
        Self::EventThrottled,
        Self::EventRetried,
        Self::EventDiscarded,
        Self::KilledAtCall,
        Self::KilledAtRandom,
        Self::KilledByTask,
        Self::DeadlinePassed,
        Self::ClockSkew,
    ];
}

/// How often each kind of fault befalls what it can befall, from 0 to 1. Kinds that are the
/// outcome of others have no rate.
#[derive(Clone, Debug)]
pub struct Rates([f64; FaultKind::ALL.len()]);

impl Rates {
    /// Nothing goes wrong.
    #[must_use]
    pub fn none() -> Self {
        Self([0.0; FaultKind::ALL.len()])
    }

    /// The same, with this kind at this rate.
    #[must_use]
    pub fn with(mut self, kind: FaultKind, rate: f64) -> Self {
        self.0[kind as usize] = rate;
        self
    }

    /// How often this kind befalls.
    #[must_use]
    pub fn of(&self, kind: FaultKind) -> f64 {
        self.0[kind as usize]
    }
}

/// Decides, from a seed, and counts what it decided.
pub(crate) struct Chance {
    rng: Mutex<fastrand::Rng>,
    rates: Rates,
    /// From then on nothing goes wrong by chance.
    until: Millis,
    scripted: Mutex<Vec<Scripted>>,
    pub(crate) census: Mutex<Census>,
}

/// A fault that a test asked for.
struct Scripted {
    operation: String,
    /// Calls that pass before it.
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

    /// Lets `kind` befall the `nth` call of `operation` from now on.
    pub(crate) fn script(&self, operation: impl Into<String>, nth: u32, kind: FaultKind) {
        let scripted = Scripted {
            operation: operation.into(),
            after: nth.saturating_sub(1),
            kind,
        };
        lock(&self.scripted).push(scripted);
    }

    /// The first of these kinds that befalls `operation` now: one that was scripted, or one
    /// drawn.
    pub(crate) fn befalls(
        &self,
        operation: &str,
        kinds: &[FaultKind],
        now: Millis,
    ) -> Option<FaultKind> {
        let kind = self.scripted("", operation, kinds);
        let kind = kind.or_else(|| kinds.iter().copied().find(|kind| self.draw(*kind, now)))?;
        self.count(kind);
        Some(kind)
    }

    /// A kill that was scripted for this moment of `operation`.
    pub(crate) fn is_killed(&self, moment: &str, operation: &str) -> bool {
        self.scripted(moment, operation, &[FaultKind::KilledAtCall])
            .is_some()
    }

    fn scripted(&self, moment: &str, operation: &str, kinds: &[FaultKind]) -> Option<FaultKind> {
        let mut scripted = lock(&self.scripted);
        let mut hit = None;
        for (place, fault) in scripted.iter_mut().enumerate() {
            let meant = fault.operation.strip_prefix(moment) == Some(operation);
            if !meant || !kinds.contains(&fault.kind) {
                continue;
            }
            match fault.after.checked_sub(1) {
                Some(left) => fault.after = left,
                None => hit = hit.or(Some(place)),
            }
        }
        hit.map(|place| scripted.remove(place).kind)
    }

    /// Whether this kind befalls now, by chance alone and uncounted.
    pub(crate) fn draw(&self, kind: FaultKind, now: Millis) -> bool {
        let rate = self.rates.of(kind);
        rate > 0.0 && now < self.until && lock(&self.rng).f64() < rate
    }

    /// A duration from `from` up to `to`, in whole milliseconds.
    pub(crate) fn between(&self, from: Duration, to: Duration) -> Duration {
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let (from, to) = (millis(from), millis(to));
        Duration::from_millis(lock(&self.rng).u64(from..=to.max(from)))
    }

    /// A number below `end`.
    pub(crate) fn below(&self, end: u32) -> u32 {
        lock(&self.rng).u32(0..end.max(1))
    }

    pub(crate) fn count(&self, kind: FaultKind) {
        lock(&self.census).fault(kind);
    }
}

/// Nothing that is locked here is ever half-way changed when a panic passes.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
