//! Updates the summary and the selection after an attempt. By then, the
//! [health of the downstream](crate::process::health) has already recorded the end of the run.
//! Also publishes the downstream's capacity, for ingest admission.

use aws::error_chain;

use super::runs::Ended;
use super::{AFTER_STORE_ERROR, Turn};
use crate::process::attempt::{End, Why};
use crate::process::health::Limits;
use crate::process::observe::Measured;
use crate::time::Millis;

/// Maximum starts per second; `None` if unlimited.
fn rate(limits: &Limits) -> Option<f64> {
    let limit = limits.rate?;
    Some(limit.interval.as_secs_f64().recip())
}

impl Turn<'_> {
    pub(super) fn record(&mut self, ended: Ended) {
        let attempted = match ended {
            Ok(attempted) => attempted,
            Err(error) => {
                // The attempt catches the runner's panics, so this panic is a bug in the queue.
                tracing::error!(error = error_chain::chain(&error), "an attempt panicked");
                self.summary.store_errors += 1;
                return;
            }
        };
        let now = self.now();
        // The index may still show the task in its previous state.
        let mut leave_alone = now.plus(self.processor.settings.index_lag);
        if let Some(age) = attempted.start_age {
            self.summary.taken += 1;
            self.selector.took();
            self.empty_since = None;
            let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
            self.summary.oldest_start_ms = self.summary.oldest_start_ms.max(age);
        }
        if attempted.overtaken {
            // The task is PENDING, as after a return, and another processor may have missed it.
            self.returned = true;
            let unfinished = matches!(attempted.end, End::Returned { .. });
            self.summary.superseded += u32::from(unfinished);
        }
        self.observations.record(&attempted, now);
        let is_known = attempted.end != End::StoreFailed;
        match attempted.end {
            End::Succeeded => self.summary.succeeded += 1,
            End::Failed => self.summary.failed += 1,
            End::Quarantined => {
                self.summary.quarantined += 1;
                self.summary.failed += 1;
            }
            End::Returned { not_before, why } => {
                leave_alone = not_before;
                self.note_return(why);
            }
            End::LostRace => self.summary.lost_races += 1,
            End::StoreFailed => {
                self.summary.store_errors += 1;
                leave_alone = now.plus(AFTER_STORE_ERROR);
            }
        }
        let ran = attempted.start_age.is_some();
        self.downstream
            .lock()
            .attempt_ended(&attempted.task, ran, is_known, now);
        self.selector
            .ended(attempted.task, attempted.ran, leave_alone, now);
    }

    fn note_return(&mut self, why: Why) {
        self.returned = true;
        match why {
            Why::Retry => self.summary.retried += 1,
            Why::Busy => self.summary.busy += 1,
            Why::Unavailable => self.summary.unavailable += 1,
            Why::Unstarted => self.summary.unstarted += 1,
            Why::CutOff => {
                self.summary.cut_off += 1;
                self.summary.retried += 1;
            }
        }
    }

    /// Records whether a slot is free because no task is ready to start, and publishes the capacity
    /// at the end of each interval.
    pub(super) fn measure(&mut self, is_free: bool, now: Millis) {
        let settings = &self.processor.settings;
        if !settings.publish_capacity {
            return;
        }
        self.free_time.note(is_free, now);
        let Some(was_free) = self.free_time.ended(settings.heartbeat, now) else {
            return;
        };
        let measured = {
            let mut downstream = self.downstream.lock();
            let health = downstream.queue();
            match (health.open_breaker(), was_free) {
                (Some(_), _) => Measured::Open,
                (None, true) => Measured::Spare,
                (None, false) => Measured::Full {
                    concurrency: health.concurrency(),
                    rate: rate(&self.limits),
                },
            }
        };
        self.observations.measured(measured, now);
    }
}
