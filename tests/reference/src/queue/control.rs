//! The control item, rule by rule of `docs/explanation/wake-protocol.md`.

use lifo_queue::control::{
    Acquired, Claim, IdleTurns, Pause, ProcessorLease, Release, Released, Renewal, Renewed,
};
use lifo_queue::time::Millis;
use uuid::Uuid;

use super::{ReferenceQueue, done, kept, lost};
use crate::operation::Answer;
use crate::rule::Rule;

impl ReferenceQueue {
    fn is_owner(&self, owner: Uuid) -> bool {
        let lease = self.control.lease.as_ref();
        lease.is_some_and(|lease| lease.owner == owner)
    }

    fn live_lease(&self, now: Millis) -> Option<ProcessorLease> {
        let lease = self.control.lease.clone();
        lease.filter(|lease| lease.until > now)
    }

    fn clear_mark(&mut self) {
        self.control.notified_until = None;
        self.control.notified_by = None;
    }

    /// Rule 1: adds 1 to `requested` and returns the item.
    pub(super) fn request(&mut self) -> (Answer, Rule) {
        self.control.requested += 1;
        (Answer::Control(self.control.clone()), Rule::Request)
    }

    /// Rule 9: sets the start marker, unless another event's marker is live. The same event may set
    /// it again.
    pub(super) fn mark(&mut self, event: &str, until: Millis, now: Millis) -> (Answer, Rule) {
        if self.live_lease(now).is_some() {
            return lost(Rule::MarkHeld);
        }
        let mine = self.control.notified_by.as_deref() == Some(event);
        let live = self.control.notified_until.is_some_and(|until| until > now);
        if live && !mine {
            return lost(Rule::MarkOther);
        }
        self.control.notified_until = Some(until);
        self.control.notified_by = Some(event.to_owned());
        done(if live { Rule::MarkAgain } else { Rule::Mark })
    }

    /// Rule 2: acquires the lease if it is free, has expired or is the claim's own, and the queue
    /// is not paused. The answer is the item before the write; its lease is not compared. The claim
    /// stores the worst case for the bucket of the rate limit, until the holder writes a better
    /// value.
    pub(super) fn acquire(&mut self, claim: &Claim, now: Millis) -> (Answer, Rule) {
        let mut rule = match self.control.lease {
            None => Rule::Acquire,
            Some(_) => Rule::AcquireExpired,
        };
        if self.is_owner(claim.owner) {
            rule = Rule::AcquireAgain;
        } else if let Some(lease) = self.live_lease(now) {
            return (Answer::Acquired(Acquired::Held(lease)), Rule::AcquireHeld);
        }
        if let Some(until) = self.control.paused_until
            && until > now
        {
            let paused = Answer::Acquired(Acquired::Paused(until));
            return (paused, Rule::AcquirePaused);
        }
        let mut before = self.control.clone();
        before.lease = None;
        self.control.lease = Some(ProcessorLease {
            owner: claim.owner,
            message_id: claim.message_id.clone(),
            until: claim.until,
        });
        self.clear_mark();
        if claim.rate_full_at.is_some() {
            self.control.rate_full_at = claim.rate_full_at;
        }
        (Answer::Acquired(Acquired::Ours(before)), rule)
    }

    /// Rule 2: extends the owner's lease, even an expired one.
    pub(super) fn renew(&mut self, renewal: &Renewal) -> (Answer, Rule) {
        match &mut self.control.lease {
            Some(lease) if lease.owner == renewal.owner => {
                lease.until = renewal.until;
                self.control.breaker = renewal.breaker;
                if renewal.rate_full_at.is_some() {
                    self.control.rate_full_at = renewal.rate_full_at;
                }
                self.control.overloaded_since = renewal.overloaded_since;
                self.control.observed = renewal.observed.clone();
                let renewed = Renewed::Ours(self.control.clone());
                (Answer::Renewed(renewed), Rule::Renew)
            }
            _ => (Answer::Renewed(Renewed::Lost), Rule::RenewLost),
        }
    }

    /// Rules 5 and 6: releases the owner's lease, if required only without a request since. Rule
    /// 10: counts turns that settled nothing.
    pub(super) fn release(&mut self, release: &Release) -> (Answer, Rule) {
        if !self.is_owner(release.owner) {
            return (Answer::Released(Released::NotOurs), Rule::ReleaseNotOurs);
        }
        let rule = match release.if_requested_is {
            None => Rule::Release,
            Some(seen) if seen == self.control.requested => Rule::ReleaseUnrequested,
            Some(_) => {
                let requested = Released::Requested(self.control.clone());
                return (Answer::Released(requested), Rule::ReleaseRequested);
            }
        };
        self.control.lease = None;
        self.clear_mark();
        match release.idle_turns {
            IdleTurns::Reset => self.control.idle_turns = 0,
            IdleTurns::Add => self.control.idle_turns += 1,
            IdleTurns::Keep => {}
        }
        if release.recovered {
            self.control.busy_pauses = 0;
        }
        if release.rate_full_at.is_some() {
            self.control.rate_full_at = release.rate_full_at;
        }
        self.control.breaker = release.breaker;
        self.control.overloaded_since = release.overloaded_since;
        self.control.observed = release.observed.clone();
        let idle_turns = self.control.idle_turns;
        (Answer::Released(Released::Done { idle_turns }), rule)
    }

    /// A pause is never shortened. Pauses for a busy downstream are counted.
    pub(super) fn pause(&mut self, pause: &Pause) -> (Answer, Rule) {
        if let Some(there) = self.control.paused_until
            && there >= pause.until
        {
            return lost(Rule::PauseShorter);
        }
        self.control.paused_until = Some(pause.until);
        self.control.pause_reason = Some(kept(&pause.reason));
        self.control.paused_by = pause.by.clone();
        if !pause.busy {
            return done(Rule::Pause);
        }
        self.control.busy_pauses += 1;
        done(Rule::PauseBusy)
    }
}
