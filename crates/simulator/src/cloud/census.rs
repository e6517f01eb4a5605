//! Figures of a run.

use std::collections::BTreeMap;
use std::fmt;

use lifo_queue::process::TurnSummary;

use crate::fault::Fault;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    pub schedules: u64,
    pub tasks: u64,
    /// Number of started task runs.
    pub starts: u64,
    /// Number of requests to the table and the topics.
    pub steps: u64,
    pub sweeps: u64,
    /// Number of index pages that `process-tasks` read. `entries` is the number of their entries.
    pub pages: u64,
    pub entries: u64,
    /// Number of turns by [`Exit`](lifo_queue::process::Exit), in its `Debug` format. Turns of
    /// crashed processes are not counted.
    pub turns: BTreeMap<String, u64>,
    pub faults: BTreeMap<Fault, u64>,
    /// Number of faults that met a task before its start or its settlement, while other runs went on.
    pub slots: BTreeMap<&'static str, u64>,
    /// Number of tasks by final state: `SUCCESS`, `FAILURE`, `shed`, `cancelled` or `none`.
    pub ends: BTreeMap<String, u64>,
    /// Elapsed virtual time, in seconds.
    pub seconds: u64,
}

impl Census {
    pub(crate) fn fault(&mut self, kind: Fault) {
        *self.faults.entry(kind).or_default() += 1;
    }

    pub(crate) fn turn(&mut self, summary: &TurnSummary) {
        let exit = format!("{:?}", summary.exit);
        *self.turns.entry(exit).or_default() += 1;
    }

    pub fn add(&mut self, other: &Self) {
        self.schedules += other.schedules;
        self.tasks += other.tasks;
        self.starts += other.starts;
        self.steps += other.steps;
        self.sweeps += other.sweeps;
        self.pages += other.pages;
        self.entries += other.entries;
        self.seconds += other.seconds;
        for (exit, count) in &other.turns {
            *self.turns.entry(exit.clone()).or_default() += count;
        }
        for (event, count) in &other.slots {
            *self.slots.entry(event).or_default() += count;
        }
        for (kind, count) in &other.faults {
            *self.faults.entry(*kind).or_default() += count;
        }
        for (end, count) in &other.ends {
            *self.ends.entry(end.clone()).or_default() += count;
        }
    }
}

impl fmt::Display for Census {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults: u64 = self.faults.values().sum();
        write!(
            f,
            "{} schedules, {} tasks, {} starts, {} sweeps, {} steps, {} virtual hours; \
             turns {:?}; ends {:?}; {faults} faults {:?}; beside runs {:?}",
            self.schedules,
            self.tasks,
            self.starts,
            self.sweeps,
            self.steps,
            self.seconds / 3600,
            self.turns,
            self.ends,
            self.faults,
            self.slots,
        )
    }
}
