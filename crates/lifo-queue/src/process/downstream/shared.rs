//! All ledgers of a turn, shared by the loop, the attempts and the heartbeat.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::breakers::GroupBreakers;
use super::{GroupLimits, Learning, Ledger, Ruling, Run, RunNumber, Signal};
use crate::process::groups::Gates;
use crate::store::Candidate;
use crate::task::TaskId;
use crate::time::Millis;

/// The ledgers of a turn. The loop uses them to start tasks, the attempts record the ends of their
/// runs, and the heartbeat writes the ledgers' state. An attempt needs the ruling at the end of its
/// run, while the loop may be waiting for an index page. So the loop is not their only owner.
#[derive(Clone, Debug)]
pub(in crate::process) struct SharedDownstream(Arc<Mutex<Downstream>>);

impl SharedDownstream {
    pub(in crate::process) fn new(downstream: Downstream) -> Self {
        Self(Arc::new(Mutex::new(downstream)))
    }

    /// Whether tasks of this group may start.
    pub(in crate::process) fn is_open(&self, group: &str, now: Millis) -> bool {
        self.lock().closed_until(group, now).is_none()
    }

    pub(in crate::process) fn lock(&self) -> MutexGuard<'_, Downstream> {
        // Nothing panics while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The ledgers of a turn, and the limits of its groups.
#[derive(Debug)]
pub(in crate::process) struct Downstream {
    queue: Ledger,
    /// `None` in a queue without groups.
    groups: Option<GroupLimits>,
    /// `None` if all groups share the queue's breaker.
    breakers: Option<GroupBreakers>,
}

impl Downstream {
    /// Creates the state of the downstream for a turn that starts at `now`.
    pub(in crate::process) fn new(queue: Ledger, groups: Option<GroupLimits>, now: Millis) -> Self {
        let of_groups = groups.as_ref().filter(|groups| groups.have_breakers());
        let breakers = of_groups.map(|groups| {
            GroupBreakers::new(&queue.settings, groups.left(), queue.last_start, now)
        });
        Self {
            queue,
            groups,
            breakers,
        }
    }

    /// The limits of the groups; `None` in a queue without groups.
    pub(in crate::process) fn groups(&mut self) -> Option<&mut GroupLimits> {
        self.groups.as_mut()
    }

    /// Records that an attempt at a task starts. Returns whether it is a probe.
    pub(in crate::process) fn attempt_started(&mut self, task: &TaskId, now: Millis) -> bool {
        if let Some(groups) = &mut self.groups {
            groups.started(task, now);
        }
        let is_probe = self.queue.attempt_started(task);
        match &mut self.breakers {
            None => is_probe,
            Some(breakers) => breakers.of(task).attempt_started(task) || is_probe,
        }
    }

    /// Records the start of an attempt's run, and returns the run's number.
    pub(in crate::process) fn run_started(&mut self, task: &TaskId) -> RunNumber {
        let run = self.queue.run_started();
        if let Some(breakers) = &mut self.breakers {
            breakers.of(task).breaker.note_run(run);
        }
        run
    }

    /// Records that an attempt ended. `ran` states whether it included a run. If the task's state
    /// is unknown, its lease counts as a run.
    pub(in crate::process) fn attempt_ended(
        &mut self,
        task: &TaskId,
        ran: bool,
        is_known: bool,
        now: Millis,
    ) {
        if !ran {
            self.queue.attempt_without_run(task, now);
        }
        let Some(groups) = &mut self.groups else {
            return;
        };
        groups.ended(task, is_known, now);
        let Some(breakers) = &mut self.breakers else {
            return;
        };
        if !ran {
            breakers.of(task).attempt_without_run(task, now);
        }
        if groups.running(task.group()) == 0
            && let Some(pause) = breakers.rest(task.group(), now)
        {
            groups.close(task, &pause);
        }
    }

    /// Time until which no task of this group is due; `None` if the group is open.
    pub(in crate::process) fn closed_until(&self, group: &str, now: Millis) -> Option<Millis> {
        let groups = self.groups.as_ref()?;
        let breakers = self.breakers.as_ref();
        let waits = breakers.and_then(|of| of.waits_until(group, groups.running(group), now));
        groups.closed_until(group, now).max(waits)
    }

    /// The gates of the groups at `now`.
    pub(in crate::process) fn gates(&self, now: Millis) -> impl Gates {
        GatesAt {
            downstream: self,
            now,
        }
    }

    /// Returns the group state that the next processor needs; `None` if the table contains it.
    pub(in crate::process) fn learning(&self, now: Millis) -> Option<Learning> {
        let groups = self.groups.as_ref()?;
        groups.learning(self.breakers.as_ref(), now)
    }

    /// Closes the breakers of an empty queue, unless an operator holds the queue's breaker open.
    pub(in crate::process) fn end_outage(&mut self, now: Millis) {
        self.queue.end_outage(now);
        if let Some(breakers) = &mut self.breakers {
            breakers.end_outage();
        }
    }

    /// Records that a run ended with this signal. `jitter` is a random number from 0 to 1. If
    /// groups have limits or breakers, a busy response that requests a wait closes only the group.
    pub(in crate::process) fn run_ended(
        &mut self,
        run: &Run,
        task: &TaskId,
        signal: Signal,
        jitter: f64,
    ) -> Ruling {
        let asked = match (&mut self.groups, signal) {
            (
                Some(groups),
                Signal::Busy {
                    retry_after: Some(wait),
                },
            ) => groups.asked(task, wait, run.ended),
            _ => false,
        };
        let signal = if asked { Signal::Nothing } else { signal };
        let Some(breakers) = &mut self.breakers else {
            return self.queue.run_ended(run, task, signal, jitter);
        };
        // Only an operator's command opens the queue's own breaker.
        let is_open = self.queue.open_breaker().is_some();
        let of_queue = if is_open { signal } else { Signal::Nothing };
        let of_queue = self.queue.run_ended(run, task, of_queue, jitter);
        let ruling = breakers.run_ended(run, task, signal, jitter);
        Ruling {
            spared: ruling.spared.or(of_queue.spared),
            held: of_queue.held,
            ..ruling
        }
    }

    /// Returns the ledger that a run of this task changes.
    pub(in crate::process) fn of(&mut self, task: &TaskId) -> &mut Ledger {
        match &mut self.breakers {
            None => &mut self.queue,
            Some(breakers) => breakers.of(task),
        }
    }

    /// The ledger of the whole queue.
    pub(in crate::process) fn queue(&mut self) -> &mut Ledger {
        &mut self.queue
    }
}

/// The gates of the groups at a time.
struct GatesAt<'a> {
    downstream: &'a Downstream,
    now: Millis,
}

impl Gates for GatesAt<'_> {
    fn closed_until(&self, group: &str) -> Option<Millis> {
        self.downstream.closed_until(group, self.now)
    }

    fn is_probed(&self, group: &str) -> bool {
        let breakers = self.downstream.breakers.as_ref();
        breakers.is_some_and(|breakers| breakers.open(group).is_some())
    }

    fn probe(&self, group: &str, due: &[&Candidate]) -> Option<usize> {
        let ledger = self.downstream.breakers.as_ref()?.get(group)?;
        ledger.choose_probe(due, true, self.now)
    }
}
