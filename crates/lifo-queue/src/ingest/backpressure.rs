//! What the ingest does while the table throttles: it stays newest first.
//!
//! The backlog of a storm stands in SQS, which delivers in about the order of arrival. If every
//! write were repeated until it succeeds, new messages would wait behind all older ones. Therefore:
//!
//! - a throttled write of a new message is repeated for [`PATIENCE`];
//! - an old message is written only if the table accepts it immediately. After any throttled write, this
//!   process writes no old messages for half a second to a second ([`PAUSE`]). So the table's
//!   throughput goes to new messages first, and old ones use what is left;
//! - a message that was not written for this reason returns after [`POSTPONED`]. It makes room for
//!   the messages behind it, and is received again when the storm may be over.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::Delivery;
use crate::backoff::Backoff;

/// The longest time in the queue after which a message is new at its first receive.
const NEW: Duration = Duration::from_secs(1);
/// Time for which throttled writes of a new message are repeated.
const PATIENCE: Duration = Duration::from_secs(1);
/// The longest time without writes of old messages after a throttled write; half of it is the
/// shortest. It is random, so that the processes of an ingest do not begin together.
const PAUSE: Duration = Duration::from_secs(1);
/// Upper bound of the visibility timeout of a message after its first receive. It doubles with each
/// receive, up to the limit of the setting; the timeout is random, from half of the bound to the
/// bound. Two to three receives per message suffice in a burst of 100,000 (`make simulate`).
const POSTPONED: Duration = Duration::from_secs(30);

/// Whether the table throttled this process a moment ago.
#[derive(Debug, Default)]
pub(super) struct Backpressure(Mutex<Option<Instant>>);

impl Backpressure {
    /// Records that the table throttled a write now.
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

/// Until when throttled writes of this message are repeated; `None` for an old message.
///
/// The time in the queue ends with the first receive, so that a batch window makes no message old.
pub(super) fn patience(message: &Delivery) -> Option<Instant> {
    let is_new = message.receives <= 1 && message.first_received.since(message.sent) <= NEW;
    is_new.then(|| Instant::now() + PATIENCE)
}

/// The backoff of a message that was not written because the table throttled.
pub(super) fn postponement(visibility: Backoff) -> Backoff {
    Backoff {
        base: visibility.base.max(POSTPONED),
        max: visibility.max,
    }
}
