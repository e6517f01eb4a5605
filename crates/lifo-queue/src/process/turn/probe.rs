//! Starts probes while the circuit breaker is open: one task at a time, not always the newest.

use super::{Turn, TurnEnd};
use crate::process::read::Read;
use crate::process::select::{DEEP_PAGE, Step, Wanted};
use crate::store::Candidate;
use crate::time::Millis;

/// The search for a probe, which is a separate pass. It ends at the first page with a suitable task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Search {
    /// Searches for a task that has not been tried since the breaker opened.
    Untried,
    /// Searches for any due task, after a pass that found only tried tasks.
    Any,
}

impl Turn<'_> {
    /// Starts the next probe, or reads another page to find one. A pass that finds no due task ends
    /// like any other pass, so that an empty queue is detected.
    pub(super) async fn probe(&mut self, now: Millis) -> Option<TurnEnd> {
        let step = match self.search {
            None => self.start_search(Search::Untried),
            Some(search) => match self.pass_over(now) {
                Step::Exhausted(pass) if pass.passed_over && search == Search::Untried => {
                    self.start_search(Search::Any)
                }
                step => step,
            },
        };
        match step {
            Step::Take(task) => self.start_probe(task, now),
            Step::Read(wanted) => {
                let read = self.fetch(wanted, now).await?;
                // Update the time, because the read took a while.
                let now = self.now();
                match self.probe_of(&read, now) {
                    Some(task) => self.start_probe(task, now),
                    None => return self.take_in(read).await,
                }
            }
            Step::Exhausted(pass) => {
                self.search = None;
                return self.nothing_to_take(pass, now).await;
            }
        }
        None
    }

    /// Returns the next step of a pass that does not take any task.
    fn pass_over(&mut self, now: Millis) -> Step {
        let downstream = self.downstream.lock();
        self.selector.next(now, &downstream.gates(now), |_| false)
    }

    fn start_search(&mut self, search: Search) -> Step {
        self.search = Some(search);
        self.selector.restart();
        Step::Read(Wanted {
            after: None,
            limit: DEEP_PAGE,
        })
    }

    fn start_probe(&mut self, task: Candidate, now: Millis) {
        self.search = None;
        // This pass did not reach the end, so the next pass starts with a new head.
        self.selector.restart();
        self.start_attempt(task, false, now);
    }

    /// Chooses the probe from a page; `None` if the search must continue. While earlier runs are
    /// active, excludes tasks that must run alone.
    fn probe_of(&self, read: &Read, now: Millis) -> Option<Candidate> {
        let page = read.page.as_ref().ok()?;
        let alone = self.runs.is_empty();
        let due: Vec<&Candidate> = page
            .candidates
            .iter()
            .filter(|task| self.selector.may_start(task, now))
            .filter(|task| self.downstream.is_open(task.id.group(), now))
            .filter(|task| alone || !self.processor.settings.must_run_alone(task))
            .collect();
        let is_whole = read.wanted.after.is_none() && page.next.is_none();
        let tried_too = is_whole || self.search == Some(Search::Any);
        let place = self
            .downstream
            .lock()
            .queue()
            .choose_probe(&due, tried_too, now)?;
        due.get(place).map(|task| (*task).clone())
    }
}
