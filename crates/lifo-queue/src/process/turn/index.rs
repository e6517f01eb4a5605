//! Index reads during a turn.

use aws::error_chain;

use super::{POLL, Turn, TurnEnd};
use crate::process::read::Read;
use crate::process::select::{DEEP_PAGE_PAUSE, Wanted};
use crate::time::Millis;

/// Number of consecutive failed index reads after which the turn fails.
const MAX_FAILED_READS: u32 = 3;

impl Turn<'_> {
    /// Reads a page that is needed now and passes it to the selector.
    pub(super) async fn read(&mut self, wanted: Wanted, now: Millis) -> Option<TurnEnd> {
        let read = self.fetch(wanted, now).await?;
        self.take_in(read).await
    }

    /// Reads a page that is needed now. Reads beyond the head are at least [`DEEP_PAGE_PAUSE`]
    /// apart. If the read is too early, waits and returns `None`. Request the page again.
    pub(super) async fn fetch(&mut self, wanted: Wanted, now: Millis) -> Option<Read> {
        if wanted.after.is_some() {
            if now < self.reads.next_deep {
                self.wait(self.reads.next_deep).await;
                return None;
            }
            self.reads.next_deep = now.plus(DEEP_PAGE_PAUSE);
        }
        self.bound_reads(now);
        self.reads.next(wanted, now).await
    }

    /// In a queue with groups, reads a head if one is due while no task may start. Returns the time
    /// of the next check, no later than `until`. While the circuit breaker is open, does not read
    /// heads, because probes ignore the groups.
    pub(super) fn keep_up(&mut self, until: Millis, now: Millis) -> Millis {
        let is_open = || self.downstream.lock().queue().open_breaker().is_some();
        let Some(next) = self.selector.next_head().filter(|_| !is_open()) else {
            return until;
        };
        if self.reads.is_reading() {
            // The head's arrival wakes the turn.
            return until;
        }
        if next > now {
            return until.min(next);
        }
        self.start_read(self.selector.wanted_head(now), now);
        until
    }

    /// Reads a head if the current one is too old, because a slot will soon be free. Returns the time
    /// of the next check, no later than `until`.
    pub(super) fn refresh(&mut self, until: Millis, now: Millis) -> Millis {
        match self.selector.old_from() {
            Some(old_from) if old_from > now => return until.min(old_from),
            _ => {}
        }
        self.start_read(self.selector.wanted_head(now), now);
        until
    }

    /// Starts to read a page in advance, unless a read is in progress.
    pub(super) fn start_read(&mut self, wanted: Wanted, now: Millis) {
        self.bound_reads(now);
        self.reads.start(wanted, now);
    }

    /// Records that the newest due task was created at `created`. If an overload begins, discards the
    /// pages that were read before it, because they also contain old tasks.
    pub(super) fn found(&mut self, created: Millis, now: Millis) {
        if self.codel.found(created, now) {
            self.selector.restart();
            self.reads.discard();
        }
    }

    /// Sets the lower bound on `taskCreated` for the next reads. Tasks older than `expiry_bound`
    /// have expired. Under overload, only new tasks are read. The bound never hides redriven tasks.
    fn bound_reads(&mut self, now: Millis) {
        let settings = &self.processor.settings;
        self.reads.created_from = self
            .heartbeat
            .created_from(settings, self.codel.reach(), now);
    }

    /// Handles an index page, or the error from reading it.
    pub(super) async fn take_in(&mut self, read: Read) -> Option<TurnEnd> {
        match read.page {
            Ok(page) => {
                self.reads.failed = 0;
                self.selector
                    .accept(read.wanted, page, read.asked, read.arrived);
                if let Some(from) = self.reads.created_from {
                    self.selector.forget_before(from);
                }
                None
            }
            Err(error) => {
                self.summary.store_errors += 1;
                self.reads.failed += 1;
                if self.reads.failed >= MAX_FAILED_READS || !error.is_transient() {
                    return Some(TurnEnd::Failed(error));
                }
                let error = error_chain::chain(&error);
                tracing::warn!(error, "index not read; retrying");
                self.wait(self.now().plus(POLL)).await;
                None
            }
        }
    }
}
