//! Draws operations of operators.

use std::num::NonZeroU16;
use std::time::Duration;

use lifo_queue::control::{
    Author, BreakerHold, OperatorLimit, OperatorLimits, OperatorRate, Pause,
};
use lifo_queue::store::Redrive;
use lifo_queue::task::TaskStatus;
use proptest::option;
use proptest::prelude::*;

use super::{LIFE, around, id, ids, moment, reason};
use crate::machine::Machine;
use crate::operation::Operation;

/// A redrive, mostly of a failed task.
pub(super) fn redrive(machine: &Machine) -> BoxedStrategy<Operation> {
    let failed = ids(machine, |task| task.status == TaskStatus::Failure);
    let deadline = prop_oneof![
        3 => around(machine, LIFE..LIFE + 5_000),
        1 => around(machine, 500..5_000),
    ];
    (id(machine, failed), deadline, moment(machine))
        .prop_map(|(task, deadline, now)| {
            let expires_at = deadline.ceil_seconds();
            let redrive = Redrive { task, expires_at };
            Operation::Redrive { redrive, now }
        })
        .boxed()
}

/// A cancellation, of a pending task or of any task.
pub(super) fn cancel(machine: &Machine) -> BoxedStrategy<Operation> {
    let waiting = ids(machine, |task| task.status == TaskStatus::Pending);
    prop_oneof![id(machine, waiting), id(machine, Vec::new())]
        .prop_map(Operation::Cancel)
        .boxed()
}

/// A pause that ends before or after the current one.
pub(super) fn pause(machine: &Machine) -> BoxedStrategy<Operation> {
    let by = around(machine, 0..1_000).prop_map(|at| Author {
        name: "an operator".to_owned(),
        at,
    });
    let until = around(machine, 1_000..20_000);
    (until, reason(), any::<bool>(), option::of(by))
        .prop_map(|(until, reason, busy, by)| {
            Operation::Pause(Pause {
                until,
                reason,
                busy,
                by,
            })
        })
        .boxed()
}

/// A limit that ends before or after the current one, or no limit.
pub(super) fn limit(machine: &Machine) -> BoxedStrategy<Operation> {
    option::of(one_limit(machine))
        .prop_map(|queue| Operation::Limit(OperatorLimits { queue }))
        .boxed()
}

/// A limit that ends before or after the current one.
pub(super) fn one_limit(machine: &Machine) -> BoxedStrategy<OperatorLimit> {
    let rate = (1..10_000_000_000_u64).prop_map(|nanos| OperatorRate {
        interval: Duration::from_nanos(nanos),
    });
    let until = around(machine, 1_000..20_000);
    let at = around(machine, 0..1_000);
    let concurrency = option::of((1..200_u16).prop_map(|n| NonZeroU16::MIN.saturating_add(n)));
    let limit = (until, reason(), at, concurrency, option::of(rate));
    limit
        .prop_map(|(until, reason, at, concurrency, rate)| OperatorLimit {
            concurrency,
            rate,
            until,
            reason,
            by: Author {
                name: "an operator".to_owned(),
                at,
            },
        })
        .boxed()
}

/// A hold of the circuit breaker that ends before or after the current one.
pub(super) fn hold_breaker(machine: &Machine) -> BoxedStrategy<Operation> {
    (around(machine, 1_000..20_000), reason())
        .prop_map(|(until, reason)| Operation::HoldBreaker(BreakerHold { until, reason }))
        .boxed()
}
