//! The health of individual groups, in a queue with one circuit breaker per group.
//!
//! A run changes only its group's health. A health at rest is removed, so only groups with running
//! tasks or problems have one.

use std::collections::BTreeMap;

use super::{Health, Ruling, Run, Signal, Start};
use crate::control::{self, LearnedGroup, OpenBreaker};
use crate::process::settings::ProcessSettings;
use crate::task::TaskId;
use crate::time::Millis;

/// The health of the groups of a turn, by group name.
#[derive(Debug)]
pub(super) struct Domains {
    settings: ProcessSettings,
    groups: BTreeMap<String, Health>,
    began: Millis,
}

impl Domains {
    /// Creates the health of the groups for a turn that starts at `now`, with the state that the
    /// previous turn left.
    pub(super) fn new(settings: &ProcessSettings, left: &[LearnedGroup], now: Millis) -> Self {
        let known = left
            .iter()
            .filter(|group| group.breaker.is_some() || !group.health.is_at_rest());
        let health = |group: &LearnedGroup| {
            let left = (group.breaker, &group.health);
            let health = Health::new(settings, settings.limits(), left, now);
            (group.name.clone(), health)
        };
        Self {
            settings: *settings,
            groups: known.map(health).collect(),
            began: now,
        }
    }

    /// The health of the task's group.
    pub(super) fn of(&mut self, task: &TaskId) -> &mut Health {
        let (settings, began) = (self.settings, self.began);
        let group = self.groups.entry(task.group().to_owned());
        group.or_insert_with(|| {
            let nothing = (None, &control::Health::default());
            Health::new(&settings, settings.limits(), nothing, began)
        })
    }

    pub(super) fn get(&self, name: &str) -> Option<&Health> {
        self.groups.get(name)
    }

    /// Returns the open breaker of a group; `None` while it is closed.
    pub(super) fn open(&self, name: &str) -> Option<OpenBreaker> {
        self.get(name)?.open_breaker()
    }

    /// Whether the circuit breaker of a group is open.
    pub(super) fn is_probing(&self) -> bool {
        let mut groups = self.groups.values();
        groups.any(|health| health.open_breaker().is_some())
    }

    /// Time until which the group can't start a task besides `running` others; `None` if it can.
    pub(super) fn waits_until(&self, name: &str, running: usize, now: Millis) -> Option<Millis> {
        match self.get(name)?.start(running, now) {
            Start::Wait(until) => Some(until),
            Start::Any | Start::Probe => None,
        }
    }

    /// Records that a run ended with this signal.
    pub(super) fn run_ended(&mut self, run: &Run, task: &TaskId, signal: Signal) -> Ruling {
        let health = self.of(task);
        let was_open = health.open_breaker().is_some();
        let ruling = health.run_ended(run, task, signal);
        let group = task.group();
        match (was_open, health.open_breaker().is_some()) {
            (false, true) => tracing::warn!(group, "the circuit breaker of a group opened"),
            (true, false) => tracing::info!(group, "the circuit breaker of a group closed"),
            _ => {}
        }
        ruling
    }

    /// Records that the last running task of the group ended.
    pub(super) fn rest(&mut self, name: &str) {
        if self.get(name).is_some_and(Health::is_at_rest) {
            self.groups.remove(name);
        }
    }

    /// Closes every breaker.
    pub(super) fn end_outage(&mut self) {
        self.groups.clear();
    }
}

#[cfg(test)]
mod tests;
