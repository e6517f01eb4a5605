//! What may go wrong, and how often.

use std::sync::{Mutex, MutexGuard, PoisonError};

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

/// Nothing that is locked here is ever half-way changed when a panic passes.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
