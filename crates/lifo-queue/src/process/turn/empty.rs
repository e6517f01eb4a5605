//! Handles a pass that found no task to take (rules 5 and 7).

use super::{POLL, Turn, TurnEnd};
use crate::control::Released;
use crate::process::finish::release_request;
use crate::process::select::Pass;
use crate::time::Millis;

impl Turn<'_> {
    /// Applies rule 5 after a pass that found no task to take. While tasks run or a task becomes
    /// due within the turn, waits briefly for the next pass. Otherwise, waits for the maximum index
    /// lag, reads the index again and releases the lease, unless a wake-up was requested.
    pub(super) async fn nothing_to_take(&mut self, pass: Pass, now: Millis) -> Option<TurnEnd> {
        self.summary.empty_polls += u32::from(!pass.took);
        if self.codel.found_nothing(now) {
            self.empty_since = None;
            self.wait(now.plus(POLL)).await;
            return None;
        }
        if pass.took || pass.passed_over || !self.runs.is_empty() {
            self.empty_since = None;
            self.wait(now.plus(POLL)).await;
            return None;
        }
        // While only probes start, the next turn continues to wait, not the next sweep.
        let is_open = self.downstream.lock().is_probing();
        let within = if is_open {
            self.last_start
        } else {
            self.stop_taking
        };
        if let Some(due) = pass.next_due.filter(|due| *due < within) {
            self.empty_since = None;
            self.wait(due.min(now.plus(POLL))).await;
            return None;
        }
        let since = *self.empty_since.get_or_insert(now);
        let lingered = since.plus(self.processor.settings.index_lag);
        if pass.started.is_none_or(|started| started < lingered) {
            self.wait(lingered.min(now.plus(POLL))).await;
            return None;
        }
        if pass.next_due.is_none() {
            // No task is left that the outage could affect. A single failed run hours later must
            // not count as part of this outage.
            self.downstream.lock().end_outage(now);
        }
        self.release_if_empty().await
    }

    async fn release_if_empty(&mut self) -> Option<TurnEnd> {
        if let Err(error) = self.save_groups().await {
            return Some(TurnEnd::Failed(error));
        }
        let release = release_request(
            self.owner,
            &self.summary,
            &self.rate,
            self.carried(),
            Some(self.seen),
        );
        match self.processor.store.release(&release).await {
            Ok(Released::Done { .. }) => Some(TurnEnd::Empty),
            Ok(Released::Requested(control)) => {
                self.seen = control.requested;
                // An operator may have redriven a task that is older than the bound on index reads.
                // The new control item lowers this bound.
                self.heartbeat.observe(control);
                // The operator may also have opened a group.
                if let Err(error) = self.read_groups().await {
                    return Some(TurnEnd::Failed(error));
                }
                self.empty_since = None;
                None
            }
            Ok(Released::NotOurs) => Some(TurnEnd::LeaseLost),
            Err(error) => Some(TurnEnd::Failed(error)),
        }
    }
}
