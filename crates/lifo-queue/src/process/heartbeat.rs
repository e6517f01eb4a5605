//! Keeps the processor lease (rule 2): renews it at every beat, tells when it is lost, and
//! brings what operators wrote to the control item meanwhile.

use std::sync::Arc;
use std::time::Duration;

use aws::error_chain;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tracing::Instrument;
use uuid::Uuid;

use super::breaker::SharedBreaker;
use super::settings::ProcessSettings;
use crate::control::{Control, Renewal, Renewed};
use crate::store::QueueStore;
use crate::time::{Clock, Millis};
use crate::trace;

/// What is known of the lease.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "one value a heartbeat")]
enum Held {
    /// Ours until then, at least; and the control item as it was then.
    Until(Millis, Control),
    /// Another's.
    Lost,
}

/// Whose the processor lease is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeaseState {
    /// Ours.
    Ours,
    /// Ours, but the queue was paused.
    Paused,
    /// Not renewed in time: perhaps free, so no processor may be active.
    RanOut,
    /// Another's, who looks again before it rests.
    Others,
}

pub(super) struct Heartbeat {
    tell: watch::Sender<Held>,
    held: watch::Receiver<Held>,
    beats: JoinHandle<()>,
}

/// How to beat.
pub(super) struct Beat {
    pub(super) store: Arc<dyn QueueStore>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) owner: Uuid,
    pub(super) lease: Duration,
    pub(super) interval: Duration,
    /// Its state goes into the control item with each renewal.
    pub(super) breaker: SharedBreaker,
    /// And this.
    pub(super) overloaded_since: watch::Receiver<Option<Millis>>,
}

impl Heartbeat {
    /// Starts to beat; the lease was acquired until `until`, when the item was `control`.
    pub(super) fn start(beat: Beat, until: Millis, control: Control) -> Self {
        let (tell, held) = watch::channel(Held::Until(until, control));
        let sender = tell.clone();
        let beats = trace::inherited(async move { beat.run(&sender).await });
        let beats = tokio::spawn(beats.in_current_span());
        Self { tell, held, beats }
    }

    /// What is known of the lease now. A renewal that got no answer is tried again at the next
    /// beat; until then the lease is ours only until it expires.
    pub(super) fn lease(&self, now: Millis) -> LeaseState {
        match &*self.held.borrow() {
            Held::Until(until, _) if *until <= now => LeaseState::RanOut,
            Held::Until(_, control) if control.is_paused(now) => LeaseState::Paused,
            Held::Until(..) => LeaseState::Ours,
            Held::Lost => LeaseState::Others,
        }
    }

    /// The lower bound on `taskCreated`, by what is known of redriven tasks. `reach`: the queue is
    /// overloaded, and older tasks do not start.
    pub(super) fn created_from(
        &self,
        settings: &ProcessSettings,
        reach: Option<Duration>,
        now: Millis,
    ) -> Option<Millis> {
        match &*self.held.borrow() {
            Held::Until(_, control) => {
                let newest = reach.map(|reach| control.created_bound(reach, now));
                let expiry = settings.expiry_bound;
                newest.max(control.created_from(expiry, settings.clock_skew, now))
            }
            Held::Lost => None,
        }
    }

    /// Lets the breaker obey the operators' commands that the control item brought.
    pub(super) fn command(&self, breaker: &SharedBreaker, now: Millis) {
        if let Held::Until(_, control) = &*self.held.borrow() {
            breaker.lock().obey(control, now);
        }
    }

    /// Takes in the control item as another call brought it.
    pub(super) fn learn(&self, control: Control) {
        self.tell.send_modify(|held| {
            if let Held::Until(_, known) = held {
                *known = control;
            }
        });
    }

    /// Returns when a beat has brought something new: the control item, or the loss of the lease.
    pub(super) async fn changed(&mut self) {
        if self.held.changed().await.is_err() {
            // The beats ended without a loss, which only `stop` makes them do.
            std::future::pending::<()>().await;
        }
    }

    /// Stops beating, and returns when no renewal is under way any more: no work after the
    /// handler returns.
    pub(super) async fn stop(mut self) {
        self.beats.abort();
        // Its only errors are the abort just asked for and a panic, after either of which no
        // renewal is under way.
        let _ended = (&mut self.beats).await;
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.beats.abort();
    }
}

impl Beat {
    async fn run(&self, tell: &watch::Sender<Held>) {
        loop {
            tokio::time::sleep(self.interval).await;
            let until = self.clock.now().plus(self.lease);
            let renewal = Renewal {
                owner: self.owner,
                until,
                breaker: self.breaker.lock().state(),
                overloaded_since: *self.overloaded_since.borrow(),
            };
            match self.store.renew(&renewal).await {
                Ok(Renewed::Ours(control)) => drop(tell.send_replace(Held::Until(until, control))),
                Ok(Renewed::Lost) => {
                    tracing::warn!(owner = %self.owner, "the processor lease is another's now");
                    tell.send_replace(Held::Lost);
                    return;
                }
                Err(error) => {
                    let error = error_chain::chain(&error);
                    tracing::warn!(owner = %self.owner, error, "lease not renewed, will try again");
                }
            }
        }
    }
}
