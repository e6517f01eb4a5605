//! The limits and pauses of individual groups, and the time until which they close a group.
//!
//! A task of a closed group is not due. A group's rate limit is a token bucket like the queue's
//! (GCRA), stored only as the time at which it is full again. If a processor lease was not
//! released, every bucket starts empty, and groups with a concurrency limit stay closed until the
//! TAKEN tasks are counted. So no limit is exceeded after a crash, and starts don't require writes.

mod unsaved;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use uuid::Uuid;

pub(in crate::process) use self::unsaved::UnsavedGroups;
use crate::control::{GroupOverride, GroupStates, LearnedGroup, LearnedGroups};
use crate::process::health::Signal;
use crate::process::rate::{RateLimit, since_epoch, whole_millis};
use crate::process::settings::{GroupSettings, ProcessSettings};
use crate::store::StandingLease;
use crate::task::TaskId;
use crate::time::Millis;

/// Minimum time for which a group is closed after a busy response that requests a wait.
const SHORTEST_CLOSED: Duration = Duration::from_secs(1);

/// Number of consecutive busy responses that close a group.
const BUSY_TO_CLOSE: u32 = 2;

/// Time after which a closed group is checked again if it is unknown when the group opens.
const AGAIN: Duration = Duration::from_millis(250);

/// The groups of a turn.
#[derive(Debug)]
pub(in crate::process) struct GroupLimits {
    settings: GroupSettings,
    overrides: BTreeMap<String, GroupOverride>,
    /// Number of changes to the overrides, as last read.
    changes: u64,
    groups: BTreeMap<String, Group>,
    /// The state that the previous turn left in the table, and its writer.
    left: LearnedGroups,
    left_by: Option<Uuid>,
    /// Time at which the buckets of unknown groups were empty; `None` if they start full.
    empty_at: Option<Millis>,
    /// Time at which TAKEN tasks are counted; `None` if the count is unnecessary or done.
    count_at: Option<Millis>,
    /// Tasks that this turn started before the count.
    started: HashSet<TaskId>,
    /// Time from which a take could reach the table after the processor lease has expired.
    last_take: Millis,
    task_lease: Duration,
    clock_skew: Duration,
}

#[derive(Debug, Default)]
struct Group {
    running: BTreeSet<TaskId>,
    /// Expiry times of leases that do not belong to active runs of this turn.
    leases: Vec<Millis>,
    /// Time since the epoch at which the bucket is full again; `None` before the first start.
    full_at: Option<Duration>,
    /// Time until which the downstream requested no calls.
    asked_until: Option<Millis>,
    /// Number of consecutive busy responses that requested a wait.
    busy: u32,
}

/// The limits in effect for one group.
struct Bounds {
    concurrency: Option<usize>,
    rate: Option<RateLimit>,
}

impl GroupLimits {
    /// Creates the groups for a turn that starts at `now`. `released` states whether the previous
    /// processor released its lease.
    pub(in crate::process) fn new(
        settings: &ProcessSettings,
        group: GroupSettings,
        states: GroupStates,
        released: bool,
        now: Millis,
    ) -> Self {
        let known = |one: &LearnedGroup| {
            let mut group = Group {
                asked_until: one.asked_until,
                ..Group::default()
            };
            // Without a release, the last starts of the group are unknown.
            if released {
                group.leases.clone_from(&one.leases);
                group.full_at = one.rate_full_at.map(since_epoch);
            }
            (one.name.clone(), group)
        };
        let lag = settings.index_lag + settings.clock_skew;
        // The previous turn may not have counted the leases. After a task lease, all have expired.
        let uncounted = states.learned.count_at;
        let uncounted = uncounted.filter(|at| now < at.plus(settings.task_lease()));
        let count_at = match released {
            true => uncounted,
            false => Some(now.plus(lag)),
        };
        Self {
            settings: group,
            overrides: states.overrides,
            changes: states.changes,
            groups: states.learned.groups.iter().map(known).collect(),
            empty_at: match released {
                true => states.learned.empty_at,
                false => Some(now),
            },
            left: states.learned,
            left_by: states.learned_by,
            count_at,
            started: HashSet::new(),
            last_take: Millis::MAX,
            task_lease: settings.task_lease(),
            clock_skew: settings.clock_skew,
        }
    }

    /// Whether each group has its own breaker.
    pub(super) fn have_breakers(&self) -> bool {
        self.settings.breaker
    }

    /// The state of the groups that the previous turn left.
    pub(super) fn left(&self) -> &[LearnedGroup] {
        &self.left.groups
    }

    /// Number of the group's tasks that are running in this turn.
    pub(super) fn running(&self, name: &str) -> usize {
        self.groups.get(name).map_or(0, |group| group.running.len())
    }

    /// Replaces the operators' overrides with newer ones.
    pub(in crate::process) fn change(&mut self, states: &GroupStates) {
        if self.changes < states.changes {
            self.changes = states.changes;
            self.overrides.clone_from(&states.overrides);
        }
    }

    /// Records the latest time at which a task of a group with a concurrency limit can be taken.
    pub(in crate::process) fn take_until(&mut self, last_take: Millis) {
        self.last_take = last_take;
    }

    /// Time until which no task of the group is due; `None` if the group is open. [`Millis::MAX`]
    /// means until one of the group's runs ends.
    pub(in crate::process) fn closed_until(&self, name: &str, now: Millis) -> Option<Millis> {
        let overridden = self.overrides.get(name);
        let pause = overridden.and_then(|one| one.pause.as_ref());
        let group = self.groups.get(name);
        let asked = group.and_then(|group| group.asked_until);
        let bounds = self.bounds(name, now);
        let rate = bounds.rate.map(|rate| self.next_start(name, rate, now));
        let full = bounds
            .concurrency
            .and_then(|most| self.full_until(group, most, now));
        let until = pause
            .map(|pause| pause.until)
            .max(asked)
            .max(rate)
            .max(full);
        until.filter(|until| *until > now)
    }

    fn bounds(&self, name: &str, now: Millis) -> Bounds {
        let limit = self.overrides.get(name).and_then(|one| one.limit.as_ref());
        let limit = limit.filter(|limit| limit.until > now);
        let concurrency = limit
            .and_then(|limit| limit.concurrency)
            .or(self.settings.max_concurrency);
        let rate = limit.and_then(|limit| limit.rate);
        Bounds {
            concurrency: concurrency.map(|most| usize::from(most.get())),
            rate: match rate {
                Some(rate) => Some(RateLimit::lowered(None, rate.interval)),
                None => self.settings.rate,
            },
        }
    }

    /// Time since the epoch at which the group's bucket is full again.
    fn full_at(&self, name: &str, rate: RateLimit, now: Millis) -> Duration {
        let known = self.groups.get(name).and_then(|group| group.full_at);
        let emptied = self.empty_at.map(|at| since_epoch(at) + rate.refill());
        let full_at = known.or(emptied).unwrap_or_default();
        // Never assume less than an empty bucket: a clock that was ahead must not stop the group.
        full_at.min(since_epoch(now) + rate.refill())
    }

    /// Earliest time at which the rate allows the next start.
    fn next_start(&self, name: &str, rate: RateLimit, now: Millis) -> Millis {
        let all_but_one = rate.refill().saturating_sub(rate.interval);
        whole_millis(self.full_at(name, rate, now).saturating_sub(all_but_one))
    }

    /// Time until which `most` tasks of the group run or may run; `None` if another may start.
    fn full_until(&self, group: Option<&Group>, most: usize, now: Millis) -> Option<Millis> {
        if let Some(at) = self.count_at {
            return Some(at.max(now.plus(AGAIN)));
        }
        if now >= self.last_take {
            return Some(now.plus(AGAIN));
        }
        let group = group?;
        let live = group.leases.iter().filter(|until| **until > now);
        if group.running.len() + live.clone().count() < most {
            return None;
        }
        Some(live.min().copied().unwrap_or(Millis::MAX))
    }

    /// Records that an attempt at a task starts.
    pub(in crate::process) fn started(&mut self, task: &TaskId, now: Millis) {
        let name = task.group();
        let full_at = self.bounds(name, now).rate.map(|rate| {
            let full_at = self.full_at(name, rate, now).max(since_epoch(now));
            full_at + rate.interval
        });
        if self.count_at.is_some() {
            self.started.insert(task.clone());
        }
        let group = self.group(task);
        group.full_at = full_at.or(group.full_at);
        group.running.insert(task.clone());
    }

    /// Records that an attempt ended. If the state of the task is unknown, its lease counts as a run.
    pub(super) fn ended(&mut self, task: &TaskId, is_known: bool, now: Millis) {
        let until = now.plus(self.task_lease);
        let group = self.group(task);
        group.running.remove(task);
        if !is_known {
            group.leases.push(until);
        }
    }

    /// Records the end of a run. From the second consecutive busy response on, closes the task's
    /// group for the wait that the downstream requested: a single response may concern only its
    /// task. Returns whether the response concerns only the group.
    pub(super) fn run_ended(&mut self, task: &TaskId, signal: Signal, now: Millis) -> bool {
        let by_themselves = self.settings.close_by_themselves();
        let group = self.group(task);
        match signal {
            Signal::Busy {
                retry_after: Some(wait),
            } if by_themselves => {
                group.busy += 1;
                if group.busy >= BUSY_TO_CLOSE {
                    let until = now.plus(wait.max(SHORTEST_CLOSED));
                    group.asked_until = group.asked_until.max(Some(until));
                }
                true
            }
            Signal::Result => {
                group.busy = 0;
                false
            }
            _ => false,
        }
    }

    /// Whether to count the TAKEN tasks now.
    pub(in crate::process) fn must_count(&self, now: Millis) -> bool {
        let limited = self.settings.max_concurrency.is_some();
        let limit = |one: &GroupOverride| one.limit.as_ref().and_then(|limit| limit.concurrency);
        self.count_at.is_some_and(|at| at <= now)
            && (limited || self.overrides.values().any(|one| limit(one).is_some()))
    }

    /// Counts TAKEN tasks of earlier processors as running until their leases expire.
    pub(in crate::process) fn counted(&mut self, leases: &[StandingLease]) {
        let started = std::mem::take(&mut self.started);
        self.count_at = None;
        for lease in leases.iter().map(|standing| &standing.lease) {
            if !started.contains(&lease.task) {
                let until = lease.until.plus(self.clock_skew);
                self.group(&lease.task).leases.push(until);
            }
        }
    }

    /// Postpones the count because the TAKEN tasks could not be read.
    pub(in crate::process) fn count_later(&mut self, now: Millis) {
        self.count_at = Some(now.plus(AGAIN));
    }

    fn group(&mut self, task: &TaskId) -> &mut Group {
        self.groups.entry(task.group().to_owned()).or_default()
    }
}

#[cfg(test)]
mod tests;
