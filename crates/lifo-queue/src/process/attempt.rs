//! One attempt at one task: take, run, settle or give back.

mod steps;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use backon::Retryable;
use futures::FutureExt;
use tokio::sync::watch;

use self::steps::{Ended, after};
use super::ProcessSettings;
use super::breaker::{SharedBreaker, Signal};
use crate::backoff::Backoff;
use crate::causes;
use crate::runner::{MAX_RETRY_AFTER, Outcome, TaskRunner};
use crate::store::{Candidate, QueueStore, StoreError, TakeOutcome, TakeRequest};
use crate::task::{GiveBack, Lease, LeaseToken, Settlement, TakenTask, TaskId};
use crate::time::{Clock, Millis};

/// `ttl` of a TAKEN task lies this far past its lease: DynamoDB deletes running work only if the
/// sweep failed for longer.
const TAKEN_TTL_MARGIN: Duration = Duration::from_secs(86_400);

/// The shortest wait of a task that met a busy downstream, whatever the downstream asked for.
const SHORTEST_BUSY_WAIT: Duration = Duration::from_millis(200);

/// What is drawn on top: more with each busy answer to the same task, so that the next probe of
/// the downstream is made with another.
const BUSY_WAIT: Backoff = Backoff {
    base: Duration::from_secs(2),
    max: Duration::from_secs(15),
};

/// What every attempt needs.
pub(super) struct Attempts {
    pub(super) store: Arc<dyn QueueStore>,
    pub(super) runner: Arc<dyn TaskRunner>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) settings: ProcessSettings,
    pub(super) breaker: SharedBreaker,
    /// Turns true when what still runs must be given back.
    pub(super) cut_off: watch::Receiver<bool>,
}

/// How an attempt ended.
#[derive(Debug)]
pub(super) struct Attempted {
    pub(super) task: TaskId,
    /// How old the task was at its start; `None` if it was not taken.
    pub(super) start_age: Option<Duration>,
    pub(super) end: End,
    /// A newer state of the task's key came while it ran: it is PENDING.
    pub(super) overtaken: bool,
    pub(super) downstream: Downstream,
}

/// The end of an attempt.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    Succeeded,
    Failed,
    /// Back to PENDING until then.
    GivenBack {
        not_before: Millis,
        why: Why,
    },
    /// FAILURE, because the item itself is at fault.
    Quarantined,
    /// Another was faster.
    LostRace,
    /// The store gave no usable answer, repeatedly.
    StoreFailed,
}

/// Why a task was given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Retry,
    Busy,
    Unavailable,
    CutOff,
}

/// What the run says of the downstream, whatever became of the task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Downstream {
    /// It had room.
    Answered,
    /// It had none.
    Busy { retry_after: Option<Duration> },
    /// It refuses us.
    Refused,
    /// Nothing is known: no run, no answer, or cut off.
    Unknown,
}

/// What follows from an outcome.
enum Verdict {
    Settle(Settlement),
    GiveBack(GiveBack, Why),
}

impl Attempts {
    /// Takes the task and, if it is ours, runs and settles it.
    pub(super) async fn attempt(self: Arc<Self>, candidate: Candidate, alone: bool) -> Attempted {
        let task = candidate.id.clone();
        let suspect = candidate.lease_ran_out;
        let mut start_age = None;
        let mut downstream = Downstream::Unknown;
        let end = match self.take(candidate, alone).await {
            Ok(TakeOutcome::Won(taken)) if self.is_too_short(&taken.lease) => {
                self.return_unstarted(&taken.lease, suspect).await
            }
            Ok(TakeOutcome::Won(taken)) => {
                start_age = Some(self.clock.now().since(taken.task.task_created));
                let run = self.breaker.lock().run_starts();
                let outcome = self.run(&taken).await;
                downstream = Downstream::from(outcome.as_ref());
                let signal = Signal::from(outcome.as_ref());
                let now = self.clock.now();
                let probe_at = self.breaker.lock().run_ended(run, &task, signal, now);
                self.settle_by(&taken, outcome, suspect, probe_at).await
            }
            Ok(TakeOutcome::Lost) => Ok(End::LostRace.into()),
            Ok(TakeOutcome::Unreadable { lease, reason }) => {
                tracing::warn!(task_id = %task, reason, "unreadable task goes to FAILURE");
                let settlement = Settlement::Failure { reason };
                self.settle(&lease, &settlement)
                    .await
                    .map(|done| after(done, End::Quarantined))
            }
            Ok(TakeOutcome::Rejected { reason }) => self.quarantine(&task, &reason).await,
            Err(error) => Err(error),
        };
        let Ended { end, overtaken } = end.unwrap_or_else(|error| {
            let error = causes::chain(&error);
            tracing::error!(task_id = %task, error, "step given up; the sweep picks the task up");
            End::StoreFailed.into()
        });
        Attempted {
            task,
            start_age,
            end,
            overtaken,
            downstream,
        }
    }

    async fn take(&self, candidate: Candidate, alone: bool) -> Result<TakeOutcome, StoreError> {
        let token = LeaseToken::fresh();
        let settings = &self.settings;
        // The same token at every repetition: if an earlier one was carried out, the store
        // recognises it.
        let take = || {
            let now = self.clock.now();
            let lease_until = now.plus(settings.task_lease());
            let request = TakeRequest {
                candidate: candidate.clone(),
                token,
                lease_until,
                taken_ttl: lease_until.ceil_seconds().plus(TAKEN_TTL_MARGIN),
                default_deadline: now.ceil_seconds().plus(settings.default_ttl),
                alone,
                now,
            };
            async move { self.store.take(&request).await }
        };
        take.retry(steps::patience())
            .when(StoreError::is_transient)
            .await
    }

    /// Whether a run may outlast the lease. The store recognizes a take whose acknowledgement was
    /// lost; the lease that it made then ends by the first try's time.
    fn is_too_short(&self, lease: &Lease) -> bool {
        let needed = self.settings.task_timeout + self.settings.deadline_margin / 2;
        lease.until.since(self.clock.now()) < needed
    }

    async fn settle_by(
        &self,
        taken: &TakenTask,
        outcome: Option<Outcome>,
        suspect: bool,
        probe_at: Option<Millis>,
    ) -> Result<Ended, StoreError> {
        match self.verdict(taken, outcome, probe_at) {
            Verdict::Settle(settlement) => {
                let end = match &settlement {
                    Settlement::Success => End::Succeeded,
                    Settlement::Failure { .. } => {
                        // Not the reason: it quotes the downstream, which may quote the payload.
                        let (task_id, attempt) = (&taken.task.task_id, taken.task.attempt);
                        tracing::warn!(%task_id, attempt, "task failed; its lastError says why");
                        End::Failed
                    }
                };
                Ok(after(self.settle(&taken.lease, &settlement).await?, end))
            }
            Verdict::GiveBack(mut back, why) => {
                back.lease_ran_out = suspect;
                let not_before = back.not_before;
                let done = self.give_back(&taken.lease, &back).await?;
                Ok(after(done, End::GivenBack { not_before, why }))
            }
        }
    }

    /// Runs the task; `None` if it was cut off. A panic or a time-out is this task's alone.
    async fn run(&self, taken: &TakenTask) -> Option<Outcome> {
        tracing::debug!(
            task_id = %taken.task.task_id,
            task_created = taken.task.task_created.0,
            attempt = taken.task.attempt,
            "task taken"
        );
        let mut cut_off = self.cut_off.clone();
        let run = AssertUnwindSafe(self.runner.run(&taken.task)).catch_unwind();
        let limit = self.settings.task_timeout;
        tokio::select! {
            biased;
            ended = tokio::time::timeout(limit, run) => Some(match ended {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(panic)) => Outcome::Retry { reason: panic_text(panic.as_ref()) },
                Err(_) => Outcome::Unavailable {
                    reason: format!("did not end within the task timeout of {limit:?}"),
                },
            }),
            Ok(_) = cut_off.wait_for(|cut| *cut) => None,
        }
    }

    /// `probe_at`: the circuit breaker is open, and its next probe starts then.
    fn verdict(
        &self,
        taken: &TakenTask,
        outcome: Option<Outcome>,
        probe_at: Option<Millis>,
    ) -> Verdict {
        match outcome {
            Some(Outcome::Unavailable { reason }) => match probe_at {
                Some(probe_at) => self.unavailable(taken, reason, probe_at),
                None => self.retry(taken, reason, Why::Retry),
            },
            Some(Outcome::Success) => Verdict::Settle(Settlement::Success),
            Some(Outcome::Failure { reason }) => Verdict::Settle(Settlement::Failure { reason }),
            Some(Outcome::Retry { reason }) => self.retry(taken, reason, Why::Retry),
            Some(Outcome::Refused { reason }) => self.retry(taken, reason, Why::Retry),
            Some(Outcome::Busy { retry_after }) => match probe_at {
                Some(probe_at) if retry_after.is_none() => {
                    self.unavailable(taken, "the downstream was busy".to_owned(), probe_at)
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

    /// Back after a short wait, the attempt given back with it, a bounded number of times.
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

    /// Back until the next probe, so that one task is due for it. No attempt counts, a bounded
    /// number of times.
    fn unavailable(&self, taken: &TakenTask, reason: String, probe_at: Millis) -> Verdict {
        let settings = &self.settings;
        let returns = taken.task.total_attempts.saturating_sub(taken.task.attempt);
        let most = settings.breaker.map_or(0, |breaker| breaker.max_returns);
        if returns >= most.saturating_add(settings.max_busy_returns) {
            return self.retry(taken, reason, Why::Retry);
        }
        Verdict::GiveBack(
            GiveBack {
                not_before: probe_at,
                attempt_counts: false,
                lease_ran_out: false,
                reason,
            },
            Why::Unavailable,
        )
    }
}

impl From<Option<&Outcome>> for Downstream {
    fn from(outcome: Option<&Outcome>) -> Self {
        match outcome {
            Some(Outcome::Success | Outcome::Failure { .. }) => Self::Answered,
            Some(Outcome::Busy { retry_after }) => Self::Busy {
                retry_after: *retry_after,
            },
            Some(Outcome::Refused { .. }) => Self::Refused,
            Some(Outcome::Retry { .. } | Outcome::Unavailable { .. }) | None => Self::Unknown,
        }
    }
}

impl From<Option<&Outcome>> for Signal {
    fn from(outcome: Option<&Outcome>) -> Self {
        match outcome {
            Some(Outcome::Success | Outcome::Failure { .. }) => Self::Answered,
            Some(Outcome::Unavailable { .. }) => Self::Unavailable,
            Some(Outcome::Busy { retry_after: None }) => Self::Busy,
            // One that names a time, or rejects us, has a pause of its own.
            Some(Outcome::Busy { .. } | Outcome::Refused { .. } | Outcome::Retry { .. }) | None => {
                Self::Nothing
            }
        }
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("the task runner panicked: {}", text.unwrap_or("no message"))
}
