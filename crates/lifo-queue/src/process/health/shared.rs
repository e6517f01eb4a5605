//! The health of all downstreams of a turn, shared by the loop, the attempts and the heartbeat.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::domains::Domains;
use super::{GroupLimits, Health, Ruling, Run, Signal, UnsavedGroups};
use crate::control::Carried;
use crate::process::groups::Gates;
use crate::store::Candidate;
use crate::task::TaskId;
use crate::time::Millis;

/// The downstreams of a turn. The loop uses them to start tasks, the attempts record the ends of
/// their runs, and the heartbeat writes their state. An attempt needs the ruling at the end of its
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

/// The health of the queue and of its groups, and the limits of its groups.
#[derive(Debug)]
pub(in crate::process) struct Downstream {
    queue: Health,
    /// `None` in a queue without groups.
    groups: Option<GroupLimits>,
    /// `None` if all groups share the queue's breaker.
    domains: Option<Domains>,
}

impl Downstream {
    /// Creates the state of the downstream for a turn that starts at `now`.
    pub(in crate::process) fn new(queue: Health, groups: Option<GroupLimits>, now: Millis) -> Self {
        let of_groups = groups.as_ref().filter(|groups| groups.have_breakers());
        let domains = of_groups.map(|groups| Domains::new(&queue.settings, groups.left(), now));
        Self {
            queue,
            groups,
            domains,
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
        let is_probe = self.queue.attempt_started(task, now);
        match &mut self.domains {
            None => is_probe,
            Some(domains) => domains.of(task).attempt_started(task, now) || is_probe,
        }
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
        let Some(domains) = &mut self.domains else {
            return;
        };
        if !ran {
            domains.of(task).attempt_without_run(task, now);
        }
        if groups.running(task.group()) == 0 {
            domains.rest(task.group());
        }
    }

    /// Time until which no task of this group is due; `None` if the group is open.
    pub(in crate::process) fn closed_until(&self, group: &str, now: Millis) -> Option<Millis> {
        let groups = self.groups.as_ref()?;
        let domains = self.domains.as_ref();
        let waits = domains.and_then(|of| of.waits_until(group, groups.running(group), now));
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
    pub(in crate::process) fn unsaved_groups(&self, now: Millis) -> Option<UnsavedGroups> {
        let groups = self.groups.as_ref()?;
        groups.unsaved(self.domains.as_ref(), now)
    }

    /// Closes the breakers of an empty queue, unless an operator holds the queue's breaker open.
    pub(in crate::process) fn end_outage(&mut self, now: Millis) {
        self.queue.end_outage(now);
        if let Some(domains) = &mut self.domains {
            domains.end_outage();
        }
    }

    /// Records that a run ended with this signal. If groups have limits, a busy response that
    /// requests a wait concerns only the task's group.
    pub(in crate::process) fn run_ended(
        &mut self,
        run: &Run,
        task: &TaskId,
        signal: Signal,
    ) -> Ruling {
        let Some(domains) = &mut self.domains else {
            let of_group = |groups: &mut GroupLimits| groups.run_ended(task, signal, run.ended);
            let of_group = self.groups.as_mut().is_some_and(of_group);
            let signal = if of_group { Signal::Nothing } else { signal };
            return self.queue.run_ended(run, task, signal);
        };
        let ruling = domains.run_ended(run, task, signal);
        // Only an operator's command opens the queue's own breaker.
        if self.queue.open_breaker().is_none() {
            return ruling;
        }
        let of_queue = self.queue.run_ended(run, task, signal);
        Ruling {
            charged: ruling.charged && of_queue.charged,
            next_probe: ruling.next_probe.max(of_queue.next_probe),
            ..ruling
        }
    }

    /// Whether the circuit breaker of the queue or of a group is open.
    pub(in crate::process) fn is_probing(&self) -> bool {
        let of_groups = |domains: &Domains| domains.is_probing();
        self.queue.open_breaker().is_some() || self.domains.as_ref().is_some_and(of_groups)
    }

    /// The state for the next processor, without the observations.
    pub(in crate::process) fn carried(&self) -> Carried {
        Carried {
            breaker: self.queue.open_breaker(),
            health: self.queue.left(),
            ..Carried::default()
        }
    }

    /// The health of the whole queue.
    pub(in crate::process) fn queue(&mut self) -> &mut Health {
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
        let domains = self.downstream.domains.as_ref();
        domains.is_some_and(|domains| domains.open(group).is_some())
    }

    fn probe(&self, group: &str, due: &[&Candidate]) -> Option<usize> {
        let health = self.downstream.domains.as_ref()?.get(group)?;
        health.choose_probe(due, true, self.now)
    }
}
