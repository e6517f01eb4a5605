//! Wake-up requests: rules 1 and 9 of the wake-up protocol.
//!
//! After a task became PENDING and due, either a processor is active and will look again, or a
//! notification is on its way, or the sweep sends one (W1); and a burst of N inserts wakes in
//! proportion to activations, not to N (W3). The whole protocol is model-checked in
//! `tests/model`; `docs/explanation/wake-protocol.md` lists its rules.

use std::sync::Arc;
use std::time::Duration;

use crate::notify::{Notification, Notifier, NotifyError, WakeReason};
use crate::store::{QueueStore, StoreError, Written};
use crate::time::Clock;

/// Asks for a turn of `process-tasks`.
#[derive(Clone)]
pub struct Waker {
    store: Arc<dyn QueueStore>,
    notifier: Arc<dyn Notifier>,
    clock: Arc<dyn Clock>,
    marker: Duration,
}

/// What a request for a wake-up came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// A notification was published.
    Published,
    /// A processor is active, and will look again before it rests.
    AlreadyAwake,
    /// Another event's notification is on its way.
    AlreadyNotified,
    /// The queue is paused; the sweep wakes it afterwards.
    Paused,
}

/// A wake-up that may be lost: the caller must fail, so that it is asked again.
#[derive(Debug, thiserror::Error)]
pub enum WakeError {
    /// The control item could not be read or written.
    #[error("the wake-up was not requested")]
    Store(#[from] StoreError),
    /// The notification was not published.
    #[error("the wake-up was requested but not published")]
    Notify(#[from] NotifyError),
}

impl Waker {
    /// A waker. `marker` is how long one notification holds others back (rule 9): about as long
    /// as a processor takes from the notification to its start.
    #[must_use]
    pub fn new(
        store: Arc<dyn QueueStore>,
        notifier: Arc<dyn Notifier>,
        clock: Arc<dyn Clock>,
        marker: Duration,
    ) -> Self {
        Self {
            store,
            notifier,
            clock,
            marker,
        }
    }

    /// Requests one wake-up, once per stream batch, tail call, late return or sweep.
    ///
    /// The request is counted first and unconditionally: a holder that is about to rest sees the
    /// count move and looks again. The sweep publishes whatever another event's mark says (rule
    /// 8): its notification may be lost. `event` identifies the caller's event; the same event again
    /// may publish again, because its first publish may have failed.
    ///
    /// # Errors
    /// [`WakeError`]: the event must be delivered again.
    pub async fn request(&self, event: &str, reason: WakeReason) -> Result<Wake, WakeError> {
        let control = self.store.request().await?;
        let now = self.clock.now();
        if control.live_lease(now).is_some() {
            return Ok(Wake::AlreadyAwake);
        }
        if control.is_paused(now) {
            return Ok(Wake::Paused);
        }
        let insists = reason.insists();
        if !insists && control.is_notified_by_other(event, now) {
            return Ok(Wake::AlreadyNotified);
        }
        let until = now.plus(self.marker);
        let marked = self.store.mark_notified(event, until, now).await?;
        if !insists && marked == Written::Lost {
            return Ok(Wake::AlreadyNotified);
        }
        let notification = Notification {
            reason,
            event: event.to_owned(),
            trace: None,
        };
        self.notifier.wake_processor(&notification).await?;
        Ok(Wake::Published)
    }
}
