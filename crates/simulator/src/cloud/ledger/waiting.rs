//! W1: while a task is due, a processor is active, or is being woken, or will be soon.

use std::time::Duration;

use lifo_queue::task::TaskId;
use lifo_queue::time::Millis;

use super::{Ledger, Process};
use crate::cloud::invocation::Ended;
use crate::cloud::process::Function;

/// For clocks that differ, messages that take their time, and sweeps that do.
const SLACK: Duration = Duration::from_secs(45);

/// How long after a task became visible and due a look at the index is sure to see it, whatever
/// the clocks say.
const SURELY_SEEN: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// When a processor was last active, or none was allowed to be.
    awake: Millis,
    /// When the last turn or sweep that ended well looked for the last time.
    last_look: Millis,
    /// What was lost, since the world was last clean.
    setbacks: Vec<(Millis, String)>,
}

impl Waiting {
    pub(super) fn ended(&mut self, now: Millis, process: &Process, ended: Ended) {
        if ended != Ended::Returned {
            return;
        }
        let look = match process.function {
            // It looks until it ends, and waits for tasks that become due within the turn.
            Function::ProcessTasks => now,
            Function::SweepTasks => process.started,
            _ => return,
        };
        self.last_look = self.last_look.max(look);
    }
}

/// A task that is due, as the cloud knows it.
pub(crate) struct Due {
    pub(crate) task: TaskId,
    /// Since when it is due and visible in the index.
    pub(crate) since: Millis,
    /// It was never returned, so its stream record alone must have woken a processor.
    pub(crate) fresh: bool,
}

impl Ledger {
    /// Something was lost that only a sweep can make good.
    pub(crate) fn setback(&mut self, now: Millis, what: impl Into<String>) {
        let what = what.into();
        self.note(now, 0, format!("setback: {what}"));
        self.waiting.setbacks.push((now, what));
    }

    /// A processor is at work, or must not be.
    pub(crate) fn awake(&mut self, now: Millis) {
        self.waiting.awake = now;
    }

    /// Nothing is in flight, nothing is due, nothing is TAKEN: what was lost is made good.
    pub(crate) fn clean(&mut self) {
        self.waiting.setbacks.clear();
    }

    /// No processor is at work, and a task is due. `quiet`: nothing is in flight either.
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
                format!("W1: {task} waits, all is quiet, and nothing was lost"),
            );
        }
    }
}
