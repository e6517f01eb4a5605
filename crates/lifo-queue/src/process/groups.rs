//! Chooses among groups: the first due task of the group that recently received the least service.
//!
//! A group's service is its starts plus its time in slots, in units of the mean run. It halves
//! every [`HALF_LIFE`] mean runs. So a noisy group can't exceed its share, and a quiet group starts
//! immediately. Reserving slots per group would not suffice: it fails with a single slot, with
//! several noisy groups and while the rate limit is in effect.
//!
//! Each group keeps the candidates of the pages that were read. So a task stays known even if the
//! tasks of noisy groups push it below the head. A candidate may be stale, in which case its take
//! fails.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::time::Duration;

use super::filter::Filter;
use crate::store::{Candidate, Order};
use crate::task::TaskId;
use crate::time::Millis;

/// Number of mean runs after which a group's service is halved.
const HALF_LIFE: f64 = 10.0;

/// Maximum number of candidates per group that are kept beyond the head.
const KEPT: usize = 20;

/// Maximum total number of candidates kept beyond the head, across all groups.
const KEPT_OF_ALL: usize = 10_000;

/// Mean run duration assumed until the first run of a turn has ended.
const FIRST_MEAN: Duration = Duration::from_secs(1);

/// Weight of a new run in the mean run duration.
const WEIGHT: f64 = 0.1;

/// Service below this value counts as zero.
const FORGOTTEN: f64 = 0.01;

/// The groups that the turn knows.
pub(super) struct Groups {
    /// Ordered by name, so that ties have a defined order.
    groups: BTreeMap<String, Group>,
    order: Order,
    decay: Decay,
}

/// Changes made by adding a page.
pub(super) struct Added {
    /// Number of the page's tasks that were unknown before.
    pub(super) unseen: usize,
    /// Whether other tasks were forgotten.
    pub(super) forgot: bool,
}

#[derive(Default)]
struct Group {
    /// Known tasks, in index order.
    tasks: VecDeque<Candidate>,
    /// Service received up to `at`, weighted by [`Decay`].
    service: f64,
    at: Millis,
    running: u32,
    /// Whether no task of the group was due at the last search.
    closed: bool,
}

/// Decides which groups, and which of their tasks, may start.
pub(super) trait Gates {
    /// Time until which no task of the group is due; `None` if the group is open.
    fn closed_until(&self, group: &str) -> Option<Millis>;

    /// Whether the next start of the group is a probe of its downstream.
    fn is_probed(&self, group: &str) -> bool;

    /// Chooses the probe among the group's due tasks in index order, and returns its position.
    fn probe(&self, group: &str, due: &[&Candidate]) -> Option<usize>;
}

/// Gates of groups whose downstream is not probed.
#[cfg(test)]
impl<F: Fn(&str) -> Option<Millis>> Gates for F {
    fn closed_until(&self, group: &str) -> Option<Millis> {
        self(group)
    }

    fn is_probed(&self, _group: &str) -> bool {
        false
    }

    fn probe(&self, _group: &str, _due: &[&Candidate]) -> Option<usize> {
        None
    }
}

/// Decay of service. Instead of decreasing earlier service, it gives later service more weight.
struct Decay {
    /// Mean run duration in milliseconds; `None` before the end of the first run.
    mean_run: Option<f64>,
    /// Weight of service at `at`, as an exponent of two.
    weight: f64,
    at: Millis,
}

impl Groups {
    pub(super) fn new(order: Order) -> Self {
        Self {
            groups: BTreeMap::new(),
            order,
            decay: Decay {
                mean_run: None,
                weight: 0.0,
                at: Millis(0),
            },
        }
    }

    /// Adds the tasks of a page, which replace the known tasks between `start` and `end`. `None`
    /// stands for the start or end of the index. Adding a head, which has no `start`, also removes
    /// all but the first few of the other tasks in each group.
    pub(super) fn add(
        &mut self,
        page: Vec<Candidate>,
        start: Option<Millis>,
        end: Option<Millis>,
        now: Millis,
    ) -> Added {
        let order = self.order;
        let mut known = HashSet::new();
        for group in self.groups.values_mut() {
            group.tasks.retain(|task| {
                let is_beyond = start.is_some_and(|at| order.compare(at, task.created).is_ge())
                    || end.is_some_and(|at| order.compare(task.created, at).is_ge());
                if !is_beyond {
                    known.insert(task.id.clone());
                }
                is_beyond
            });
        }
        let unseen = page.iter().filter(|task| !known.contains(&task.id)).count();
        let forgot = start.is_none() && self.shorten(now);
        for task in page {
            self.group(&task.id).tasks.push_back(task);
        }
        for group in self.groups.values_mut() {
            let tasks = group.tasks.make_contiguous();
            tasks.sort_by(|a, b| order.compare(a.created, b.created));
        }
        Added { unseen, forgot }
    }

    /// Removes all but the first few tasks of each group, and groups without tasks or recent
    /// service. Returns whether a removed task may be due.
    fn shorten(&mut self, now: Millis) -> bool {
        let kept = KEPT.min(KEPT_OF_ALL / self.groups.len().max(1));
        let mut forgot = false;
        let forgotten = FORGOTTEN * self.decay.unit(now);
        self.groups.retain(|_, group| {
            // A pass has already found that the tasks of a closed group are not due.
            forgot |= !group.closed && group.tasks.len() > kept;
            group.tasks.truncate(kept);
            !group.tasks.is_empty() || group.running > 0 || group.service > forgotten
        });
        forgot
    }

    /// Forgets tasks that were created before `from`.
    pub(super) fn forget_before(&mut self, from: Millis) {
        for group in self.groups.values_mut() {
            group.tasks.retain(|task| task.created >= from);
        }
    }

    /// Removes and returns the next task: the first eligible task of the least-served group. Among
    /// groups with equal service, the group whose task is first in the index is chosen. The tasks
    /// of closed groups are kept.
    pub(super) fn pop(
        &mut self,
        now: Millis,
        filter: &mut Filter<'_>,
        gates: &dyn Gates,
    ) -> Option<Candidate> {
        for (name, group) in &mut self.groups {
            let waits = group.tasks.iter().any(|task| !task.ttl.is_expired(now));
            let closed = waits.then(|| gates.closed_until(name)).flatten();
            group.closed = closed.is_some();
            if let Some(until) = closed {
                filter.not_before(until);
            }
        }
        let unit = self.decay.unit(now);
        let mean = self.decay.mean();
        loop {
            let least = self
                .groups
                .iter_mut()
                .filter(|(_, group)| !group.closed)
                .filter_map(|(name, group)| {
                    let first = group.tasks.front()?.created;
                    Some((group.service(now, mean, unit), first, name, group))
                })
                .min_by(|a, b| a.0.total_cmp(&b.0).then(self.order.compare(a.1, b.1)));
            let (_, _, name, group) = least?;
            let is_probed = gates.is_probed(name);
            let task = match is_probed {
                false => filter.pop(&mut group.tasks),
                true => filter.pop_chosen(&mut group.tasks, |due| gates.probe(name, due)),
            };
            if task.is_some() {
                return task;
            }
            // Keep the tasks of a probed group that has no suitable probe.
            group.closed = is_probed;
        }
    }

    /// Whether no task of an open group is known.
    pub(super) fn is_empty(&self) -> bool {
        let mut groups = self.groups.values();
        groups.all(|group| group.closed || group.tasks.is_empty())
    }

    /// Records that an attempt at a task starts.
    pub(super) fn started(&mut self, task: &TaskId, now: Millis) {
        let unit = self.settle(task, now);
        let group = self.group(task);
        group.service += unit;
        group.running += 1;
    }

    /// Records that an attempt ended; `ran` is the duration of its run, if it had one.
    pub(super) fn ended(&mut self, task: &TaskId, ran: Option<Duration>, now: Millis) {
        self.settle(task, now);
        let group = self.group(task);
        group.running = group.running.saturating_sub(1);
        if let Some(ran) = ran {
            self.decay.ran(ran);
        }
    }

    /// Adds the time in slots up to `now` to the service of the task's group. Returns the weight of
    /// service at `now`.
    fn settle(&mut self, task: &TaskId, now: Millis) -> f64 {
        if let Some(shrink) = self.decay.advance(now) {
            for group in self.groups.values_mut() {
                group.service *= shrink;
            }
        }
        let (mean, unit) = (self.decay.mean(), self.decay.unit(now));
        let group = self.group(task);
        group.service = group.service(now, mean, unit);
        group.at = now;
        unit
    }

    fn group(&mut self, task: &TaskId) -> &mut Group {
        self.groups.entry(task.group().to_owned()).or_default()
    }
}

impl Group {
    fn service(&self, now: Millis, mean: f64, unit: f64) -> f64 {
        let in_slots = f64::from(self.running) * millis(now.since(self.at)) / mean;
        self.service + in_slots * unit
    }
}

impl Decay {
    /// Exponent above which the weight is reset.
    const HIGHEST: f64 = 64.0;

    fn mean(&self) -> f64 {
        self.mean_run.unwrap_or(millis(FIRST_MEAN)).max(1.0)
    }

    fn power(&self, now: Millis) -> f64 {
        self.weight + millis(now.since(self.at)) / (HALF_LIFE * self.mean())
    }

    /// The weight of service at `now`.
    fn unit(&self, now: Millis) -> f64 {
        self.power(now).min(2.0 * Self::HIGHEST).exp2()
    }

    /// Advances to `now`. If this resets the weight, returns the factor for all service so far.
    fn advance(&mut self, now: Millis) -> Option<f64> {
        let power = self.power(now);
        let renew = power > Self::HIGHEST;
        (self.weight, self.at) = (if renew { 0.0 } else { power }, now);
        renew.then(|| (-power).exp2())
    }

    fn ran(&mut self, ran: Duration) {
        let ran = millis(ran);
        let mean = self.mean_run.unwrap_or(ran);
        self.mean_run = Some(mean + WEIGHT * (ran - mean));
    }
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

#[cfg(test)]
pub(super) mod tests;
