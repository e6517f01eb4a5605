//! One attempt at one task: take, run, settle or return.

mod run_log;
mod steps;
mod verdict;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use aws::error_chain;
use backon::Retryable;
use futures::FutureExt;
use tokio::sync::watch;

use self::steps::{Ended, after};
use self::verdict::Verdict;
use super::ProcessSettings;
use super::breaker::{RunNumber, SharedBreaker, Signal, Spared};
use crate::runner::{Outcome, TaskRunner};
use crate::store::{Candidate, QueueStore, StoreError, TakeOutcome, TakeRequest};
use crate::task::{Lease, LeaseToken, Settlement, TakenTask, TaskId};
use crate::time::{Clock, Millis};
use crate::trace;

/// `ttl` of a TAKEN task lies this far past its lease: DynamoDB deletes running work only if the
/// sweep failed for longer.
const TAKEN_TTL_MARGIN: Duration = Duration::from_secs(86_400);

/// What every attempt needs.
pub(super) struct Attempts {
    pub(super) store: Arc<dyn QueueStore>,
    pub(super) runner: Arc<dyn TaskRunner>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) settings: ProcessSettings,
    pub(super) breaker: SharedBreaker,
    /// Turns true when running tasks must be returned.
    pub(super) cut_off: watch::Receiver<bool>,
}

/// How an attempt ended.
#[derive(Debug)]
pub(super) struct Attempted {
    pub(super) task: TaskId,
    /// How old the task was at its start; `None` if it was not taken.
    pub(super) start_age: Option<Duration>,
    /// Its run, if there was one.
    pub(super) run: Option<Run>,
    pub(super) end: End,
    /// A newer state of the task's key came while it ran: it is PENDING.
    pub(super) overtaken: bool,
    pub(super) downstream: Downstream,
}

/// The run of an attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) number: RunNumber,
    pub(super) started: Millis,
    pub(super) ended: Millis,
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

/// Why a task was returned.
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
    /// It rejects us.
    Refused,
    /// Nothing is known: no run, no answer, or cut off.
    Unknown,
}

impl Attempts {
    /// Takes the task and, if it is ours, runs and settles it.
    pub(super) async fn attempt(self: Arc<Self>, candidate: Candidate, alone: bool) -> Attempted {
        let task = candidate.id.clone();
        let suspect = candidate.lease_ran_out;
        let (mut start_age, mut run) = (None, None);
        let mut downstream = Downstream::Unknown;
        let end = match self.take(candidate, alone).await {
            Ok(TakeOutcome::Won(taken)) if self.is_too_short(&taken.lease) => {
                self.return_unstarted(&taken.lease, suspect).await
            }
            Ok(TakeOutcome::Won(taken)) => {
                trace::taken(
                    taken.task.task_id.as_str(),
                    taken.task.attempt,
                    taken.trace.as_ref(),
                );
                let started = self.clock.now();
                start_age = Some(started.since(taken.task.task_created));
                let number = self.breaker.lock().run_starts();
                let outcome = self.run(&taken).await;
                let answer = run_log::answer(outcome.as_ref());
                trace::answered(answer);
                downstream = Downstream::from(outcome.as_ref());
                let signal = Signal::from(outcome.as_ref());
                let ended = self.clock.now();
                run = Some(Run {
                    number,
                    started,
                    ended,
                });
                let spared = self.breaker.lock().run_ended(number, &task, signal, ended);
                let end = self.settle_by(&taken, outcome, suspect, spared).await;
                let result = end.as_ref().ok().map(|ended| &ended.end);
                if run_log::is_due(result, self.settings.logged_successes, fastrand::f64) {
                    run_log::write(&taken.task, answer, result, started, ended);
                }
                end
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
            let error = error_chain::chain(&error);
            tracing::error!(task_id = %task, error, "step failed after all retries; the sweep returns the task");
            End::StoreFailed.into()
        });
        Attempted {
            task,
            start_age,
            run,
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
        spared: Option<Spared>,
    ) -> Result<Ended, StoreError> {
        match self.verdict(taken, outcome, spared) {
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
