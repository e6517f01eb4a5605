//! Counts the faults that meet a task before its run has started, or before its settlement, while
//! other runs go on.

use std::collections::{BTreeMap, BTreeSet};

use lifo_queue::process::RUNS_TO_OPEN;
use lifo_queue::store::memory::Record;
use lifo_queue::task::{TaskId, TaskStatus};

use super::{Ledger, Process};
use crate::cloud::fault::FaultKind;
use crate::cloud::process::Function;

#[derive(Debug, Default)]
pub(super) struct Slots {
    /// TAKEN tasks whose run has not started, by process.
    waiting: BTreeSet<(u32, TaskId)>,
    /// TAKEN tasks whose run has ended, by process.
    unsettled: BTreeSet<(u32, TaskId)>,
    /// Number of occurrences of each event.
    events: BTreeMap<&'static str, u64>,
}

impl Slots {
    pub(super) fn run_ended(&mut self, process: u32, task: &TaskId) {
        self.unsettled.insert((process, task.clone()));
    }

    pub(super) fn died(&mut self, process: u32) {
        let is_its = |(owner, _): &(u32, TaskId)| *owner == process;
        if self.waiting.iter().any(is_its) {
            self.count("died before a start");
        }
        if self.unsettled.iter().any(is_its) {
            self.count("died before a settlement");
        }
    }

    fn count(&mut self, event: &'static str) {
        *self.events.entry(event).or_default() += 1;
    }
}

impl Ledger {
    /// Counts a fault of a take while runs fill the slots of the process.
    pub(super) fn slots_met(&mut self, process: &Process, operation: &str, fault: FaultKind) {
        let runs = self.runs.iter().filter(|run| run.process == process.id);
        let full = runs.count() >= usize::from(self.settings.process.slots);
        match (operation, fault) {
            ("take", FaultKind::LostAck) if full => {
                self.slots.count("take ahead without a response")
            }
            ("take", _) if full => self.slots.count("rejected take ahead"),
            _ => {}
        }
    }

    pub(super) fn slots_start(&mut self, process: &Process, id: &TaskId) {
        self.slots.waiting.remove(&(process.id, id.clone()));
        let unsettled = self.slots.unsettled.iter();
        if unsettled
            .into_iter()
            .any(|run| self.failures.contains_key(run))
        {
            self.slots.count("start beside a failed settlement");
        }
    }

    pub(super) fn slots_changed(&mut self, process: &Process, id: &TaskId, after: Option<&Record>) {
        let run = (process.id, id.clone());
        if after.is_some_and(|after| after.status == TaskStatus::Taken) {
            self.slots.waiting.insert(run);
            return;
        }
        let waited = self.slots.waiting.remove(&run);
        self.slots.unsettled.remove(&run);
        if !waited || process.function != Function::ProcessTasks {
            return;
        }
        self.slots.count("returned unstarted");
        let seen = self.seen.get(&process.id);
        if seen.is_some_and(|seen| seen.without_result.len() >= RUNS_TO_OPEN as usize) {
            self.slots.count("returned unstarted, breaker open");
        }
    }

    pub(crate) fn slot_events(&self) -> &BTreeMap<&'static str, u64> {
        &self.slots.events
    }
}
