//! Checks W1: while a task is due, a processor is active, is being woken, or will be woken soon.

use std::time::Duration;

use lifo_queue::task::TaskId;
use lifo_queue::time::Millis;

use super::{Ledger, Process};
use crate::cloud::invocation::Ended;
use crate::cloud::process::Function;

/// Allowance for clock differences, and for the durations of messages and sweeps.
const SLACK: Duration = Duration::from_secs(45);

/// Time after which an index read is certain to show a task that became visible and due, regardless
/// of clock differences.
const SURELY_SEEN: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// Most recent time at which a processor was active or the queue was paused.
    awake: Millis,
    /// Time of the most recent successful read of the index by a turn or sweep.
    last_look: Millis,
    /// Losses since all earlier losses were known to be repaired.
    setbacks: Vec<(Millis, String)>,
}

impl Waiting {
    pub(super) fn ended(&mut self, now: Millis, process: &Process, ended: Ended) {
        if ended != Ended::Returned {
            return;
        }
        let look = match process.function {
            // A turn reads until it ends, and waits for tasks that become due within the turn.
            Function::ProcessTasks => now,
            Function::SweepTasks => process.started,
            _ => return,
        };
        self.last_look = self.last_look.max(look);
    }
}

/// A task that is due according to the table and the index.
pub(crate) struct Due {
    pub(crate) task: TaskId,
    /// Time since which the task has been due and visible in the index.
    pub(crate) since: Millis,
    /// Whether the task has no `notBefore`, so that its stream record alone must have woken a
    /// processor.
    pub(crate) fresh: bool,
}

impl Ledger {
    /// Records a loss that only a sweep can repair.
    pub(crate) fn setback(&mut self, now: Millis, what: impl Into<String>) {
        let what = what.into();
        self.note(now, 0, format!("setback: {what}"));
        self.waiting.setbacks.push((now, what));
    }

    /// Records that a processor is active, or that the queue is paused.
    pub(crate) fn awake(&mut self, now: Millis) {
        self.waiting.awake = now;
    }

    /// Records that nothing is in flight, due or TAKEN: all losses are repaired.
    pub(crate) fn clean(&mut self) {
        self.waiting.setbacks.clear();
    }

    /// Checks W1 while a task is due and no processor is active. `quiet` is true if nothing is in
    /// flight.
    pub(crate) fn asleep(&mut self, now: Millis, due: &Due, quiet: bool) {
        let Waiting {
            awake, last_look, ..
        } = self.waiting;
        let Due { task, since, fresh } = due;
        let asleep_since = awake.max(*since);
        let settings = &self.settings;
        let once = settings.process.processor_lease
            + settings.process.notification_marker
            + settings.sweep_interval
            + settings.process.index_lag
            + SLACK;
        let setbacks = self.waiting.setbacks.iter();
        let setbacks = setbacks.filter(|(at, _)| *at >= awake.minus(settings.sweep_interval));
        let again = u32::try_from(setbacks.count()).unwrap_or(u32::MAX);
        let bound = once + again * settings.sweep_interval;
        if now.since(asleep_since) > bound {
            let text = format!("W1: {task} is due and no processor started within {bound:?}");
            self.violation(now, text);
        } else if quiet
            && self.waiting.setbacks.is_empty()
            && (*fresh || last_look > since.plus(SURELY_SEEN))
        {
            self.violation(
                now,
                format!("W1: {task} is due, nothing is in flight, and nothing was lost"),
            );
        }
    }
}
