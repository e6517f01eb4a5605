//! Renews the processor lease at intervals (rule 2). Reports the loss of the lease, and the
//! operators' changes to the control item.

use std::sync::Arc;
use std::time::Duration;

use aws::error_chain;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tracing::Instrument;
use uuid::Uuid;

use super::downstream::{Ledger, SharedDownstream};
use super::settings::ProcessSettings;
use crate::control::{Control, Renewal, Renewed};
use crate::observed::Observed;
use crate::store::QueueStore;
use crate::time::{Clock, Millis};
use crate::trace;

/// The last known state of the processor lease.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "one value a heartbeat")]
enum Held {
    /// This processor owns the lease at least until this time. With the control item as last read.
    Until(Millis, Control),
    /// Another processor owns the lease, or it is free.
    Lost,
}

/// State of the processor lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeaseState {
    /// This processor owns it.
    Ours,
    /// This processor owns it, but the queue is paused.
    Paused,
    /// It expired without a renewal. Possibly no other processor is active.
    RanOut,
    /// Another processor acquired it, and reads the index again before it ends.
    Others,
}

pub(super) struct Heartbeat {
    tell: watch::Sender<Held>,
    held: watch::Receiver<Held>,
    beats: JoinHandle<()>,
}

/// Parameters of the heartbeat.
pub(super) struct Beat {
    pub(super) store: Arc<dyn QueueStore>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) owner: Uuid,
    pub(super) lease: Duration,
    pub(super) interval: Duration,
    /// Each renewal writes its state to the control item.
    pub(super) downstream: SharedDownstream,
    /// Since when the queue has been overloaded; each renewal writes it too.
    pub(super) overloaded_since: watch::Receiver<Option<Millis>>,
    /// What the turn observed; each renewal writes it too.
    pub(super) observed: watch::Receiver<Observed>,
}

impl Heartbeat {
    /// Starts the heartbeat of a lease acquired until `until`. `control` is the item at that time.
    pub(super) fn start(beat: Beat, until: Millis, control: Control) -> Self {
        let (tell, held) = watch::channel(Held::Until(until, control));
        let sender = tell.clone();
        let beats = trace::inherited(async move { beat.run(&sender).await });
        let beats = tokio::spawn(beats.in_current_span());
        Self { tell, held, beats }
    }

    /// State of the lease at `now`. The next beat retries a failed renewal.
    pub(super) fn lease(&self, now: Millis) -> LeaseState {
        match &*self.held.borrow() {
            Held::Until(until, _) if *until <= now => LeaseState::RanOut,
            Held::Until(_, control) if control.is_paused(now) => LeaseState::Paused,
            Held::Until(..) => LeaseState::Ours,
            Held::Lost => LeaseState::Others,
        }
    }

    /// The lower bound on `taskCreated` for reads of the index; it never hides known redriven
    /// tasks. `reach` is set under overload: tasks older than this do not start.
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

    /// Passes the operators' commands in the control item to the ledger.
    pub(super) fn command(&self, ledger: &mut Ledger, now: Millis) {
        if let Held::Until(_, control) = &*self.held.borrow() {
            ledger.obey(control, now);
        }
    }

    /// Stores the control item that another call returned.
    pub(super) fn learn(&self, control: Control) {
        self.tell.send_modify(|held| {
            if let Held::Until(_, known) = held {
                *known = control;
            }
        });
    }

    /// Waits until the control item is updated or the lease is lost.
    pub(super) async fn changed(&mut self) {
        if self.held.changed().await.is_err() {
            // Does not happen: `self.tell` keeps the channel open.
            std::future::pending::<()>().await;
        }
    }

    /// Stops the heartbeat, and waits until no renewal is in progress: no work continues after the
    /// handler returns.
    pub(super) async fn stop(mut self) {
        self.beats.abort();
        // An error is the abort or a panic. After either of them no renewal is in progress.
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
                breaker: self.downstream.lock().queue().open_breaker(),
                overloaded_since: *self.overloaded_since.borrow(),
                observed: self.observed.borrow().clone(),
            };
            match self.store.renew(&renewal).await {
                Ok(Renewed::Ours(control)) => drop(tell.send_replace(Held::Until(until, control))),
                Ok(Renewed::Lost) => {
                    tracing::warn!(
                        owner = %self.owner,
                        "processor lease lost, probably to another processor; this turn ends"
                    );
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
