//! Effects of the end of an attempt on the summary, the selection, the slots and automatic pauses.

use aws::error_chain;

use super::{AFTER_STORE_ERROR, Turn};
use crate::process::attempt::{Attempted, Downstream, End, Why};
use crate::process::slots::Slots;
use crate::time::Millis;

impl Turn<'_> {
    pub(super) fn record(&mut self, ended: Result<Attempted, tokio::task::JoinError>) {
        let attempted = match ended {
            Ok(attempted) => attempted,
            Err(error) => {
                // The attempt catches panics of the runner, so this panic is a bug of the queue.
                tracing::error!(error = error_chain::chain(&error), "an attempt panicked");
                self.summary.store_errors += 1;
                return;
            }
        };
        let now = self.now();
        // The index may still show the task in its former state.
        let mut leave_alone = now.plus(self.processor.settings.index_lag);
        if let Some(age) = attempted.start_age {
            self.summary.taken += 1;
            self.selector.took();
            self.empty_since = None;
            let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
            self.summary.oldest_start_ms = self.summary.oldest_start_ms.max(age);
        }
        if attempted.overtaken {
            // The task is PENDING, as after a return: another processor may have missed it.
            self.gave_back = true;
            let unfinished = matches!(attempted.end, End::GivenBack { .. });
            self.summary.superseded += u32::from(unfinished);
        }
        match attempted.end {
            End::Succeeded => self.summary.succeeded += 1,
            End::Failed => self.summary.failed += 1,
            End::Quarantined => {
                self.summary.quarantined += 1;
                self.summary.failed += 1;
            }
            End::GivenBack { not_before, why } => {
                leave_alone = not_before;
                self.given_back(why, &attempted.downstream);
            }
            End::LostRace => self.summary.lost_races += 1,
            End::StoreFailed => {
                self.summary.store_errors += 1;
                leave_alone = now.plus(AFTER_STORE_ERROR);
            }
        }
        self.adapt(&attempted, now);
        if self.breaker.lock().attempt_over(&attempted.task, now) {
            // The limit from before the outage says nothing about the capacity now.
            self.slots = Slots::new(self.processor.settings.slots);
        }
        self.selector.leave_alone(attempted.task, leave_alone);
    }

    fn given_back(&mut self, why: Why, downstream: &Downstream) {
        self.gave_back = true;
        match why {
            Why::Retry => self.summary.retried += 1,
            Why::Busy => self.summary.busy += 1,
            Why::Unavailable => {
                self.summary.unavailable += 1;
                // Internal errors end by themselves, because they return a task less often.
                let counts = *downstream != Downstream::InternalError;
                if counts && self.breaker.lock().state().is_some() {
                    self.walls.probe_failed();
                }
            }
            Why::CutOff => {
                self.summary.cut_off += 1;
                self.summary.retried += 1;
            }
        }
    }

    fn adapt(&mut self, attempted: &Attempted, now: Millis) {
        let task = &attempted.task;
        let run = attempted.run.map(|run| run.number);
        match attempted.downstream {
            Downstream::Answered => {
                match self.slowness(attempted) {
                    Some((started, share)) => self.slots.slow(started, share, now),
                    None => self.slots.succeeded(),
                }
                self.walls.answered(self.breaker.lock().newest_run());
            }
            Downstream::Busy { retry_after } => {
                self.slots.busy(retry_after, fastrand::f64(), now);
                self.walls.busy(task, run);
            }
            Downstream::Refused => {
                // Without the answer: it quotes the downstream, which may quote the payload.
                tracing::error!(
                    task_id = %task,
                    "the downstream rejects the queue's calls; see the task's lastError"
                );
                self.walls.rejected(task, run);
            }
            Downstream::InternalError | Downstream::Unknown => {}
        }
    }

    /// For a run that took longer than the target latency: when it started, and the target divided
    /// by its duration.
    fn slowness(&self, attempted: &Attempted) -> Option<(Millis, f64)> {
        let target = self.processor.settings.target_latency?;
        let run = attempted.run?;
        let took = run.ended.since(run.started);
        (took > target).then(|| (run.started, target.as_secs_f64() / took.as_secs_f64()))
    }
}
