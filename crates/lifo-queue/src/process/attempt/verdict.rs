//! Decides the state of a task after its run.

use std::time::Duration;

use super::{Attempts, Why};
use crate::backoff::Backoff;
use crate::process::downstream::{LONGEST_PROBE, Ruling, Spared, is_last_start};
use crate::runner::{MAX_RETRY_AFTER, Outcome};
use crate::task::{Return, Settlement, TakenTask};
use crate::time::Millis;

/// Minimum wait of a task after a busy response, regardless of the wait that the downstream requested.
const SHORTEST_BUSY_WAIT: Duration = Duration::from_millis(200);

/// Random wait added to the minimum. It grows with each busy response to the same task, so that
/// another task probes the downstream next.
const BUSY_WAIT: Backoff = Backoff {
    base: Duration::from_secs(2),
    max: Duration::from_secs(15),
};

/// Maximum number of returns per task that don't count as attempts, after internal errors in the
/// downstream. If other tasks get results, the task ends after a few attempts. Otherwise, the
/// errors look like an outage for [`LONGEST_PROBE`] × this number × the number of such tasks.
const MAX_ERROR_RETURNS: u32 = 30;

/// The next state of a task after an outcome.
pub(super) enum Verdict {
    Settle(Settlement),
    Return(Return, Why),
}

impl Attempts {
    /// Returns a task's next state. An outcome of `None` means that the run was cut off.
    pub(super) fn verdict(
        &self,
        taken: &TakenTask,
        outcome: Option<Outcome>,
        ruling: Ruling,
    ) -> Verdict {
        match outcome {
            Some(Outcome::Unavailable { reason }) => self.spare(taken, reason, ruling, u32::MAX),
            Some(Outcome::InternalError { reason }) => {
                let most = match ruling.held {
                    true => u32::MAX,
                    false => MAX_ERROR_RETURNS,
                };
                self.spare(taken, reason, ruling, most)
            }
            Some(Outcome::Success) => Verdict::Settle(Settlement::Success),
            Some(Outcome::Failure { reason }) => Verdict::Settle(Settlement::Failure { reason }),
            Some(Outcome::Retry { reason }) => self.retry(taken, reason, Why::Retry),
            Some(Outcome::Rejecting { reason }) => self.retry(taken, reason, Why::Retry),
            Some(Outcome::Busy {
                retry_after,
                reason,
            }) => match ruling.spared {
                Some(Spared::UntilProbe(at)) if retry_after.is_none() => {
                    self.unavailable(taken, reason, at, u32::MAX, ruling.next_start)
                }
                _ => self.busy(taken, retry_after, reason),
            },
            None => {
                let reason = "cut off: the function's deadline was near".to_owned();
                self.retry(taken, reason, Why::CutOff)
            }
        }
    }

    /// Returns the task with backoff. After the last attempt, fails it with the last error instead.
    fn retry(&self, taken: &TakenTask, reason: String, why: Why) -> Verdict {
        let settings = &self.settings;
        if taken.task.attempt >= settings.max_attempts {
            let reason = format!("attempt {} was the last: {reason}", taken.task.attempt);
            return Verdict::Settle(Settlement::Failure { reason });
        }
        let wait = settings.backoff.draw(taken.task.attempt);
        let not_before = self.clock.now().plus(wait);
        returned(not_before, true, reason, why)
    }

    /// Returns the task with a short wait and restores its attempt, up to `max_busy_returns` times.
    fn busy(&self, taken: &TakenTask, retry_after: Option<Duration>, reason: String) -> Verdict {
        let returns = taken.task.total_attempts.saturating_sub(taken.task.attempt);
        if returns >= self.settings.max_busy_returns {
            return self.retry(taken, reason, Why::Busy);
        }
        let jitter = SHORTEST_BUSY_WAIT + BUSY_WAIT.draw(returns.saturating_add(1));
        let jitter = jitter.min(self.settings.backoff.max);
        // The requested wait may be zero or already over, so `jitter` is the minimum wait.
        let wait = retry_after.map_or(jitter, |asked| asked.min(MAX_RETRY_AFTER).max(jitter));
        let not_before = self.clock.now().plus(wait);
        returned(not_before, false, reason, Why::Busy)
    }

    /// Returns the task after it found the downstream unavailable. If the ruling spares the task,
    /// restores its attempt, up to `most` times.
    fn spare(&self, taken: &TakenTask, reason: String, ruling: Ruling, most: u32) -> Verdict {
        let next_start = ruling.next_start;
        match ruling.spared {
            Some(Spared::UntilProbe(at)) => self.unavailable(taken, reason, at, most, next_start),
            Some(Spared::Backoff) => {
                // Wait no longer than between two probes, because the downstream may be available
                // by then.
                let wait = self.settings.backoff.draw(taken.task.total_attempts);
                let at = self.clock.now().plus(wait.min(LONGEST_PROBE));
                self.unavailable(taken, reason, at, most, next_start)
            }
            None => self.retry(taken, reason, Why::Retry),
        }
    }

    /// Returns the task, due at `not_before`, and restores its attempt a bounded number of times.
    /// While the breaker is open, `not_before` is the time of the next probe, so that a task is due
    /// for the probe. A task that has started `max_attempts` times and may expire within
    /// `next_start` ends as FAILURE instead, because its error would otherwise be lost.
    fn unavailable(
        &self,
        taken: &TakenTask,
        reason: String,
        not_before: Millis,
        most: u32,
        next_start: Duration,
    ) -> Verdict {
        let (settings, task) = (&self.settings, &taken.task);
        let returns = task.total_attempts.saturating_sub(task.attempt);
        let by_breaker = settings.breaker.map_or(0, |breaker| breaker.max_returns);
        if returns >= most.min(by_breaker.saturating_add(settings.max_busy_returns)) {
            return self.retry(taken, reason, Why::Retry);
        }
        let (expires, now) = (task.expires_at.millis(), self.clock.now());
        if task.total_attempts >= settings.max_attempts
            && is_last_start(task.task_created, expires, next_start, now)
        {
            let starts = task.total_attempts;
            let reason = format!("start {starts} was the last before the task expires: {reason}");
            return Verdict::Settle(Settlement::Failure { reason });
        }
        returned(not_before, false, reason, Why::Unavailable)
    }
}

fn returned(not_before: Millis, attempt_counts: bool, reason: String, why: Why) -> Verdict {
    let back = Return {
        not_before,
        attempt_counts,
        lease_expired: false,
        reason,
    };
    Verdict::Return(back, why)
}
