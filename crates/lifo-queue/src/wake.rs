//! Wake-up requests: rules 1 and 9 of the wake-up protocol.
//!
//! After a task becomes PENDING and due, at least one of these holds (W1): a processor is active
//! and reads the index again, a notification is in flight, or the sweep sends one. In a burst of N
//! inserts, the number of notifications is proportional to activations, not to N (W3). The entire
//! protocol is model-checked in `tests/model`. `docs/explanation/wake-protocol.md` lists its rules.

use std::sync::Arc;
use std::time::Duration;

use crate::notify::{Notification, Notifier, NotifyError, WakeReason};
use crate::store::{QueueStore, StoreError, Written};
use crate::time::Clock;

#[derive(Clone)]
pub struct Waker {
    store: Arc<dyn QueueStore>,
    notifier: Arc<dyn Notifier>,
    clock: Arc<dyn Clock>,
    marker: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    Published,
    /// A processor is active, and reads the index again before it ends.
    AlreadyAwake,
    /// Another event's notification is in flight.
    AlreadyNotified,
    /// The queue is paused. The sweep wakes it afterward.
    Paused,
}

/// The wake-up may be lost. The caller must fail so that its event is redelivered.
#[derive(Debug, thiserror::Error)]
pub enum WakeError {
    #[error("the wake-up was not requested")]
    Store(#[from] StoreError),
    #[error("the wake-up was requested but not published")]
    Notify(#[from] NotifyError),
}

impl Waker {
    /// Creates a waker. `marker` is the lifetime of the start marker: about the time from a
    /// notification to a processor's start. It suppresses other events' notifications (rule 9).
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

    /// Requests one wake-up. Called once per stream batch, tail call, late return, sweep or
    /// operator command.
    ///
    /// The request is counted first and unconditionally. A processor that is about to end sees the
    /// new number and reads the index again. The sweep publishes even if another event's marker is
    /// set (rule 8), because that event's notification may be lost. `event` identifies the caller's
    /// event. A retry of the same event can publish again, because its first publish may have
    /// failed.
    ///
    /// # Errors
    /// [`WakeError`]: the event must be redelivered.
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
