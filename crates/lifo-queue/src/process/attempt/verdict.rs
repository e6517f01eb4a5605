//! The state of a task after its run.

use std::time::Duration;

use super::{Attempts, Why};
use crate::backoff::Backoff;
use crate::process::breaker::{LONGEST_PROBE, Spared};
use crate::runner::{MAX_RETRY_AFTER, Outcome};
use crate::task::{GiveBack, Settlement, TakenTask};
use crate::time::Millis;

/// The shortest wait of a task that met a busy downstream, whatever the downstream asked for.
const SHORTEST_BUSY_WAIT: Duration = Duration::from_millis(200);

/// What is drawn on top: more with each busy answer to the same task, so that the next probe of
/// the downstream is made with another.
const BUSY_WAIT: Backoff = Backoff {
    base: Duration::from_secs(2),
    max: Duration::from_secs(15),
};

/// What follows from an outcome.
pub(super) enum Verdict {
    Settle(Settlement),
    GiveBack(GiveBack, Why),
}

impl Attempts {
    /// `spared`: if the downstream was unavailable, no attempt counts.
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
                    // No longer than a probe would wait: each run may find the downstream available.
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

    /// Back with backoff, or FAILURE with the last error once the attempts are used up.
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

    /// Returned after a short wait with its attempt restored, a bounded number of times.
    fn busy(&self, taken: &TakenTask, retry_after: Option<Duration>) -> Verdict {
        let returns = taken.task.total_attempts.saturating_sub(taken.task.attempt);
        let reason = "the downstream was busy".to_owned();
        if returns >= self.settings.max_busy_returns {
            return self.retry(taken, reason, Why::Busy);
        }
        let jitter = SHORTEST_BUSY_WAIT + BUSY_WAIT.draw(returns.saturating_add(1));
        let jitter = jitter.min(self.settings.backoff.max);
        // The downstream may ask for no wait at all, or name a moment that has passed.
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

    /// Back until then: while the breaker is open until the next probe, so that one task is due for
    /// it. No attempt counts, a bounded number of times.
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
