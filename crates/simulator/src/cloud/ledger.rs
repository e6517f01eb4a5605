//! The ledger records all events of the cloud and checks the guarantees.
//!
//! | module | what it checks |
//! |---|---|
//! | `tasks`, `takes`, `runs` | S1 to S4, on every task change, every take and every run |
//! | `turns` | S5, W2 and W3, on every take, control item change and publish |
//! | `slots` | nothing; it counts the faults that meet tasks taken ahead and late settlements |
//! | `waiting` | W1, no lost wake-ups while a task is due |
//! | `trace` | nothing; it records the events |

mod runs;
mod slots;
mod takes;
mod tasks;
mod trace;
mod turns;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};

use lifo_queue::task::{LeaseToken, TaskId};
use lifo_queue::time::Millis;
use uuid::Uuid;

use self::runs::Run;
use self::slots::Slots;
use self::takes::Take;
use self::tasks::History;
use self::trace::{Trace, What};
use self::turns::{Marks, Seen};
pub(crate) use self::waiting::Due;
use self::waiting::Waiting;
use super::invocation::Ended;
use super::process::{Function, Process};
use super::settings::CloudSettings;
use crate::fault::Fault;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunEnd {
    /// The run succeeded or failed. Only the settlement may follow.
    Final,
    /// The run requested a retry.
    Again,
    /// The downstream was busy. A limited number of these runs do not count as attempts.
    Busy,
    Unavailable,
    /// The process dropped the run after a timeout, after a cut-off, or because the process died.
    Dropped,
}

/// Maximum number of violations to keep. The earliest are the most useful.
const KEPT: usize = 10;

#[derive(Default)]
pub(crate) struct Ledger {
    settings: CloudSettings,
    trace: Trace,
    violations: Vec<String>,
    pub(crate) steps: u64,
    pub(crate) starts: u64,
    dead: BTreeSet<u32>,
    histories: BTreeMap<TaskId, History>,
    takes: BTreeMap<Uuid, Take>,
    runs: Vec<Run>,
    slots: Slots,
    /// Number of consecutive failed calls, by process and task.
    failures: BTreeMap<(u32, TaskId), u32>,
    /// Pairs of a process and a task for which the process stopped retrying a call.
    exhausted: BTreeSet<(u32, TaskId)>,
    /// Index pages, lease and other facts that a processor knows, by process.
    seen: BTreeMap<u32, Seen>,
    owners: BTreeMap<Uuid, u32>,
    /// The process whose lease is in the control item, live or expired.
    holder: Option<u32>,
    marks: Marks,
    waiting: Waiting,
    /// Expiry of the lease of each TAKEN task.
    leases: BTreeMap<TaskId, Millis>,
    /// Whether the circuit breaker is open according to the control item.
    breaker_open: bool,
    /// Number of consecutive runs without a result according to the control item.
    without_result: usize,
}

impl Ledger {
    pub(crate) fn new(settings: CloudSettings) -> Self {
        Self {
            settings,
            ..Self::default()
        }
    }

    pub(crate) fn note(&mut self, now: Millis, process: u32, text: impl Into<String>) {
        self.trace.push(now, process, What::Note(text.into()));
    }

    pub(crate) fn violation(&mut self, now: Millis, text: impl Into<String>) {
        let text = text.into();
        self.note(now, 0, format!("VIOLATION {text}"));
        if self.violations.len() < KEPT {
            self.violations.push(text);
        }
    }

    pub(crate) fn called(
        &mut self,
        now: Millis,
        process: &Process,
        operation: &'static str,
        fault: Option<Fault>,
    ) {
        self.steps += 1;
        if let Some(fault) = fault {
            self.slots_met(process, operation, fault);
        }
        self.trace
            .push(now, process.id, What::Called(operation, fault));
    }

    pub(crate) fn killed(&mut self, now: Millis, process: &Process, at: &str, kind: Fault) {
        self.slots_met(process, at, kind);
        self.note(now, process.id, format!("killed at {at}"));
    }

    pub(crate) fn process_ended(&mut self, now: Millis, process: &Process, ended: Ended) {
        self.note(now, process.id, format!("{ended:?}"));
        if ended == Ended::Died {
            self.dead.insert(process.id);
            self.slots.died(process.id);
            self.runs.retain(|run| run.process != process.id);
            self.setback(now, format!("process {} died", process.id));
        } else if ended == Ended::Failed && self.holder == Some(process.id) {
            // For example, the process acquired the lease but got no response. A sweep waits for
            // the lease to expire.
            self.setback(now, format!("process {} left its lease", process.id));
        }
        self.waiting.ended(now, process, ended);
        if process.function == Function::ProcessTasks {
            self.seen.remove(&process.id);
        }
    }

    pub(crate) fn violations(&self) -> &[String] {
        &self.violations
    }

    pub(crate) fn trace(&self) -> Vec<String> {
        self.trace.render()
    }

    /// Whether the process of this take is allowed to have left its task TAKEN.
    fn is_excused(&self, token: LeaseToken) -> bool {
        self.takes.get(&token.0).is_none_or(|take| {
            let step = (take.process, take.task.clone());
            take.late
                || self.dead.contains(&take.process)
                || self.exhausted.contains(&step)
                // The process's calls fail, but the process still retries them.
                || self.failures.contains_key(&step)
        })
    }
}
