//! The circuit breaker. While the downstream is unavailable, only probes start, and runs do not
//! count as attempts.
//!
//! The breaker opens when more distinct tasks than can run concurrently find the downstream
//! unavailable, with no result in between. A *result* is the success or failure of a run, unless
//! the run started before the first run that found the downstream unavailable. Any result closes
//! the breaker. From then on, the tasks that had found the downstream unavailable are *discounted*.
//! While the breaker is open, one probe runs at a time. The first probe starts [`FIRST_PROBE`]
//! after the breaker opens. Each failed probe doubles the wait, up to [`LONGEST_PROBE`].
//!
//! [`Breaker::choose`] chooses the task for a probe. The control item keeps the breaker's state
//! across turns and processors as an [`OpenBreaker`].

mod hand;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use self::hand::Hand;
use super::limits::{FEWEST_TASKS, Limits};
use super::signal::{RunNumber, Signal, Spared, Start};
use crate::control::OpenBreaker;
use crate::task::TaskId;
use crate::time::Millis;

/// Wait from the opening of the breaker to the first probe. It doubles with each failed probe.
pub const FIRST_PROBE: Duration = Duration::from_secs(1);

/// Maximum wait between two probes, counted from the end of the earlier probe.
pub const LONGEST_PROBE: Duration = Duration::from_secs(4);

/// Number of runs without a result, as a multiple of the threshold, that opens the breaker. Runs of
/// discounted tasks count too, because the downstream may be available only briefly.
const RUNS_PER_TASK: usize = 4;

/// Number of runs without a result, as a multiple of the threshold, that opens the breaker if they
/// belong to [`FEWEST_TASKS`] or more tasks. The newest tasks may run repeatedly and block others.
const REPEATED_RUNS: usize = 2;

/// Threshold of the breaker of an individual group.
const RUNS_OF_A_GROUP: usize = 2;

/// Number of distinct tasks without a result that makes it unlikely that all of them are the cause.
/// Further runs of these tasks don't count as attempts, even before the breaker opens.
const FEWEST_TO_SPARE: usize = 3;

/// Wait after a probe that ended without a result, for example because its take failed.
const AFTER_NO_RESULT: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(super) struct Breaker {
    /// Number of distinct tasks without a result that opens the breaker; `None` without a breaker.
    threshold: Option<usize>,
    /// Whether two consecutive runs without a result open the breaker, as for a group's breaker.
    opens_early: bool,
    /// Tasks that found the downstream unavailable since the last result.
    without_result: HashSet<TaskId>,
    /// Tasks that found the downstream unavailable before the last result. They may be at fault.
    discounted: HashSet<TaskId>,
    /// Number of runs that found the downstream unavailable since the last result.
    runs_without_result: usize,
    /// First run that found the downstream unavailable. The result of an older run does not count.
    doubtful_since: Option<RunNumber>,
    runs: BTreeSet<RunNumber>,
    next_run: u64,
    open: Option<Open>,
    hand: Hand,
}

#[derive(Debug)]
struct Open {
    since: Millis,
    /// Number of failed probes since the breaker opened, including probes of other turns.
    probes: u32,
    next_probe: Millis,
    /// The task of the active probe.
    probing: Option<TaskId>,
    /// Time at which this turn last tried each task.
    tried: HashMap<TaskId, Millis>,
}

impl Breaker {
    /// Creates the breaker for a turn, with the state that the previous turn left. Without
    /// `limits`, there is no breaker. An open breaker allows the first probe immediately.
    pub(super) fn new(limits: Option<Limits>, left: Option<OpenBreaker>, now: Millis) -> Self {
        let threshold = limits.map(|limits| limits.threshold());
        let open = left.filter(|_| threshold.is_some()).map(|left| Open {
            since: left.since,
            probes: left.probes,
            next_probe: now,
            probing: None,
            tried: HashMap::new(),
        });
        Self {
            threshold,
            opens_early: false,
            without_result: HashSet::new(),
            discounted: HashSet::new(),
            runs_without_result: 0,
            doubtful_since: None,
            runs: BTreeSet::new(),
            next_run: 0,
            open,
            hand: Hand::default(),
        }
    }

    /// Lets two consecutive runs without a result open the breaker, unless their tasks are
    /// discounted. Otherwise, a single task could use up its attempts in a group that starts one
    /// task per ten seconds.
    pub(super) fn opens_early(&mut self) {
        self.opens_early = true;
        self.threshold = self.threshold.map(|_| RUNS_OF_A_GROUP);
    }

    /// Whether the breaker is closed and tracks no runs and no tasks without a result.
    pub(super) fn is_at_rest(&self) -> bool {
        let tasks = self.without_result.len() + self.discounted.len();
        self.open.is_none() && self.runs_without_result + tasks + self.runs.len() == 0
    }

    /// Changes the limits that determine the threshold.
    pub(super) fn change_limits(&mut self, limits: Limits) {
        self.threshold = self.threshold.map(|_| limits.threshold());
    }

    /// Returns the state for the control item; `None` while the breaker is closed.
    pub(super) fn state(&self) -> Option<OpenBreaker> {
        self.open.as_ref().map(|open| OpenBreaker {
            since: open.since,
            probes: open.probes,
        })
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Time at which the next probe may start; `None` while the breaker is closed.
    pub(super) fn next_probe(&self) -> Option<Millis> {
        self.open.as_ref().map(|open| open.next_probe)
    }

    /// Time for which the breaker has been open; `None` while it is closed.
    pub(super) fn open_for(&self, now: Millis) -> Option<Duration> {
        self.open.as_ref().map(|open| now.since(open.since))
    }

    /// Whether another task may start in addition to `running` others.
    pub(super) fn start(&self, running: usize, now: Millis) -> Start {
        let Some(open) = &self.open else {
            // Running tasks may open the breaker, so start only as many as the threshold requires.
            let doubtful = !self.without_result.is_empty()
                && running > 0
                && self
                    .threshold
                    .is_some_and(|most| self.without_result.len() + running >= most);
            return match doubtful {
                true => Start::Wait(Millis::MAX),
                false => Start::Any,
            };
        };
        match &open.probing {
            Some(_) => Start::Wait(Millis::MAX),
            None if open.next_probe > now => Start::Wait(open.next_probe),
            None => Start::Probe,
        }
    }

    /// Chooses the next probe from the due tasks, which are in index order, and returns its index.
    /// Two choices alternate: the task farthest from all tasks tried in this turn since the breaker
    /// opened, and the first untried task. So neither poison tasks at the head nor old tasks delay
    /// the recovery. The task at `ending` is about to expire and replaces the first untried task.
    /// Once all tasks have been tried, chooses the task at `ending` or the task tried longest ago,
    /// but only if `tried_too`.
    pub(super) fn choose(
        &self,
        due: &[&TaskId],
        ending: Option<usize>,
        tried_too: bool,
    ) -> Option<usize> {
        let open = self.open.as_ref()?;
        let is_tried = |place: &usize| open.tried.contains_key(due[*place]);
        let (tried, untried): (Vec<usize>, Vec<usize>) = (0..due.len()).partition(is_tried);
        let farthest = open.probes.is_multiple_of(2);
        if ending.is_some() && (!farthest || (untried.is_empty() && tried_too)) {
            return ending;
        }
        if untried.is_empty() {
            let tried = tried.into_iter().filter(|_| tried_too);
            return tried.min_by_key(|place| open.tried.get(due[*place]));
        }
        if !farthest {
            return untried.first().copied();
        }
        untried.into_iter().max_by_key(|place| {
            let after = tried.partition_point(|tried| tried < place);
            let beside = &tried[after.saturating_sub(1)..tried.len().min(after + 1)];
            let nearest = beside.iter().map(|tried| tried.abs_diff(*place)).min();
            nearest.unwrap_or(usize::MAX)
        })
    }

    /// Records that an attempt at a task starts. Returns whether it is a probe.
    pub(super) fn starts(&mut self, task: &TaskId) -> bool {
        if let Some(open) = &mut self.open {
            open.probing = Some(task.clone());
        }
        self.open.is_some()
    }

    /// Records that a run starts, and returns its number.
    pub(super) fn run_starts(&mut self) -> RunNumber {
        let run = RunNumber(self.next_run + 1);
        self.note_run(run);
        run
    }

    /// Records that a run with this number starts.
    pub(super) fn note_run(&mut self, run: RunNumber) {
        self.next_run = run.0;
        self.runs.insert(run);
    }

    /// The run that started last.
    pub(super) fn newest_run(&self) -> RunNumber {
        RunNumber(self.next_run)
    }

    /// Records that a run ended with this signal. Returns when the task may start again if a run
    /// without a result does not count as an attempt.
    pub(super) fn run_ended(
        &mut self,
        run: RunNumber,
        task: &TaskId,
        signal: Signal,
        now: Millis,
    ) -> Option<Spared> {
        self.runs.remove(&run);
        let again = self.threshold.is_some()
            && self.without_result.len() >= FEWEST_TO_SPARE
            && self.without_result.contains(task);
        let earlier_runs = self.runs.first().is_some_and(|first| *first < run);
        match signal {
            Signal::Result if self.doubtful_since.is_some_and(|first| run < first) => {}
            Signal::Result => self.got_result(now),
            Signal::Busy { retry_after: None } if earlier_runs && !self.is_open() => {}
            Signal::Unavailable | Signal::InternalError | Signal::Busy { retry_after: None } => {
                self.unavailable(run, task, now);
            }
            // A rejection, or a busy response with a requested wait, pauses the queue instead of
            // opening the breaker.
            Signal::Busy { .. } | Signal::Rejecting | Signal::Nothing => {}
        }
        let spared = match self.next_probe() {
            Some(at) => Some(Spared::UntilProbe(at)),
            None => again.then_some(Spared::Backoff),
        };
        self.probe_over(task, now);
        spared
    }

    /// Records that an attempt ended without a result. If it was the active probe, the next probe
    /// may start after [`AFTER_NO_RESULT`].
    pub(super) fn probe_over(&mut self, task: &TaskId, now: Millis) {
        if let Some(open) = &mut self.open
            && open.probing.as_ref() == Some(task)
        {
            open.probing = None;
            open.tried.insert(task.clone(), now);
            open.next_probe = open.next_probe.max(now.plus(AFTER_NO_RESULT));
        }
    }

    /// Opens the breaker, if the settings include one, for example after a long busy period.
    pub(super) fn open(&mut self, now: Millis) {
        if self.threshold.is_some() {
            self.open_at(now);
        }
    }

    fn open_at(&mut self, now: Millis) {
        if self.open.is_some() {
            return;
        }
        let tried = self.without_result.drain().map(|task| (task, now));
        self.open = Some(Open {
            since: now,
            probes: 0,
            next_probe: now.plus(FIRST_PROBE),
            probing: None,
            tried: tried.collect(),
        });
    }

    /// Whether the tasks and runs without a result open the breaker; `most` is the threshold.
    fn opens_at(&self, most: usize) -> bool {
        let (tasks, runs) = (self.without_result.len(), self.runs_without_result);
        tasks >= most
            || (self.opens_early && tasks > 0 && runs >= most)
            || (tasks >= FEWEST_TASKS && runs >= REPEATED_RUNS * most)
            || runs >= RUNS_PER_TASK * most
    }

    fn close(&mut self) {
        self.discounted.extend(self.without_result.drain());
        self.runs_without_result = 0;
        self.doubtful_since = None;
        if let Some(open) = self.open.take() {
            self.discounted.extend(open.tried.into_keys());
        }
    }

    fn unavailable(&mut self, run: RunNumber, task: &TaskId, now: Millis) {
        let Some(open) = &mut self.open else {
            self.runs_without_result += 1;
            if !self.discounted.contains(task) {
                self.doubtful_since.get_or_insert(run);
                self.without_result.insert(task.clone());
            }
            if self.threshold.is_some_and(|most| self.opens_at(most)) {
                self.open(now);
            }
            return;
        };
        open.tried.insert(task.clone(), now);
        // Runs that started before the breaker opened are not probes.
        if open.probing.as_ref() == Some(task) {
            open.probing = None;
            open.probes = open.probes.saturating_add(1);
            let doubled = FIRST_PROBE * 2_u32.pow(open.probes.min(10));
            open.next_probe = now.plus(doubled.min(LONGEST_PROBE));
        }
    }
}

#[cfg(test)]
mod tests;
