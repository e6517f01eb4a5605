//! Schedules whose runs are so short that tasks are taken before a slot is free.

use std::time::Duration;

use fastrand::Rng;
use serde_json::json;

use super::{Burst, Schedule, pick};

impl Schedule {
    /// Gives short runs and a backlog to a quarter of the schedules in which tasks can be taken
    /// ahead: those without groups and without a limit. Schedules with full pages or a storm keep
    /// their load.
    pub(super) fn with_short_runs(mut self, most_tasks: usize, rng: &mut Rng) -> Self {
        let limited = self.limited.is_some() || self.grouped.is_some();
        if rng.u32(0..4) > 0 || limited || self.pages.is_some() || self.storm.is_some() {
            return self;
        }
        self.settings.process.slots = rng.u16(4..=10);
        self.downstream.longest = Duration::from_millis(*pick(rng, &[20, 60, 200]));
        let backlog = 4 * most_tasks..=12 * most_tasks;
        let specs = 0..rng.usize(backlog);
        self.load.push(Burst {
            after: Duration::ZERO,
            specs: specs
                .map(|n| json!({ "taskId": format!("short{n:03}") }))
                .collect(),
            foreign: None,
        });
        self
    }
}
