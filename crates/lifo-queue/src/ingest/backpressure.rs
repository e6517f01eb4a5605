//! Keeps the ingest newest first while the table throttles.
//!
//! The backlog of a storm is in SQS, which delivers roughly in the order of arrival. If every write
//! were retried until it succeeds, new messages would wait behind all older ones. Therefore:
//!
//! - a throttled write of a new message is retried for [`PATIENCE`];
//! - an old message is written only if the table accepts it immediately. After any throttled write, this
//!   process writes no old messages for half a second to a second ([`PAUSE`]). So the table's
//!   throughput goes to new messages first, and old ones use what is left;
//! - a message that was not written for this reason becomes visible again after [`POSTPONED`].
//!   Until then, SQS delivers the messages behind it, and the storm may end.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::Delivery;
use crate::backoff::Backoff;

/// Maximum time from sending to the first receive of a message that counts as new.
const NEW: Duration = Duration::from_secs(1);
/// Time for which throttled writes of a new message are retried.
const PATIENCE: Duration = Duration::from_secs(1);
/// Maximum time without writes of old messages after a throttled write. The actual time is random,
/// from half of the maximum, so that the ingest processes do not resume simultaneously.
const PAUSE: Duration = Duration::from_secs(1);
/// Maximum visibility timeout of a message after its first receive. It doubles with each receive,
/// up to the configured limit. The actual timeout is random, from half of the maximum to the
/// maximum. Two to three receives per message suffice in a burst of 100,000 (`make simulate`).
const POSTPONED: Duration = Duration::from_secs(30);

/// Whether the table recently throttled this process.
#[derive(Debug, Default)]
pub(super) struct Backpressure(Mutex<Option<Instant>>);

impl Backpressure {
    /// Records that the table just throttled a write.
    pub(super) fn throttled(&self) {
        let end = Instant::now() + PAUSE.mul_f64(0.5 + 0.5 * fastrand::f64());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(end);
    }

    /// Whether old messages have to wait.
    pub(super) fn is_on(&self) -> bool {
        let end = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        end.is_some_and(|end| Instant::now() < end)
    }
}

/// Time until which throttled writes of this message are retried; `None` for an old message.
///
/// Only the time before the first receive counts, so that a batch window doesn't make messages old.
pub(super) fn patience(message: &Delivery) -> Option<Instant> {
    is_new(message).then(|| Instant::now() + PATIENCE)
}

/// Whether the message may be written although the table throttles.
pub(super) fn is_new(message: &Delivery) -> bool {
    is_first(message) && message.first_received.since(message.sent) <= NEW
}

/// Whether the message is old at its first receive, so that the queue has a backlog.
pub(super) fn is_late(message: &Delivery) -> bool {
    is_first(message) && !is_new(message)
}

fn is_first(message: &Delivery) -> bool {
    message.receives <= 1
}

/// The backoff of a message that was not written because the table throttled the write.
pub(super) fn postponement(visibility: Backoff) -> Backoff {
    Backoff {
        base: visibility.base.max(POSTPONED),
        max: visibility.max,
    }
}
