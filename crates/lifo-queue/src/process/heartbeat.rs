//! Renews the processor lease at regular intervals (rule 2). Reports the loss of the lease and
//! operators' changes to the control item.

use std::sync::Arc;
use std::time::Duration;

use aws::error_chain;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tracing::Instrument;
use uuid::Uuid;

use super::health::{GroupLimits, Health, Limits, SharedDownstream};
use super::rate::RateLimit;
use super::settings::ProcessSettings;
use crate::control::{Carried, Control, GroupStates, Renewal, Renewed};
use crate::observed::Observed;
use crate::store::QueueStore;
use crate::time::{Clock, Millis};
use crate::trace;

/// The last known state of the processor lease.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "one value a heartbeat")]
enum Held {
    /// This processor owns the lease at least until this time. Also contains the control item as
    /// last read, and the rate limit whose worst case the table contains.
    Until(Millis, Control, Option<RateLimit>),
    /// Another processor owns the lease, or it is free.
    Lost,
}

/// State of the processor lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeaseState {
    /// This processor owns the lease.
    Ours,
    /// This processor owns the lease, but the queue is paused.
    Paused,
    /// The lease expired without a renewal. It is possible that no other processor is active.
    Expired,
    /// Another processor acquired the lease. It reads the index again before it ends.
    Others,
}

pub(super) struct Heartbeat {
    tell: watch::Sender<Held>,
    held: watch::Receiver<Held>,
    groups: watch::Receiver<Option<GroupStates>>,
    beats: JoinHandle<()>,
}

/// Parameters of the heartbeat.
pub(super) struct Beat {
    pub(super) store: Arc<dyn QueueStore>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) owner: Uuid,
    pub(super) lease: Duration,
    pub(super) interval: Duration,
    /// State of the downstream, which each renewal writes to the control item.
    pub(super) downstream: SharedDownstream,
    /// Start of the overload, also written by each renewal.
    pub(super) overloaded_since: watch::Receiver<Option<Millis>>,
    /// The turn's observations, also written by each renewal.
    pub(super) observed: watch::Receiver<Observed>,
    /// The configured limits, before operators' limits apply.
    pub(super) limits: Limits,
    /// Time after which the turn does not start any task.
    pub(super) last_start: Millis,
    /// Whether to read the operators' overrides of groups with each renewal.
    pub(super) reads_groups: bool,
}

impl Heartbeat {
    /// Starts renewing a lease that ends at `until`. `control` is the control item from the claim.
    pub(super) fn start(beat: Beat, until: Millis, control: Control) -> Self {
        let claimed = beat.limits.rate;
        let (tell, held) = watch::channel(Held::Until(until, control.clone(), claimed));
        let sender = tell.clone();
        let (tell_groups, groups) = watch::channel(None);
        let beats = trace::inherited(async move { beat.run(control, &sender, &tell_groups).await });
        let beats = tokio::spawn(beats.in_current_span());
        Self {
            tell,
            held,
            groups,
            beats,
        }
    }

    /// State of the lease at `now`. If a renewal failed, the next beat retries it.
    pub(super) fn lease(&self, now: Millis) -> LeaseState {
        match &*self.held.borrow() {
            Held::Until(until, ..) if *until <= now => LeaseState::Expired,
            Held::Until(_, control, _) if control.is_paused(now) => LeaseState::Paused,
            Held::Until(..) => LeaseState::Ours,
            Held::Lost => LeaseState::Others,
        }
    }

    /// The lower bound on `taskCreated` for index reads. It never hides known redriven tasks. Under
    /// overload, `reach` is the maximum age of the tasks that can start.
    pub(super) fn created_from(
        &self,
        settings: &ProcessSettings,
        reach: Option<Duration>,
        now: Millis,
    ) -> Option<Millis> {
        match &*self.held.borrow() {
            Held::Until(_, control, _) => {
                let newest = reach.map(|reach| control.created_bound(reach, now));
                let expiry = settings.expiry_bound;
                newest.max(control.created_from(expiry, settings.clock_skew, now))
            }
            Held::Lost => None,
        }
    }

    /// Passes the operators' commands in the control item to the queue's health.
    pub(super) fn command(&self, health: &mut Health, now: Millis) {
        if let Held::Until(_, control, _) = &*self.held.borrow() {
            health.obey(control, now);
        }
    }

    /// Returns the limits in effect; `None` while the table does not yet contain the worst case of
    /// their rate, so that no task may start. `setting` contains the configured limits.
    pub(super) fn limits(&self, setting: Limits, now: Millis) -> Option<Limits> {
        match &*self.held.borrow() {
            Held::Until(_, control, claimed) => {
                let limits = setting.under(control.limit(now));
                (limits.rate.is_none() || limits.rate == *claimed).then_some(limits)
            }
            Held::Lost => Some(setting),
        }
    }

    /// Time at which the operator's limit ends; `None` without such a limit.
    pub(super) fn limited_until(&self, now: Millis) -> Option<Millis> {
        match &*self.held.borrow() {
            Held::Until(_, control, _) => control.limit(now).map(|limit| limit.until),
            Held::Lost => None,
        }
    }

    /// Updates the groups with the operators' overrides, as last read. Tasks of groups with a
    /// concurrency limit can be taken only while more than half of the processor lease is left.
    pub(super) fn update_groups(&self, groups: &mut GroupLimits, lease: Duration) {
        if let Some(states) = &*self.groups.borrow() {
            groups.change(states);
        }
        if let Held::Until(until, ..) = &*self.held.borrow() {
            groups.take_until(until.minus(lease / 2));
        }
    }

    /// Stores the control item that a request other than a renewal returned.
    pub(super) fn observe(&self, control: Control) {
        self.tell.send_modify(|held| {
            if let Held::Until(_, known, _) = held {
                *known = control;
            }
        });
    }

    /// Waits until the control item is updated or the lease is lost.
    pub(super) async fn changed(&mut self) {
        if self.held.changed().await.is_err() {
            // Unreachable, because `self.tell` keeps the channel open.
            std::future::pending::<()>().await;
        }
    }

    /// Stops the heartbeat and waits until no renewal is in progress, so that no work continues
    /// after the handler returns.
    pub(super) async fn stop(mut self) {
        self.beats.abort();
        // An error means an abort or a panic. In either case, no renewal is in progress.
        let _ended = (&mut self.beats).await;
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.beats.abort();
    }
}

impl Beat {
    /// Reads the operators' overrides of groups. The next beat retries a read that failed.
    async fn read_groups(&self, tell: &watch::Sender<Option<GroupStates>>) {
        match tokio::time::timeout(self.interval, self.store.groups()).await {
            Ok(Ok(states)) => {
                tell.send_replace(Some(states));
            }
            Ok(Err(error)) => {
                let error = error_chain::chain(&error);
                tracing::warn!(error, "group overrides not read; retrying");
            }
            Err(_) => tracing::warn!("group overrides not read in time; retrying"),
        }
    }

    /// The rate limit in effect.
    fn rate(&self, control: &Control) -> Option<RateLimit> {
        let limit = control.limit(self.clock.now());
        self.limits.under(limit).rate
    }

    async fn run(
        &self,
        mut control: Control,
        tell: &watch::Sender<Held>,
        groups: &watch::Sender<Option<GroupStates>>,
    ) {
        let mut claimed = self.limits.rate;
        // An operator's rate takes effect once the table contains its worst case, so renew at once.
        let mut at_once = self.rate(&control) != claimed;
        loop {
            if !at_once {
                // Renew no later than the end of the operator's limit, so that it ends on time.
                let now = self.clock.now();
                let ends = control.limit(now).map(|limit| limit.until.since(now));
                tokio::time::sleep(ends.map_or(self.interval, |end| end.min(self.interval))).await;
            }
            let until = self.clock.now().plus(self.lease);
            let rate = self.rate(&control);
            let worst = |rate: RateLimit| rate.worst(self.last_start);
            let renewal = Renewal {
                owner: self.owner,
                until,
                carried: Carried {
                    overloaded_since: *self.overloaded_since.borrow(),
                    observed: self.observed.borrow().clone(),
                    rate_full_at: rate.filter(|_| rate != claimed).map(worst),
                    ..self.downstream.lock().carried()
                },
            };
            match self.store.renew(&renewal).await {
                Ok(Renewed::Ours(after)) => {
                    claimed = rate;
                    at_once = self.rate(&after) != claimed;
                    tell.send_replace(Held::Until(until, after.clone(), claimed));
                    control = after;
                    if self.reads_groups {
                        self.read_groups(groups).await;
                    }
                }
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
                    at_once = false;
                    tracing::warn!(owner = %self.owner, error, "lease not renewed, will try again");
                }
            }
        }
    }
}
