//! Table rows for operators: redrive, cancel, pause, resume, and the circuit breaker.

use std::num::NonZeroU16;
use std::time::Duration;

use lifo_queue::control::{
    Author, BreakerByHand, BreakerHold, OperatorLimit, OperatorLimits, OperatorRate, Pause,
    RedrivenTasks,
};
use lifo_queue::store::memory::Record;
use lifo_queue::store::{Cancelled, Redrive, Redriven, Seen};
use lifo_queue::task::{TaskId, TaskStatus, Ttl};
use lifo_queue::time::Millis;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::{ReferenceQueue, kept};
use crate::answer::Answer;
use crate::draw::{Drawn, LIFE, around, id, ids, moment, reason, weight};
use crate::machine::Machine;
use crate::operation::{Operation, Rule};

impl ReferenceQueue {
    /// FAILURE → PENDING, redrive: resets the attempts, sets a new `ttl` and removes the token. The
    /// control item keeps the age of the oldest redriven task until the last redriven task expires.
    pub(super) fn redrive(&mut self, redrive: &Redrive, now: Millis) -> (Answer, Rule) {
        let Some(task) = self.tasks.get_mut(&redrive.task) else {
            return (Answer::Redriven(Redriven::NotFound), Rule::RedriveGone);
        };
        if task.status != TaskStatus::Failure {
            let is = Answer::Redriven(Redriven::Is(task.status));
            return (is, Rule::RedriveNotFailure);
        }
        if !was_seen(task, &redrive.state) {
            return (Answer::Redriven(Redriven::Replaced), Rule::RedriveReplaced);
        }
        task.status = TaskStatus::Pending;
        task.ttl = Ttl::Seconds(redrive.expires_at);
        task.attempts = 0;
        task.total_attempts = 0;
        task.lease_token = None;
        task.lease_expired = false;
        task.not_before = None;
        task.alone = false;
        task.crashes = 0;
        let mut bound = RedrivenTasks {
            oldest: task.created,
            until: redrive.expires_at,
        };
        let mut rule = Rule::RedriveFirst;
        if let Some(others) = self.control.redriven
            && others.until.0 * 1000 > now.0
        {
            bound.oldest = bound.oldest.min(others.oldest);
            bound.until = bound.until.max(others.until);
            rule = Rule::RedriveBeside;
        }
        self.control.redriven = Some(bound);
        (Answer::Redriven(Redriven::Done), rule)
    }

    pub(super) fn cancel(&mut self, id: &TaskId, state: &Seen) -> (Answer, Rule) {
        let (answer, rule) = match self.tasks.get(id) {
            None => (Cancelled::NotFound, Rule::CancelGone),
            Some(task) if task.status != TaskStatus::Pending => {
                (Cancelled::Is(task.status), Rule::CancelNotPending)
            }
            Some(task) if !was_seen(task, state) => (Cancelled::Replaced, Rule::CancelReplaced),
            Some(_) => {
                self.tasks.remove(id);
                (Cancelled::Done, Rule::Cancel)
            }
        };
        (Answer::Cancelled(answer), rule)
    }

    pub(super) fn resume(&mut self) -> (Answer, Rule) {
        self.control.paused_until = None;
        self.control.pause_reason = None;
        self.control.paused_by = None;
        // The pause may have dropped the notification for the marker (rule 9).
        self.control.notified_until = None;
        self.control.notified_by = None;
        (Answer::Nothing, Rule::Resume)
    }

    /// Stores the hold and replaces any earlier hold. The processors' state is unchanged.
    pub(super) fn hold_breaker(&mut self, hold: &BreakerHold) -> (Answer, Rule) {
        self.control.breaker_by_hand = BreakerByHand {
            commands: self.control.breaker_by_hand.commands + 1,
            hold: Some(BreakerHold {
                until: hold.until,
                reason: kept(&hold.reason),
            }),
        };
        (Answer::Nothing, Rule::HoldBreaker)
    }

    /// Deletes the hold and the processors' state.
    pub(super) fn close_breaker(&mut self) -> (Answer, Rule) {
        self.control.breaker = None;
        self.control.breaker_by_hand = BreakerByHand {
            commands: self.control.breaker_by_hand.commands + 1,
            hold: None,
        };
        (Answer::Nothing, Rule::CloseBreaker)
    }

    pub(super) fn limit(&mut self, limits: &OperatorLimits) -> (Answer, Rule) {
        self.control.limits = limits.clone();
        (Answer::Nothing, Rule::Limit)
    }
}

/// A command that names no state applies to every state. Any other applies to the state that it
/// names, by the put that wrote it or by its creation time.
fn was_seen(task: &Record, state: &Seen) -> bool {
    let token = task.create_token.map(|token| token.to_string());
    match state {
        Seen::Any => true,
        Seen::Put(put) => token.as_ref() == Some(put),
        Seen::Created(at) => task.created == *at,
    }
}

/// Draws no state, the state of one of the tasks, or an earlier one.
fn seen(machine: &Machine) -> BoxedStrategy<Seen> {
    let states = machine.queue.tasks.values().flat_map(|task| {
        let put = task.create_token.map(|token| Seen::Put(token.to_string()));
        let earlier = Seen::Created(Millis(task.created.0 - 1));
        [Seen::Created(task.created), earlier]
            .into_iter()
            .chain(put)
    });
    let states: Vec<_> = states.chain([Seen::Put("another".to_owned())]).collect();
    prop_oneof![Just(Seen::Any), select(states)].boxed()
}

pub(crate) fn drawn(machine: &Machine) -> Drawn {
    let failed = weight(machine, 10, |task| task.status == TaskStatus::Failure);
    vec![
        (failed, redrive(machine)),
        (2, cancel(machine)),
        (3, pause(machine)),
        (2, Just(Operation::Resume).boxed()),
        (2, hold_breaker(machine)),
        (2, Just(Operation::CloseBreaker).boxed()),
        (2, limit(machine)),
    ]
}

/// Draws a redrive, mostly of a failed task.
fn redrive(machine: &Machine) -> BoxedStrategy<Operation> {
    let failed = ids(machine, |task| task.status == TaskStatus::Failure);
    let deadline = prop_oneof![
        3 => around(machine, LIFE..LIFE + 5_000),
        1 => around(machine, 500..5_000),
    ];
    (
        id(machine, failed),
        seen(machine),
        deadline,
        moment(machine),
    )
        .prop_map(|(task, state, deadline, now)| {
            let expires_at = deadline.ceil_seconds();
            let redrive = Redrive {
                task,
                state,
                expires_at,
            };
            Operation::Redrive { redrive, now }
        })
        .boxed()
}

/// Draws a cancellation of a pending task or of any task.
fn cancel(machine: &Machine) -> BoxedStrategy<Operation> {
    let waiting = ids(machine, |task| task.status == TaskStatus::Pending);
    let id = prop_oneof![id(machine, waiting), id(machine, Vec::new())];
    (id, seen(machine))
        .prop_map(|(task, state)| Operation::Cancel { task, state })
        .boxed()
}

/// Draws a pause that ends before or after the current one.
fn pause(machine: &Machine) -> BoxedStrategy<Operation> {
    let by = around(machine, 0..1_000).prop_map(|at| Author {
        name: "an operator".to_owned(),
        at,
    });
    let until = around(machine, 1_000..20_000);
    (until, reason(), option::of(by))
        .prop_map(|(until, reason, by)| Operation::Pause(Pause { until, reason, by }))
        .boxed()
}

/// Draws a limit that ends before or after the current one, or no limit.
fn limit(machine: &Machine) -> BoxedStrategy<Operation> {
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

/// Draws a hold of the circuit breaker that ends before or after the current one.
fn hold_breaker(machine: &Machine) -> BoxedStrategy<Operation> {
    (around(machine, 1_000..20_000), reason())
        .prop_map(|(until, reason)| Operation::HoldBreaker(BreakerHold { until, reason }))
        .boxed()
}
