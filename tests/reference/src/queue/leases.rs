//! Rows of the table that end a lease: settle, return, sweep.

use lifo_queue::store::memory::Record;
use lifo_queue::task::{Lease, Reclaim, Return, Settlement, TaskStatus, Ttl};
use lifo_queue::time::{EpochSeconds, Millis};

use super::{ReferenceQueue, done, kept, lost, overtaken, seconds_after, stands};
use crate::operation::{Answer, RETENTION};
use crate::rule::Rule;

/// Ends TAKEN: sets the status and removes `leaseUntil` and `expiresAt`.
fn leave_taken(task: &mut Record, status: TaskStatus) {
    task.status = status;
    task.lease_until = None;
    task.expires_at = None;
}

/// Ends an overtaken run: the newer state becomes PENDING, with its own deadline and no attempts.
fn leave_overtaken(task: &mut Record) {
    task.ttl = task.expires_at.map_or(task.ttl, Ttl::Seconds);
    leave_taken(task, TaskStatus::Pending);
    task.overtaken = false;
    task.attempts = 0;
    task.total_attempts = 0;
}

/// Fails a task that crashed too often. A newer state of its key fails with it.
fn fail_crashing(task: &mut Record, keep_until: EpochSeconds) -> Rule {
    let rule = if task.overtaken {
        leave_overtaken(task);
        task.superseded += 1;
        Rule::ReclaimCrashesOvertaken
    } else {
        Rule::ReclaimCrashes
    };
    leave_taken(task, TaskStatus::Failure);
    task.ttl = Ttl::Seconds(keep_until);
    rule
}

/// Sets the delay. A newer state keeps its own delay, if it has one.
fn wait_until(task: &mut Record, at: Millis) {
    task.not_before = match task.not_before {
        Some(delay) if task.overtaken => Some(delay),
        _ => Some(at),
    };
}

/// Whether this lease's holder has ended its run and a newer state of the key is pending. The
/// pending key then has the lease's token; the sweep would have removed it.
fn ended_overtaken(task: &Record, lease: &Lease) -> bool {
    task.version.is_some() && stands(task, TaskStatus::Pending, lease)
}

impl ReferenceQueue {
    /// TAKEN → SUCCESS, FAILURE, settle: own lease token, which the task keeps. `ttl` is now plus
    /// the retention of the new status. A repetition that finds its own token and its target status
    /// succeeds.
    pub(super) fn settle(
        &mut self,
        lease: &Lease,
        settlement: &Settlement,
        now: Millis,
    ) -> (Answer, Rule) {
        let (target, retention, rule) = match settlement {
            Settlement::Success => (TaskStatus::Success, RETENTION.success, Rule::SettleSuccess),
            Settlement::Failure { .. } => {
                (TaskStatus::Failure, RETENTION.failure, Rule::SettleFailure)
            }
        };
        let Some(task) = self.tasks.get_mut(&lease.task) else {
            return lost(Rule::SettleGone);
        };
        if stands(task, target, lease) {
            return done(Rule::SettleRepeated);
        }
        if ended_overtaken(task, lease) {
            return overtaken(Rule::SettleOvertakenRepeated);
        }
        if task.status != TaskStatus::Taken {
            return lost(Rule::SettleNotTaken);
        }
        if task.lease_token != Some(lease.token) {
            return lost(Rule::SettleOtherLease);
        }
        if let Settlement::Failure { reason } = settlement {
            task.last_error = Some(kept(reason));
        }
        task.crashes = 0;
        if task.overtaken {
            leave_overtaken(task);
            return overtaken(Rule::SettleOvertaken);
        }
        leave_taken(task, target);
        task.ttl = Ttl::Seconds(seconds_after(now, retention.as_secs()));
        done(rule)
    }

    /// TAKEN → PENDING, return: own lease token, which the task keeps. The deadline is restored,
    /// and *busy* restores the attempt. The mark of an expired lease is kept.
    pub(super) fn return_task(&mut self, lease: &Lease, returned: &Return) -> (Answer, Rule) {
        let Some(task) = self.tasks.get_mut(&lease.task) else {
            return lost(Rule::ReturnGone);
        };
        if stands(task, TaskStatus::Pending, lease) {
            return done(Rule::ReturnRepeated);
        }
        if task.status != TaskStatus::Taken {
            return lost(Rule::ReturnNotTaken);
        }
        if task.lease_token != Some(lease.token) {
            return lost(Rule::ReturnOtherLease);
        }
        wait_until(task, returned.not_before);
        task.last_error = Some(kept(&returned.reason));
        task.lease_expired = returned.lease_expired;
        if task.overtaken {
            leave_overtaken(task);
            task.superseded += 1;
            return overtaken(Rule::ReturnOvertaken);
        }
        task.ttl = task.expires_at.map_or(task.ttl, Ttl::Seconds);
        leave_taken(task, TaskStatus::Pending);
        if returned.attempt_counts {
            return done(Rule::Return);
        }
        task.attempts -= 1;
        done(Rule::ReturnFree)
    }

    /// TAKEN → PENDING or FAILURE, sweep: the lease that was read has expired. Only a task that ran
    /// alone becomes FAILURE. The token is removed. The deadline is restored, or replaced by the
    /// retention. A crash is counted until a run settles the task. A task that crashed too often
    /// becomes FAILURE, even with a newer state that was written during the run.
    pub(super) fn reclaim(
        &mut self,
        lease: &Lease,
        reclaim: &Reclaim,
        now: Millis,
    ) -> (Answer, Rule) {
        let Some(task) = self.tasks.get_mut(&lease.task) else {
            return lost(Rule::ReclaimGone);
        };
        if task.status != TaskStatus::Taken {
            return lost(Rule::ReclaimNotTaken);
        }
        if task.lease_token != Some(lease.token) {
            return lost(Rule::ReclaimOtherLease);
        }
        if task.lease_until.is_none_or(|until| until > now) {
            return lost(Rule::ReclaimTooEarly);
        }
        let crashes = task.crashes + 1;
        let rule = match reclaim {
            Reclaim::Return { max_crashes, .. } if task.alone && crashes >= *max_crashes => {
                return lost(Rule::ReclaimManyCrashes);
            }
            Reclaim::Return { not_before, .. } if task.overtaken => {
                wait_until(task, *not_before);
                leave_overtaken(task);
                task.superseded += 1;
                Rule::ReclaimOvertaken
            }
            Reclaim::FailCrashing { max_crashes, .. } if !task.alone || crashes < *max_crashes => {
                return lost(Rule::ReclaimFewCrashes);
            }
            Reclaim::FailCrashing { keep_until, .. } => fail_crashing(task, *keep_until),
            Reclaim::Fail { .. } if task.overtaken => return lost(Rule::ReclaimFailOvertaken),
            Reclaim::Return { not_before, .. } => {
                task.ttl = task.expires_at.map_or(task.ttl, Ttl::Seconds);
                leave_taken(task, TaskStatus::Pending);
                task.not_before = Some(*not_before);
                Rule::ReclaimReturn
            }
            Reclaim::Fail { .. } if !task.alone => return lost(Rule::ReclaimInCompany),
            Reclaim::Fail { keep_until } => {
                leave_taken(task, TaskStatus::Failure);
                task.ttl = Ttl::Seconds(*keep_until);
                Rule::ReclaimFail
            }
        };
        task.crashes = crashes;
        task.lease_token = None;
        task.lease_expired = true;
        task.last_error = Some(reclaim.reason().to_owned());
        match rule {
            Rule::ReclaimOvertaken | Rule::ReclaimCrashesOvertaken => overtaken(rule),
            rule => done(rule),
        }
    }
}
