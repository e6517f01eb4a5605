//! Rows of the table for operators: redrive, cancel, resume, the circuit breaker.

use lifo_queue::control::{BreakerByHand, BreakerHold, OperatorLimits, RedrivenTasks};
use lifo_queue::store::{Cancelled, Redrive, Redriven};
use lifo_queue::task::{TaskId, TaskStatus, Ttl};
use lifo_queue::time::Millis;

use super::{ReferenceQueue, kept};
use crate::operation::Answer;
use crate::rule::Rule;

impl ReferenceQueue {
    /// FAILURE → PENDING, redrive: attempts from 0, a new `ttl`, no token. The control item
    /// keeps the age of the oldest redriven task until the last of them expires.
    pub(super) fn redrive(&mut self, redrive: &Redrive, now: Millis) -> (Answer, Rule) {
        let Some(task) = self.tasks.get_mut(&redrive.task) else {
            return (Answer::Redriven(Redriven::NotFound), Rule::RedriveGone);
        };
        if task.status != TaskStatus::Failure {
            let is = Answer::Redriven(Redriven::Is(task.status));
            return (is, Rule::RedriveNotFailure);
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

    pub(super) fn cancel(&mut self, id: &TaskId) -> (Answer, Rule) {
        let (answer, rule) = match self.tasks.get(id).map(|task| task.status) {
            None => (Cancelled::NotFound, Rule::CancelGone),
            Some(TaskStatus::Pending) => {
                self.tasks.remove(id);
                (Cancelled::Done, Rule::Cancel)
            }
            Some(status) => (Cancelled::Is(status), Rule::CancelNotPending),
        };
        (Answer::Cancelled(answer), rule)
    }

    pub(super) fn resume(&mut self) -> (Answer, Rule) {
        self.control.paused_until = None;
        self.control.pause_reason = None;
        self.control.paused_by = None;
        self.control.busy_pauses = 0;
        // The notification of the marker (rule 9) may have been dropped by the pause.
        self.control.notified_until = None;
        self.control.notified_by = None;
        (Answer::Nothing, Rule::Resume)
    }

    /// Stores the hold, and replaces an earlier one. The processors' state is unchanged.
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
