//! The state of a task after its run.

use std::time::Duration;

use super::{Attempts, Why};
use crate::backoff::Backoff;
use crate::process::breaker::{LONGEST_PROBE, Spared};
use crate::runner::{MAX_RETRY_AFTER, Outcome};
use crate::task::{GiveBack, Settlement, TakenTask};
use crate::time::Millis;

/// The least wait of a task after a busy answer, whatever wait the downstream asked for.
const SHORTEST_BUSY_WAIT: Duration = Duration::from_millis(200);

/// The random wait added to it. It grows with each busy answer to the same task, so that another
/// task probes the downstream next.
const BUSY_WAIT: Backoff = Backoff {
    base: Duration::from_secs(2),
    max: Duration::from_secs(15),
};

/// The next state of a task after an outcome.
pub(super) enum Verdict {
    Settle(Settlement),
    GiveBack(GiveBack, Why),
}

impl Attempts {
    /// The next state after an outcome; `None` means that the run was cut off. With `spared`, a run
    /// that found the downstream unavailable costs no attempt.
    pub(super) fn verdict(
        &self,
        taken: &TakenTask,
        outcome: Option<Outcome>,
        spared: Option<Spared>,
    ) -> Verdict {
        match outcome {
            Some(Outcome::Unavailable { reason }) => match spared {
                Some(Spared::UntilProbe(at)) => self.unavailable(taken, reason, at),
                Some(Spared::Backoff) => {
                    // At most the longest wait of a probe: the downstream may be available in each
                    // run.
                    let wait = self.settings.backoff.draw(taken.task.total_attempts);
                    let wait = wait.min(LONGEST_PROBE);
                    self.unavailable(taken, reason, self.clock.now().plus(wait))
                }
                None => self.retry(taken, reason, Why::Retry),
            },
            Some(Outcome::Success) => Verdict::Settle(Settlement::Success),
            Some(Outcome::Failure { reason }) => Verdict::Settle(Settlement::Failure { reason }),
            Some(Outcome::Retry { reason }) => self.retry(taken, reason, Why::Retry),
            Some(Outcome::Refused { reason }) => self.retry(taken, reason, Why::Retry),
            Some(Outcome::Busy { retry_after }) => match spared {
                Some(Spared::UntilProbe(at)) if retry_after.is_none() => {
                    self.unavailable(taken, "the downstream was busy".to_owned(), at)
                }
                _ => self.busy(taken, retry_after),
            },
            None => {
                let reason = "cut off: the function's deadline was near".to_owned();
                self.retry(taken, reason, Why::CutOff)
            }
        }
    }

    /// Returns the task with backoff, or fails it with the last error after the last attempt.
    fn retry(&self, taken: &TakenTask, reason: String, why: Why) -> Verdict {
        let settings = &self.settings;
        if taken.task.attempt >= settings.max_attempts {
            let reason = format!("attempt {} was the last: {reason}", taken.task.attempt);
            return Verdict::Settle(Settlement::Failure { reason });
        }
        let not_before = self
            .clock
            .now()
            .plus(settings.backoff.draw(taken.task.attempt));
        Verdict::GiveBack(
            GiveBack {
                not_before,
                attempt_counts: true,
                lease_ran_out: false,
                reason,
            },
            why,
        )
    }

    /// Returns the task after a short wait and restores its attempt, a bounded number of times.
    fn busy(&self, taken: &TakenTask, retry_after: Option<Duration>) -> Verdict {
        let returns = taken.task.total_attempts.saturating_sub(taken.task.attempt);
        let reason = "the downstream was busy".to_owned();
        if returns >= self.settings.max_busy_returns {
            return self.retry(taken, reason, Why::Busy);
        }
        let jitter = SHORTEST_BUSY_WAIT + BUSY_WAIT.draw(returns.saturating_add(1));
        let jitter = jitter.min(self.settings.backoff.max);
        // The downstream may ask for no wait, or name a past time. So `jitter` is the least wait.
        let wait = retry_after.map_or(jitter, |asked| asked.min(MAX_RETRY_AFTER).max(jitter));
        let not_before = self.clock.now().plus(wait);
        Verdict::GiveBack(
            GiveBack {
                not_before,
                attempt_counts: false,
                lease_ran_out: false,
                reason,
            },
            Why::Busy,
        )
    }

    /// Returns the task until `not_before` and restores its attempt, a bounded number of times.
    /// While the breaker is open, that is the next probe's time, so that one task is due for it.
    fn unavailable(&self, taken: &TakenTask, reason: String, not_before: Millis) -> Verdict {
        let settings = &self.settings;
        let returns = taken.task.total_attempts.saturating_sub(taken.task.attempt);
        let most = settings.breaker.map_or(0, |breaker| breaker.max_returns);
        if returns >= most.saturating_add(settings.max_busy_returns) {
            return self.retry(taken, reason, Why::Retry);
        }
        Verdict::GiveBack(
            GiveBack {
                not_before,
                attempt_counts: false,
                lease_ran_out: false,
                reason,
            },
            Why::Unavailable,
        )
    }
}
