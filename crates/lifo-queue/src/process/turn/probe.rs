//! Starts while the circuit breaker is open: one task at a time, and not always the newest.

use super::{Turn, TurnEnd};
use crate::process::select::{DEEP_PAGE, Step, Wanted};
use crate::store::{Candidate, Page};
use crate::task::TaskId;
use crate::time::Millis;

impl Turn<'_> {
    /// Starts the next probe. If no task of its page is due, the usual selection continues and
    /// detects an empty queue.
    pub(super) async fn probe(&mut self, now: Millis) -> Option<TurnEnd> {
        let wanted = Wanted {
            after: None,
            limit: DEEP_PAGE,
        };
        self.gap.look_again();
        // The probe is chosen from a page of its own. The selection then starts with a new head.
        self.selector.forget_pages();
        self.bound_reads(now);
        let read = self.reads.next(wanted, now).await?;
        // The read took time.
        let now = self.now();
        if let Ok(page) = &read.page
            && let Some(task) = self.probe_of(page, now)
        {
            self.start_attempt(task, now);
            return None;
        }
        if let Some(end) = self.take_in(read).await {
            return Some(end);
        }
        match self.next_step(now) {
            Step::Take(task) => {
                self.start_attempt(task, now);
                None
            }
            Step::Read(wanted) => self.read(wanted, now).await,
            Step::Exhausted(pass) => self.nothing_to_take(pass, now).await,
        }
    }

    /// The task for the probe; `None` if no task of the page is due. While earlier runs are active,
    /// it leaves out tasks that must run alone.
    fn probe_of(&self, page: &Page, now: Millis) -> Option<Candidate> {
        let alone = self.running.is_empty();
        let due: Vec<&Candidate> = page
            .candidates
            .iter()
            .filter(|task| self.selector.may_start(task, now))
            .filter(|task| alone || !self.processor.settings.must_run_alone(task))
            .collect();
        let ids: Vec<&TaskId> = due.iter().map(|task| &task.id).collect();
        let place = self.breaker.lock().choose(&ids)?;
        due.get(place).map(|task| (*task).clone())
    }
}
