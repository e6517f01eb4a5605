//! Keeps the processor lease (rule 2): renews it at every beat, and tells when it is lost.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::causes;
use crate::store::{QueueStore, Written};
use crate::time::{Clock, Millis};

/// What is known of the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// Ours until then, at least.
    Until(Millis),
    /// Another's.
    Lost,
}

/// Whose the processor lease is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeaseState {
    /// Ours.
    Ours,
    /// Not renewed in time: perhaps nobody's, so nobody may be awake.
    RanOut,
    /// Another's, who looks again before it rests.
    Others,
}

pub(super) struct Heartbeat {
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
}

impl Heartbeat {
    /// Starts to beat; the lease was acquired until `until`.
    pub(super) fn start(beat: Beat, until: Millis) -> Self {
        let (tell, held) = watch::channel(Held::Until(until));
        let beats = tokio::spawn(async move { beat.run(&tell).await });
        Self { held, beats }
    }

    /// What is known of the lease now. A renewal that got no answer is tried again at the next
    /// beat; meanwhile the lease is ours only until it runs out.
    pub(super) fn lease(&self, now: Millis) -> LeaseState {
        match *self.held.borrow() {
            Held::Until(until) if until > now => LeaseState::Ours,
            Held::Until(_) => LeaseState::RanOut,
            Held::Lost => LeaseState::Others,
        }
    }

    /// Returns when the lease was seen to be another's.
    pub(super) async fn lost(&mut self) {
        if self
            .held
            .wait_for(|held| *held == Held::Lost)
            .await
            .is_err()
        {
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
            match self.store.renew(self.owner, until).await {
                Ok(Written::Done) => drop(tell.send_replace(Held::Until(until))),
                Ok(Written::Lost) => {
                    tracing::warn!(owner = %self.owner, "the processor lease is another's now");
                    tell.send_replace(Held::Lost);
                    return;
                }
                Err(error) => {
                    let error = causes::chain(&error);
                    tracing::warn!(owner = %self.owner, error, "lease not renewed, will try again");
                }
            }
        }
    }
}
