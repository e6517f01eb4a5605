//! The circuit breaker. While the downstream gives no results, only probes start.
//!
//! It opens after [`RUNS_TO_OPEN`] consecutive runs without a result, counted across turns. A
//! *result* is the success or failure of a run. While the breaker is open, one probe runs at a time,
//! [`FIRST_PROBE`] after the breaker opened, then at growing intervals. The first result closes it.
//!
//! [`Breaker::choose`] chooses the task for a probe. The control item keeps the state across turns.

mod hand;

use std::collections::HashMap;
use std::time::Duration;

use self::hand::Hand;
use super::signal::Start;
use crate::control::{Cause, Health, OpenBreaker};
use crate::task::TaskId;
use crate::time::Millis;

/// Number of consecutive runs without a result that opens the breaker.
pub const RUNS_TO_OPEN: u32 = 5;

/// Wait from the opening of the breaker to the first probe. It doubles with each failed probe.
pub const FIRST_PROBE: Duration = Duration::from_secs(1);

/// Maximum wait between two probes in the first [`LONG_OUTAGE`], counted from the end of the
/// earlier probe.
pub const LONGEST_PROBE: Duration = Duration::from_secs(4);

/// Time after which the interval grows with the duration of the outage.
const LONG_OUTAGE: Duration = Duration::from_secs(600);

/// Maximum interval in a long outage, and while the downstream rejects the queue's requests.
const LONGEST_IN_LONG_OUTAGE: Duration = Duration::from_secs(20);
const LONGEST_IF_REJECTING: Duration = Duration::from_secs(300);

/// Age from which a running probe does not delay the next one. Otherwise, a probe that gets no
/// response would delay the recovery by a task timeout.
const OLD_PROBE: Duration = Duration::from_secs(10);

/// Number of probes that ignore the wait that a busy downstream requested, if it gave a result
/// shortly before: the wait may concern only some of the tasks.
const PROBES_OF_MIXED: u32 = 3;

/// Number of probes after which all are drawn at random, so that each task is tried.
const PROBES_OF_NEWEST: u32 = 10;

/// Wait after a probe that ended without a run, for example because its take failed.
const AFTER_NO_RUN: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(super) struct Breaker {
    /// Whether runs without a result open the breaker.
    enabled: bool,
    /// Number of consecutive runs without a result.
    without_result: u32,
    cause: Option<Cause>,
    /// End of the wait that the last run without a result was asked for.
    asked_until: Option<Millis>,
    /// Time at which this turn last tried each task without a result, since the last result.
    tried: HashMap<TaskId, Millis>,
    open: Option<Open>,
    hand: Hand,
}

#[derive(Debug)]
struct Open {
    since: Millis,
    /// Number of failed probes since the breaker opened, including probes of other turns.
    probes: u32,
    next_probe: Millis,
    /// The task and the start of the newest active probe.
    probing: Option<(TaskId, Millis)>,
    /// Whether the downstream gave a result shortly before the breaker opened.
    mixed: bool,
}

impl Breaker {
    /// Creates the breaker for a turn, with the state that the previous turn left. An open breaker
    /// allows the first probe at the time that the previous turn determined.
    pub(super) fn new(
        enabled: bool,
        left: Option<OpenBreaker>,
        health: &Health,
        now: Millis,
    ) -> Self {
        let open = left.filter(|_| enabled).map(|left| Open {
            since: left.since,
            probes: left.probes,
            // A clock that was ahead must not delay the probe by more than an interval.
            next_probe: health.next_probe.map_or(now, |at| {
                at.min(now.plus(interval(left.probes, health.cause, now.since(left.since))))
            }),
            probing: None,
            mixed: false,
        });
        // After five or more such runs, only an operator closes the breaker.
        let by_hand = open.is_none() && health.without_result >= RUNS_TO_OPEN;
        let health = if by_hand { &Health::default() } else { health };
        Self {
            enabled,
            without_result: health.without_result,
            cause: health.cause,
            asked_until: health.asked_until,
            tried: HashMap::new(),
            open,
            hand: Hand::default(),
        }
    }

    /// The open breaker, for the control item; `None` while it is closed.
    pub(super) fn state(&self) -> Option<OpenBreaker> {
        self.open.as_ref().map(|open| OpenBreaker {
            since: open.since,
            probes: open.probes,
        })
    }

    /// The other facts for the next turn. The limit is missing.
    pub(super) fn left(&self) -> Health {
        Health {
            without_result: self.without_result,
            cause: self.cause,
            asked_until: self.asked_until,
            next_probe: self.next_probe(),
            ..Health::default()
        }
    }

    /// Time at which the next probe may start; `None` while the breaker is closed.
    pub(super) fn next_probe(&self) -> Option<Millis> {
        self.open.as_ref().map(|open| open.next_probe)
    }

    /// The wait after the next failed probe.
    pub(super) fn interval(&self, now: Millis) -> Duration {
        let open = self.open.as_ref();
        open.map_or(LONGEST_PROBE, |open| {
            interval(open.probes + 1, self.cause, now.since(open.since))
        })
    }

    /// Whether another task may start in addition to `running` others. After runs without a result,
    /// the number of running tasks falls with each of them, so that an outage costs few calls.
    pub(super) fn start(&self, running: usize, limit: usize, now: Millis) -> Start {
        let Some(open) = &self.open else {
            let allowed = match self.enabled {
                true => limit * self.left_to_open() / RUNS_TO_OPEN as usize + 1,
                false => limit,
            };
            return match running < limit.min(allowed) {
                true => Start::Any,
                false => Start::Wait(Millis::MAX),
            };
        };
        let probing = open.probing.as_ref();
        let old_at = probing.map(|(_, started)| started.plus(OLD_PROBE));
        match old_at.max(Some(open.next_probe)).filter(|at| *at > now) {
            Some(at) => Start::Wait(at),
            // Probes without a response must not use more slots than there are.
            None if probing.is_some() && running >= limit => Start::Wait(Millis::MAX),
            None => Start::Probe,
        }
    }

    /// Whether the breaker is closed and the last run had a result.
    pub(super) fn allows_all(&self) -> bool {
        self.open.is_none() && self.without_result == 0
    }

    fn left_to_open(&self) -> usize {
        RUNS_TO_OPEN.saturating_sub(self.without_result) as usize
    }

    /// Chooses the next probe from the due tasks, which are in index order, and returns its index.
    /// In the first ten probes, two choices alternate: any task, drawn at random, and the first one,
    /// both of those that had no run without a result in this turn. Later, all are drawn. So neither
    /// poison tasks at the head nor old tasks delay the recovery. The task at `ending` is about to
    /// expire and replaces every other probe. Once all tasks have been tried, chooses the task at
    /// `ending` or the task tried longest ago, but only if `tried_too`.
    pub(super) fn choose(
        &self,
        due: &[&TaskId],
        ending: Option<usize>,
        tried_too: bool,
    ) -> Option<usize> {
        let open = self.open.as_ref()?;
        let is_tried = |place: &usize| self.tried.contains_key(due[*place]);
        let (tried, untried): (Vec<usize>, Vec<usize>) = (0..due.len()).partition(is_tried);
        let any = open.probes.is_multiple_of(2) || open.probes >= PROBES_OF_NEWEST;
        let alternate = !open.probes.is_multiple_of(2);
        if ending.is_some() && (alternate || (untried.is_empty() && tried_too)) {
            return ending;
        }
        if untried.is_empty() {
            let tried = tried.into_iter().filter(|_| tried_too);
            return tried.min_by_key(|place| self.tried.get(due[*place]));
        }
        let place = if any {
            fastrand::usize(..untried.len())
        } else {
            0
        };
        untried.get(place).copied()
    }

    /// Records that an attempt at a task starts. Returns whether it is a probe.
    pub(super) fn starts(&mut self, task: &TaskId, now: Millis) -> bool {
        if let Some(open) = &mut self.open {
            open.probing = Some((task.clone(), now));
        }
        self.open.is_some()
    }

    /// Records that a run got a result, which closes the breaker unless an operator holds it open.
    pub(super) fn got_result(&mut self, now: Millis) {
        self.close();
        if self.is_held(now) {
            self.open_at(now, false);
        }
    }

    /// Records that a run ended without a result, and that the task is probably not the cause.
    /// `mixed` states whether the downstream gave a result shortly before.
    pub(super) fn no_result(
        &mut self,
        task: &TaskId,
        (cause, asked): (Cause, Option<Duration>),
        mixed: bool,
        now: Millis,
    ) {
        self.without_result = self.without_result.saturating_add(1);
        self.cause = Some(cause);
        self.asked_until = asked.map(|asked| now.plus(asked));
        self.tried.insert(task.clone(), now);
        if self.open.is_none() && self.enabled && self.without_result >= RUNS_TO_OPEN {
            self.open_at(now, mixed);
        }
        let Some(open) = &mut self.open else {
            return;
        };
        // Other runs started before the breaker opened, or are old probes.
        let is_probe = open.probing.take_if(|(probing, _)| probing == task);
        open.probes = open.probes.saturating_add(u32::from(is_probe.is_some()));
        let ignores = open.mixed && open.probes < PROBES_OF_MIXED;
        let asked = self.asked_until.filter(|_| !ignores);
        if is_probe.is_some() {
            let wait = interval(open.probes, self.cause, now.since(open.since));
            open.next_probe = now.plus(wait);
        }
        open.next_probe = open.next_probe.max(asked.unwrap_or(open.next_probe));
    }

    /// Records that an attempt ended without a run or without information. If it was the active
    /// probe, the next probe may start after [`AFTER_NO_RUN`].
    pub(super) fn probe_over(&mut self, task: &TaskId, now: Millis) {
        if let Some(open) = &mut self.open
            && open
                .probing
                .take_if(|(probing, _)| probing == task)
                .is_some()
        {
            self.tried.insert(task.clone(), now);
            open.next_probe = open.next_probe.max(now.plus(AFTER_NO_RUN));
        }
    }

    fn open_at(&mut self, now: Millis, mixed: bool) {
        self.open.get_or_insert_with(|| Open {
            since: now,
            probes: 0,
            next_probe: now.plus(FIRST_PROBE),
            probing: None,
            mixed,
        });
    }

    fn close(&mut self) {
        self.without_result = 0;
        (self.cause, self.asked_until) = (None, None);
        self.tried.clear();
        self.open = None;
    }
}

/// The wait after a probe that failed `elapsed` after the breaker opened, as the `probes`th.
fn interval(probes: u32, cause: Option<Cause>, elapsed: Duration) -> Duration {
    let doubled = FIRST_PROBE * 2_u32.pow(probes.min(10));
    let long = match cause {
        Some(Cause::Rejecting) => (elapsed / 10).min(LONGEST_IF_REJECTING),
        _ if elapsed >= LONG_OUTAGE => (elapsed / 60).min(LONGEST_IN_LONG_OUTAGE),
        _ => Duration::ZERO,
    };
    doubled.min(LONGEST_PROBE).max(long)
}

#[cfg(test)]
mod tests;
