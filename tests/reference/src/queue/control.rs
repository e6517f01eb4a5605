//! The control item, following the rules of `docs/explanation/wake-protocol.md`.

use lifo_queue::control::{
    Acquired, Carried, Cause, Claim, Health, IdleTurns, OpenBreaker, Pause, ProcessorLease,
    Release, Released, Renewal, Renewed,
};
use lifo_queue::observed::{LastResponse, Observed};
use lifo_queue::task::TaskId;
use lifo_queue::time::Millis;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use uuid::Uuid;

use super::{ReferenceQueue, done, kept, lost};
use crate::answer::Answer;
use crate::draw::{Drawn, around, moment};
use crate::machine::Machine;
use crate::operation::{Operation, Rule};

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

    pub(super) fn control(&self) -> (Answer, Rule) {
        (Answer::Control(self.control.clone()), Rule::Look)
    }

    /// Rule 9: sets the start marker, unless another event's marker is live. The same event can set
    /// it again.
    pub(super) fn mark_notified(
        &mut self,
        event: &str,
        until: Millis,
        now: Millis,
    ) -> (Answer, Rule) {
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
    /// is not paused. The answer is the item before the write, whose lease is not compared. The
    /// claim stores the worst case for the rate limit's bucket until the holder writes a better
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

    /// Rule 2: extends the owner's lease, even if it has expired.
    pub(super) fn renew(&mut self, renewal: &Renewal) -> (Answer, Rule) {
        match &mut self.control.lease {
            Some(lease) if lease.owner == renewal.owner => {
                lease.until = renewal.until;
                self.carry(&renewal.carried);
                let renewed = Renewed::Ours(self.control.clone());
                (Answer::Renewed(renewed), Rule::Renew)
            }
            _ => (Answer::Renewed(Renewed::Lost), Rule::RenewLost),
        }
    }

    /// Rules 5 and 6: releases the owner's lease. A conditional release is lost if a request
    /// followed. Rule 10: counts turns without a settled task.
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
        self.carry(&release.carried);
        let idle_turns = self.control.idle_turns;
        (Answer::Released(Released::Done { idle_turns }), rule)
    }

    fn carry(&mut self, carried: &Carried) {
        self.control.breaker = carried.breaker;
        self.control.health = carried.health;
        self.control.overloaded_since = carried.overloaded_since;
        self.control.observed = carried.observed.clone();
        if carried.rate_full_at.is_some() {
            self.control.rate_full_at = carried.rate_full_at;
        }
    }

    /// Pauses the queue, without shortening a pause.
    pub(super) fn pause(&mut self, pause: &Pause) -> (Answer, Rule) {
        if let Some(there) = self.control.paused_until
            && there >= pause.until
        {
            return lost(Rule::PauseShorter);
        }
        self.control.paused_until = Some(pause.until);
        self.control.pause_reason = Some(kept(&pause.reason));
        self.control.paused_by = pause.by.clone();
        done(Rule::Pause)
    }
}

pub(crate) fn drawn(machine: &Machine) -> Drawn {
    vec![
        (2, Just(Operation::Request).boxed()),
        (5, mark(machine)),
        (1, Just(Operation::Look).boxed()),
        (6, acquire(machine)),
        (3, renew(machine)),
        (5, release(machine)),
    ]
}

/// Duration of a processor lease, in milliseconds.
const LEASE: i64 = 10_000;

/// Draws one of three owners, preferably the current one.
fn owner(machine: &Machine) -> BoxedStrategy<Uuid> {
    let any = (1..4_u128).prop_map(Uuid::from_u128);
    match &machine.queue.control.lease {
        None => any.boxed(),
        Some(lease) => prop_oneof![Just(lease.owner), any].boxed(),
    }
}

/// Draws a marker by one of three events.
fn mark(machine: &Machine) -> BoxedStrategy<Operation> {
    let any = select(&["e1", "e2", "e3"][..]).prop_map(str::to_owned);
    let event = match machine.queue.control.notified_by.clone() {
        None => any.boxed(),
        Some(there) => prop_oneof![1 => Just(there), 2 => any].boxed(),
    };
    (event, around(machine, 1_000..10_000), moment(machine))
        .prop_map(|(event, until, now)| Operation::Mark { event, until, now })
        .boxed()
}

fn acquire(machine: &Machine) -> BoxedStrategy<Operation> {
    let rate = option::of(around(machine, 0..60_000));
    let message = select(&["m1", "m2"][..]);
    let now = match &machine.queue.control.lease {
        None => moment(machine),
        Some(lease) => prop_oneof![2 => moment(machine), 1 => Just(lease.until)].boxed(),
    };
    (owner(machine), message, rate, now)
        .prop_map(|(owner, message, rate_full_at, now)| {
            let claim = Claim {
                owner,
                message_id: message.to_owned(),
                until: Millis(now.0 + LEASE),
                rate_full_at,
            };
            Operation::Acquire { claim, now }
        })
        .boxed()
}

fn renew(machine: &Machine) -> BoxedStrategy<Operation> {
    (owner(machine), around(machine, 0..LEASE), carried(machine))
        .prop_map(|(owner, until, carried)| {
            Operation::Renew(Renewal {
                owner,
                until,
                carried,
            })
        })
        .boxed()
}

/// Draws the state that a processor leaves.
fn carried(machine: &Machine) -> BoxedStrategy<Carried> {
    let overload = option::of(around(machine, -60_000..0));
    let asked = option::of(around(machine, 0..60_000));
    (
        breaker(machine),
        overload,
        observed(machine),
        option::of(around(machine, 0..60_000)),
        asked,
        0..9_u32,
    )
        .prop_map(
            |(breaker, overloaded_since, observed, rate_full_at, asked_until, without_result)| {
                Carried {
                    breaker,
                    health: Health {
                        without_result,
                        cause: asked_until.map(|_| Cause::Busy),
                        asked_until,
                        limit: (without_result > 4).then_some(7),
                        ..Health::default()
                    },
                    overloaded_since,
                    observed,
                    rate_full_at,
                }
            },
        )
        .boxed()
}

/// Draws observations from a turn without runs, or from a turn whose task failed.
fn observed(machine: &Machine) -> BoxedStrategy<Observed> {
    let failed = around(machine, -60_000..0).prop_map(|at| {
        let mut observed = Observed {
            median_run_ms: Some(120),
            last_response: Some(LastResponse::new(at, &TaskId::from_stored("a"), "HTTP 500")),
            ..Observed::default()
        };
        observed.ended.count(at, true);
        observed
    });
    prop_oneof![Just(Observed::default()), failed].boxed()
}

/// Draws a circuit breaker that is closed or open for up to a minute.
fn breaker(machine: &Machine) -> BoxedStrategy<Option<OpenBreaker>> {
    let open = (around(machine, -60_000..0), 0..100_u32);
    option::of(open.prop_map(|(since, probes)| OpenBreaker { since, probes })).boxed()
}

/// Draws a release, either unconditional or conditional on a value of `requested`: the current one,
/// one less or one more.
fn release(machine: &Machine) -> BoxedStrategy<Operation> {
    let requested = machine.queue.control.requested;
    let seen = prop_oneof![
        1 => Just(None),
        2 => Just(Some(requested)),
        1 => Just(Some(requested.saturating_sub(1))),
        1 => Just(Some(requested + 1)),
    ];
    let idle = select(&[IdleTurns::Reset, IdleTurns::Add, IdleTurns::Keep][..]);
    (owner(machine), seen, idle, carried(machine))
        .prop_map(|(owner, if_requested_is, idle_turns, carried)| {
            Operation::Release(Release {
                owner,
                if_requested_is,
                idle_turns,
                carried,
            })
        })
        .boxed()
}
