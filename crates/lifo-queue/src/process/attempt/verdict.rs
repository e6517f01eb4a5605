//! Decides the state of a task after its run.

use std::time::Duration;

use super::{Attempts, Why};
use crate::backoff::Backoff;
use crate::process::health::{LONGEST_PROBE, Ruling, is_last_start};
use crate::runner::{MAX_RETRY_AFTER, Outcome};
use crate::task::{Counts, Return, Settlement, TakenTask};
use crate::time::Millis;

/// Minimum wait of a task after a busy response, regardless of the wait that the downstream requested.
const SHORTEST_BUSY_WAIT: Duration = Duration::from_millis(200);

/// Random wait added to the minimum. It grows with each busy response to the same task, so that
/// another task starts next.
const BUSY_WAIT: Backoff = Backoff {
    base: Duration::from_secs(1),
    max: Duration::from_secs(15),
};

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
            Some(Outcome::Success) => Verdict::Settle(Settlement::Success),
            Some(Outcome::Failure { reason }) => Verdict::Settle(Settlement::Failure { reason }),
            Some(Outcome::Unavailable { reason } | Outcome::Rejecting { reason }) => {
                let wait = self.settings.backoff.draw(taken.task.total_attempts);
                let soon = self.clock.now().plus(wait.min(LONGEST_PROBE));
                // While the breaker is open, the task is due for the next probe.
                let at = ruling.next_probe.unwrap_or(soon);
                self.without_result(taken, reason, at, Why::Unavailable, ruling)
            }
            Some(Outcome::Busy {
                retry_after,
                reason,
            }) => self.busy(taken, retry_after, reason, ruling),
            Some(Outcome::Retry { reason }) => self.retry(taken, reason, Why::Retry, Millis(0)),
            None => {
                let reason = "cut off: the function's deadline was near".to_owned();
                self.retry(taken, reason, Why::CutOff, Millis(0))
            }
        }
    }

    /// Returns the task with backoff, due at `earliest` or later. After the last attempt, fails it
    /// with the last error instead.
    fn retry(&self, taken: &TakenTask, reason: String, why: Why, earliest: Millis) -> Verdict {
        let settings = &self.settings;
        if taken.task.attempt >= settings.max_attempts {
            let reason = format!("attempt {} was the last: {reason}", taken.task.attempt);
            return Verdict::Settle(Settlement::Failure { reason });
        }
        let wait = settings.backoff.draw(taken.task.attempt);
        let not_before = self.clock.now().plus(wait).max(earliest);
        returned(not_before, Counts::Attempt, reason, why)
    }

    /// Returns the task with a wait and restores its attempt, up to `max_busy_returns` times. After
    /// that, a busy response is a run without a result like any other.
    fn busy(
        &self,
        taken: &TakenTask,
        retry_after: Option<Duration>,
        reason: String,
        ruling: Ruling,
    ) -> Verdict {
        let returns = returns(taken);
        let jitter = SHORTEST_BUSY_WAIT + BUSY_WAIT.draw(returns.saturating_add(1));
        let jitter = jitter.min(self.settings.backoff.max);
        // The requested wait may be zero or already over, so `jitter` is the minimum wait.
        let wait = retry_after.map_or(jitter, |asked| asked.min(MAX_RETRY_AFTER).max(jitter));
        let at = self.clock.now().plus(wait);
        match returns < self.settings.max_busy_returns {
            true => returned(at, Counts::Start, reason, Why::Busy),
            false => self.without_result(taken, reason, at, Why::Busy, ruling),
        }
    }

    /// Returns the task, due at `not_before`, after a run without a result. Unless the run is
    /// charged, restores its attempt a bounded number of times. A task that has started
    /// `max_attempts` times and may expire before its next start ends as FAILURE instead, because
    /// its error would otherwise be lost.
    fn without_result(
        &self,
        taken: &TakenTask,
        reason: String,
        not_before: Millis,
        why: Why,
        ruling: Ruling,
    ) -> Verdict {
        let (settings, task) = (&self.settings, &taken.task);
        let by_breaker = settings.breaker.map_or(0, |breaker| breaker.max_returns);
        let most = by_breaker.saturating_add(settings.max_busy_returns);
        if ruling.charged || returns(taken) >= most {
            let (why, earliest) = match why {
                Why::Busy => (why, not_before),
                _ => (Why::Retry, Millis(0)),
            };
            return self.retry(taken, reason, why, earliest);
        }
        let (expires, now) = (task.expires_at.millis(), self.clock.now());
        if task.total_attempts >= settings.max_attempts
            && is_last_start(task.task_created, expires, ruling.next_start, now)
        {
            let starts = task.total_attempts;
            let reason = format!("start {starts} was the last before the task expires: {reason}");
            return Verdict::Settle(Settlement::Failure { reason });
        }
        returned(not_before, Counts::Start, reason, why)
    }
}

/// Number of starts that did not count as attempts.
fn returns(taken: &TakenTask) -> u32 {
    taken.task.total_attempts.saturating_sub(taken.task.attempt)
}

fn returned(not_before: Millis, counts: Counts, reason: String, why: Why) -> Verdict {
    let back = Return {
        not_before,
        counts,
        lease_expired: false,
        reason,
    };
    Verdict::Return(back, why)
}
