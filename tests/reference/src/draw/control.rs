//! Draws operations of processors and triggers on the control item.

use lifo_queue::control::{Claim, IdleTurns, OpenBreaker, Release, Renewal};
use lifo_queue::observed::{LastResponse, Observed};
use lifo_queue::task::TaskId;
use lifo_queue::time::Millis;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use uuid::Uuid;

use super::{around, moment};
use crate::machine::Machine;
use crate::operation::Operation;

/// Duration of a processor lease, in milliseconds.
const LEASE: i64 = 10_000;

/// One of three owners, preferably the current one.
fn owner(machine: &Machine) -> BoxedStrategy<Uuid> {
    let any = (1..4_u128).prop_map(Uuid::from_u128);
    match &machine.queue.control.lease {
        None => any.boxed(),
        Some(lease) => prop_oneof![Just(lease.owner), any].boxed(),
    }
}

/// A marker by one of three events.
pub(super) fn mark(machine: &Machine) -> BoxedStrategy<Operation> {
    let any = select(&["e1", "e2", "e3"][..]).prop_map(str::to_owned);
    let event = match machine.queue.control.notified_by.clone() {
        None => any.boxed(),
        Some(there) => prop_oneof![1 => Just(there), 2 => any].boxed(),
    };
    (event, around(machine, 1_000..10_000), moment(machine))
        .prop_map(|(event, until, now)| Operation::Mark { event, until, now })
        .boxed()
}

pub(super) fn acquire(machine: &Machine) -> BoxedStrategy<Operation> {
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

pub(super) fn renew(machine: &Machine) -> BoxedStrategy<Operation> {
    let overload = option::of(around(machine, -60_000..0));
    (
        owner(machine),
        around(machine, 0..LEASE),
        breaker(machine),
        overload,
        observed(machine),
        option::of(around(machine, 0..LEASE)),
    )
        .prop_map(
            |(owner, until, breaker, overloaded_since, observed, rate)| {
                Operation::Renew(Renewal {
                    owner,
                    until,
                    rate_full_at: rate,
                    breaker,
                    overloaded_since,
                    observed,
                })
            },
        )
        .boxed()
}

/// Observations of a turn without runs, or of one whose task failed.
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

/// A circuit breaker: closed, or open for up to a minute.
fn breaker(machine: &Machine) -> BoxedStrategy<Option<OpenBreaker>> {
    let open = (around(machine, -60_000..0), 0..100_u32);
    option::of(open.prop_map(|(since, probes)| OpenBreaker { since, probes })).boxed()
}

/// A release, without a condition or if `requested` has a value: the current one, one less or one
/// more.
pub(super) fn release(machine: &Machine) -> BoxedStrategy<Operation> {
    let requested = machine.queue.control.requested;
    let seen = prop_oneof![
        1 => Just(None),
        2 => Just(Some(requested)),
        1 => Just(Some(requested.saturating_sub(1))),
        1 => Just(Some(requested + 1)),
    ];
    let idle = select(&[IdleTurns::Reset, IdleTurns::Add, IdleTurns::Keep][..]);
    let rate = option::of(around(machine, 0..60_000));
    (
        owner(machine),
        seen,
        idle,
        any::<bool>(),
        rate,
        (
            breaker(machine),
            option::of(around(machine, -60_000..0)),
            observed(machine),
        ),
    )
        .prop_map(
            |(owner, if_requested_is, idle_turns, recovered, rate_full_at, load)| {
                let (breaker, overloaded_since, observed) = load;
                Operation::Release(Release {
                    owner,
                    if_requested_is,
                    idle_turns,
                    recovered,
                    rate_full_at,
                    breaker,
                    overloaded_since,
                    observed,
                })
            },
        )
        .boxed()
}
