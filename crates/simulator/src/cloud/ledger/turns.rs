//! Checks which task is taken next (S5), which processor takes it (W2), and how many notifications
//! are published (W3).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use lifo_queue::control::Control;
use lifo_queue::notify::Notification;
use lifo_queue::process::{MAX_PAGE_AGE, RUNS_TO_OPEN};
use lifo_queue::store::{Candidate, Order, Page, TakeRequest};
use lifo_queue::task::TaskId;
use lifo_queue::time::Millis;
use uuid::Uuid;

use super::trace::What;
use super::{Ledger, Process};
use crate::cloud::process::{Function, Life};

/// Time for which a processor may skip a task that it handled, because the index lags or a call for
/// the task failed.
const LEFT_ALONE: Duration = Duration::from_secs(15);

/// The facts that a processor knows.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Owner and expiry of the processor's lease, from the most recent response.
    lease: Option<(Uuid, Millis)>,
    pages: VecDeque<ReadPage>,
    /// Most recent time at which the processor handled each task.
    touched: BTreeMap<TaskId, Millis>,
    /// Time of the first request of each take, by lease token.
    pub(super) asked: BTreeMap<Uuid, Millis>,
    /// End times of the runs without a result since the most recent success or failure.
    pub(super) without_result: Vec<Millis>,
    /// Start time of the first run in `without_result`.
    pub(super) doubtful_since: Option<Millis>,
}

#[derive(Debug)]
struct ReadPage {
    arrived: Millis,
    is_head: bool,
    tasks: Vec<Candidate>,
}

/// Counts of start markers (rule 9) and of the notifications that they allowed.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// Events that set a marker.
    by: BTreeSet<String>,
    /// Number of responses that confirmed a marker. Each allows one notification.
    granted: u64,
    set: u64,
    /// Number of markers that were set while no other event's marker was live.
    due: u64,
    published: u64,
}

impl Ledger {
    pub(super) fn touched(&mut self, now: Millis, process: u32, task: &TaskId) {
        let seen = self.seen.entry(process).or_default();
        seen.touched.insert(task.clone(), now);
    }

    pub(crate) fn holds_lease(&mut self, process: &Process, owner: Uuid, until: Millis) {
        let seen = self.seen.entry(process.id).or_default();
        seen.lease = Some((owner, until));
    }

    pub(crate) fn page_read(
        &mut self,
        arrived: Millis,
        process: &Process,
        is_head: bool,
        page: &Page,
    ) {
        if process.function != Function::ProcessTasks {
            return;
        }
        let seen = self.seen.entry(process.id).or_default();
        let too_old = |page: &ReadPage| arrived.since(page.arrived) > MAX_PAGE_AGE;
        while seen.pages.front().is_some_and(too_old) {
            seen.pages.pop_front();
        }
        seen.pages.push_back(ReadPage {
            arrived,
            is_head,
            tasks: page.candidates.clone(),
        });
    }

    /// Checks S5 and W2 when a processor decides to take a task.
    pub(crate) fn take_asked(&mut self, now: Millis, process: &Process, request: &TakeRequest) {
        let seen = self.seen.entry(process.id).or_default();
        if seen.asked.contains_key(&request.token.0) {
            // Skip a retry with the same token, because the first request was already checked.
            return;
        }
        seen.asked.insert(request.token.0, now);
        let lease = seen.lease;
        let id = &request.candidate.id;
        let (shown, newer) = self.compare(now, process, &request.candidate);
        self.touched(now, process.id, id);
        if lease.is_none_or(|(_, until)| until <= process.now()) {
            let text = format!("W2: process {} takes {id} without the lease", process.id);
            self.violation(now, text);
        }
        if !shown {
            self.violation(
                now,
                format!("S5: {id} is taken from a page that is too old"),
            );
        }
        if let Some(newer) = newer
            && !self.may_probe(process)
        {
            self.violation(
                now,
                format!("S5: {id} is taken before {newer}, which comes first"),
            );
        }
    }

    /// Returns whether a page that is not too old explains the choice of `taken`, and a task that
    /// comes first on these pages.
    fn compare(&self, now: Millis, process: &Process, taken: &Candidate) -> (bool, Option<TaskId>) {
        let Some(seen) = self.seen.get(&process.id) else {
            return (false, None);
        };
        // With groups, S5 applies within a group, and a task of an earlier page may start.
        let groups = self.settings.process.groups.is_some();
        let explains = |page: &&ReadPage| {
            let shows = page.tasks.iter().any(|task| task.id == taken.id);
            shows || (groups && page.is_head)
        };
        let fresh = |page: &&ReadPage| now.since(page.arrived) <= MAX_PAGE_AGE;
        let fresh: Vec<_> = seen.pages.iter().rev().filter(fresh).collect();
        let is_explained = fresh.iter().any(explains);
        // A task that must run alone is skipped while others run, and starts when no other task
        // runs. S5 does not apply to it.
        if self.settings.process.must_run_alone(taken) {
            return (is_explained, None);
        }
        // The processor may have chosen the task from the earlier pages, in the millisecond in which
        // a page that it read in advance arrived.
        let known = fresh.iter().position(|page| page.arrived < now);
        let earlier = known.map_or(&[][..], |known| &fresh[known..]);
        let first = |pages: &[&ReadPage]| self.first_on(pages, seen, now, process, taken);
        let newer =
            first(&fresh).filter(|_| !earlier.iter().any(explains) || first(earlier).is_some());
        (is_explained, newer)
    }

    /// A due task on these pages that comes before `taken` and that the processor had no reason to
    /// skip.
    fn first_on(
        &self,
        pages: &[&ReadPage],
        seen: &Seen,
        now: Millis,
        process: &Process,
        taken: &Candidate,
    ) -> Option<TaskId> {
        let settings = &self.settings.process;
        let by_its_clock = process.now();
        let head = pages.iter().find(|page| page.is_head);
        let shown = pages
            .iter()
            .find(|page| page.tasks.iter().any(|task| task.id == taken.id));
        let on_them = [head, shown].into_iter().flatten();
        let mut on_them =
            on_them.flat_map(|page| page.tasks.iter().map(|task| (page.arrived, task)));
        let comes_first = |task: &Candidate| match settings.order {
            Order::NewestFirst => task.created > taken.created,
            Order::OldestFirst => task.created < taken.created,
        };
        // Check the cheap conditions first.
        let first = on_them.find(|(arrived, task)| {
            // A task that was not due when the page arrived may be skipped.
            let came = by_its_clock.minus(now.since(*arrived));
            let left_alone = || {
                let touched = seen.touched.get(&task.id);
                touched.is_some_and(|at| now.since(*at) <= LEFT_ALONE)
            };
            task.not_before.is_none_or(|from| from <= came)
                && comes_first(task)
                && (settings.groups.is_none() || task.id.group() == taken.id.group())
                && !task.ttl.is_expired(by_its_clock)
                && !settings.must_run_alone(task)
                && !left_alone()
                && !self.runs.iter().any(|run| run.task == task.id)
        });
        first.map(|(_, task)| task.id.clone())
    }

    /// Whether the processor's circuit breaker may be open. It may be if the control item says so,
    /// or if enough runs ended without a result, in this turn or before it. Only then may a task
    /// other than the newest be a probe and start before a newer one. The ledger does not see the
    /// breaker itself, so this check is slightly too permissive: with a breaker per group, it allows
    /// any order. `tests/conformance/tests/turns` checks the order of probes.
    fn may_probe(&self, process: &Process) -> bool {
        if self.settings.process.groups.is_some_and(|of| of.breaker) {
            return true;
        }
        let seen = self.seen.get(&process.id);
        let without_result = seen.map_or(0, |seen| seen.without_result.len());
        self.settings.process.breaker.is_some()
            && (self.breaker_open || without_result + self.without_result >= RUNS_TO_OPEN as usize)
    }

    /// Records a change of the control item and checks W2 and W3.
    pub(crate) fn control_changed(
        &mut self,
        now: Millis,
        process: &Process,
        before: &Control,
        after: &Control,
    ) {
        self.breaker_open = after.breaker.is_some();
        self.without_result = after.health.without_result as usize;
        self.trace
            .push(now, process.id, What::Control(Box::new(after.clone())));
        if after.requested < before.requested {
            self.violation(now, "`requested` decreased");
        }
        let had = before.lease.as_ref().map(|lease| lease.owner);
        let has = after.lease.as_ref().map(|lease| lease.owner);
        if had != has {
            let theirs = had.is_some_and(|owner| self.owners.get(&owner) != Some(&process.id));
            let live = before.live_lease(process.now()).is_some();
            if theirs && live {
                let text = format!("W2: process {} ends another's live lease", process.id);
                self.violation(now, text);
            }
            if let Some(owner) = has {
                self.owners.insert(owner, process.id);
            }
            self.holder = has.map(|_| process.id);
        }
        self.marked(process, before, after);
        let claims = had != has && has.is_some();
        let marks = before.notified_by != after.notified_by && after.notified_by.is_some();
        if process.life() != Life::Running && (claims || marks) {
            // A write executed after its sender ended leaves a lease or marker without a process.
            self.setback(now, format!("a late write of process {}", process.id));
        }
    }

    fn marked(&mut self, process: &Process, before: &Control, after: &Control) {
        let Some(by) = &after.notified_by else {
            return;
        };
        if before.notified_until == after.notified_until && before.notified_by == after.notified_by
        {
            return;
        }
        self.marks.set += 1;
        self.marks.by.insert(by.clone());
        let over = !before.is_notified_by_other(by, process.now());
        self.marks.due += u64::from(over);
    }

    /// Records that a process learned that its event's marker is set.
    pub(crate) fn mark_granted(&mut self) {
        self.marks.granted += 1;
    }

    /// Checks W3: a message to `process-tasks` requires a marker of its event.
    pub(crate) fn published(
        &mut self,
        now: Millis,
        process: &Process,
        subscriber: Function,
        message: &str,
        notification: &Notification,
    ) {
        let Notification { reason, event, .. } = notification;
        self.note(
            now,
            process.id,
            format!("publishes {message}: {reason:?} of {event}"),
        );
        // Rule 8: the sweep publishes regardless of the marker.
        let insists = matches!(process.function, Function::Operator | Function::SweepTasks);
        if subscriber != Function::ProcessTasks || insists {
            return;
        }
        self.marks.published += 1;
        if !self.marks.by.contains(event) {
            self.violation(now, format!("W3: {message} is published without a mark"));
        }
        if self.marks.published > self.marks.granted || self.marks.set > self.marks.due {
            self.violation(
                now,
                format!("W3: more notifications than marks: {:?}", self.marks),
            );
        }
    }
}
