//! Counts the faults that meet a task before its run has started, or before its settlement, while
//! other runs go on.

use std::collections::BTreeMap;

use lifo_queue::process::RUNS_TO_OPEN;
use lifo_queue::task::TaskId;

use super::{Ledger, Process};
use crate::fault::Fault;

#[derive(Debug, Default)]
pub(super) struct Slots {
    /// TAKEN tasks whose run has not started, with the process that took them.
    waiting: BTreeMap<TaskId, u32>,
    /// TAKEN tasks whose run has ended, with its process.
    unsettled: BTreeMap<TaskId, u32>,
    /// Number of occurrences of each event.
    events: BTreeMap<&'static str, u64>,
}

impl Slots {
    pub(super) fn taken(&mut self, process: u32, task: &TaskId) {
        self.waiting.insert(task.clone(), process);
    }

    pub(super) fn run_ended(&mut self, process: u32, task: &TaskId) {
        self.unsettled.insert(task.clone(), process);
    }

    pub(super) fn died(&mut self, process: u32) {
        if self.waiting.values().any(|owner| *owner == process) {
            self.count("died before a start");
        }
        if self.unsettled.values().any(|owner| *owner == process) {
            self.count("died before a settlement");
        }
    }

    fn count(&mut self, event: &'static str) {
        *self.events.entry(event).or_default() += 1;
    }
}

impl Ledger {
    /// Counts a fault of a take while runs fill the slots of the process.
    pub(super) fn slots_met(&mut self, process: &Process, operation: &str, fault: Fault) {
        let runs = self.runs.iter().filter(|run| run.process == process.id);
        let full = runs.count() >= usize::from(self.settings.process.slots);
        match (operation, fault) {
            ("take", Fault::LostAck) if full => self.slots.count("take ahead without a response"),
            ("take", _) if full => self.slots.count("rejected take ahead"),
            _ => {}
        }
    }

    /// Counts a start while the settlement of another run of the process fails.
    pub(super) fn slots_start(&mut self, process: &Process, id: &TaskId) {
        self.slots.waiting.remove(id);
        let mut unsettled = self.slots.unsettled.iter();
        let failed = unsettled.any(|(task, owner)| {
            *owner == process.id && self.failures.contains_key(&(*owner, task.clone()))
        });
        if failed {
            self.slots.count("start beside a failed settlement");
        }
    }

    /// Counts a task that its process returns without having started it.
    pub(super) fn slots_left(&mut self, process: &Process, id: &TaskId) {
        self.slots.unsettled.remove(id);
        if self.slots.waiting.remove(id) != Some(process.id) {
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
