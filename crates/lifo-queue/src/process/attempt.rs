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
use super::health::{Ruling, Run, SharedDownstream, Signal, Start};
use super::slots::Slot;
use crate::runner::{Outcome, TaskRunner};
use crate::store::{Candidate, QueueStore, StoreError, TakeOutcome, TakeRequest};
use crate::task::{Lease, LeaseToken, Settlement, TakenTask, TaskId};
use crate::time::{Clock, Millis};
use crate::trace;

/// Time from the expiry of the lease to the `ttl` of a TAKEN task. DynamoDB deletes the task only
/// if the sweep fails for this long.
const TAKEN_TTL_MARGIN: Duration = Duration::from_secs(86_400);

/// Maximum time from the first to the last try of a take in a queue with groups. Together with the
/// request timeout, it equals half of a processor lease. In groups with a concurrency limit, a take
/// is first tried while more than half of the lease is left.
const LAST_TRY: Duration = Duration::from_secs(2);

/// Context shared by all attempts of a turn.
pub(super) struct Attempts {
    pub(super) store: Arc<dyn QueueStore>,
    pub(super) runner: Arc<dyn TaskRunner>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) settings: ProcessSettings,
    pub(super) downstream: SharedDownstream,
    /// Whether running tasks must be returned now.
    pub(super) cut_off: watch::Receiver<bool>,
}

/// How an attempt ended.
#[derive(Debug)]
pub(super) struct Attempted {
    pub(super) task: TaskId,
    /// Age of the task when its run started; `None` if it did not run.
    pub(super) start_age: Option<Duration>,
    pub(super) end: End,
    /// Whether a newer state of the task's key was written during the run. If so, the task is PENDING.
    pub(super) overtaken: bool,
    /// Duration of the run; `None` if the task did not run.
    pub(super) ran: Option<Duration>,
    /// The reason for the outcome; `None` for a success.
    pub(super) reason: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    Succeeded,
    Failed,
    /// Returned to PENDING. It may start again at `not_before`.
    Returned {
        not_before: Millis,
        why: Why,
    },
    /// Set to FAILURE because the item can't be taken or read.
    Quarantined,
    /// Another process changed the task first.
    LostRace,
    /// A store request failed, possibly after retries. If the task is TAKEN, the sweep returns it.
    StoreFailed,
}

/// Why a task was returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Retry,
    Busy,
    Unavailable,
    CutOff,
    /// Taken ahead, but not started.
    Unstarted,
}

impl Attempts {
    /// Takes the task. If the take succeeds, runs the task and settles or returns it. Holds the slot
    /// until the run has ended.
    pub(super) async fn attempt(
        self: Arc<Self>,
        candidate: Candidate,
        alone: bool,
        mut slot: Slot,
    ) -> Attempted {
        let task = candidate.id.clone();
        let suspect = candidate.lease_expired;
        let (mut start_age, mut ran, mut reason) = (None, None, None);
        let end = match self.take(candidate.clone(), alone).await {
            Ok(TakeOutcome::Won(taken)) if !slot.start(|running| self.may_start(running)).await => {
                let why = (Why::Unstarted, "no slot was free in time");
                self.return_unstarted(&taken.lease, suspect, why).await
            }
            Ok(TakeOutcome::Won(taken)) if self.is_too_short(&taken.lease) => {
                let why = (Why::CutOff, "too little of its lease remained");
                self.return_unstarted(&taken.lease, suspect, why).await
            }
            Ok(TakeOutcome::Won(taken)) => {
                trace::taken(
                    taken.task.task_id.as_str(),
                    taken.task.attempt,
                    taken.trace.as_ref(),
                );
                let started = self.clock.now();
                start_age = Some(started.since(taken.task.task_created));
                let outcome = self.run(&taken).await;
                let response = run_log::response(outcome.as_ref());
                trace::responded(response);
                reason = outcome
                    .as_ref()
                    .and_then(Outcome::reason)
                    .map(str::to_owned);
                let ended = self.clock.now();
                ran = Some(ended.since(started));
                let run = Run {
                    started,
                    ended,
                    first: taken.task.total_attempts == 1,
                };
                let signal = Signal::from(outcome.as_ref());
                let ruling = self.downstream.lock().run_ended(&run, &task, signal);
                drop(slot);
                let end = self.settle_by(&taken, outcome, suspect, ruling).await;
                let result = end.as_ref().ok().map(|ended| &ended.end);
                if run_log::is_due(result, self.settings.logged_successes, fastrand::f64) {
                    run_log::write(
                        &taken.task,
                        response,
                        reason.as_deref(),
                        result,
                        started,
                        ended,
                    );
                }
                end
            }
            Ok(TakeOutcome::Lost) => Ok(End::LostRace.into()),
            Ok(TakeOutcome::Unreadable { lease, reason }) => {
                tracing::warn!(task_id = %task, reason, "moving the unreadable task to FAILURE");
                let settlement = Settlement::Failure { reason };
                self.settle(&lease, &settlement)
                    .await
                    .map(|done| after(done, End::Quarantined))
            }
            Ok(TakeOutcome::Rejected { reason }) => self.quarantine(&candidate, &reason).await,
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
            end,
            overtaken,
            ran,
            reason,
        }
    }

    async fn take(&self, candidate: Candidate, alone: bool) -> Result<TakeOutcome, StoreError> {
        let token = LeaseToken::fresh();
        let settings = &self.settings;
        // The same token in each retry lets the store recognize a take with a lost acknowledgement.
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
        // In a queue with groups, no take may reach the table after the lease has expired.
        let last = match settings.groups {
            Some(_) => self.clock.now().plus(LAST_TRY),
            None => Millis::MAX,
        };
        take.retry(steps::patience())
            .when(|error| error.is_transient() && self.clock.now() < last)
            .await
    }

    /// Whether a task that was taken ahead may start in addition to `running` others.
    fn may_start(&self, running: usize) -> bool {
        let now = self.clock.now();
        self.downstream.lock().queue().start(running, now) == Start::Any
    }

    /// Whether a run could outlast the lease. If a take's acknowledgement was lost, the store
    /// recognizes the retry, but the lease ends at the time that the first try set.
    fn is_too_short(&self, lease: &Lease) -> bool {
        let needed = self.settings.task_timeout + self.settings.deadline_margin / 2;
        lease.until.since(self.clock.now()) < needed
    }

    async fn settle_by(
        &self,
        taken: &TakenTask,
        outcome: Option<Outcome>,
        suspect: bool,
        ruling: Ruling,
    ) -> Result<Ended, StoreError> {
        match self.verdict(taken, outcome, ruling) {
            Verdict::Settle(settlement) => {
                let end = match &settlement {
                    Settlement::Success => End::Succeeded,
                    Settlement::Failure { .. } => {
                        // The log omits the reason, because it quotes the downstream's response,
                        // which can contain the payload.
                        let (task_id, attempt) = (&taken.task.task_id, taken.task.attempt);
                        tracing::warn!(
                            %task_id,
                            attempt,
                            "task failed; see lastError for the cause"
                        );
                        End::Failed
                    }
                };
                Ok(after(self.settle(&taken.lease, &settlement).await?, end))
            }
            Verdict::Return(mut back, why) => {
                back.lease_expired = suspect;
                let not_before = back.not_before;
                let done = self.return_task(&taken.lease, &back).await?;
                Ok(after(done, End::Returned { not_before, why }))
            }
        }
    }

    /// Runs the task; `None` if the run was cut off. A panic or a timeout affects only this task.
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
                    reason: format!("did not finish within the task timeout of {limit:?}"),
                },
            }),
            Ok(_) = cut_off.wait_for(|cut| *cut) => None,
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
