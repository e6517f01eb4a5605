//! Chooses the next task: the newest or oldest eligible task of an index page that is no more than
//! 100 ms old (S5), depending on [`ProcessSettings::order`](super::ProcessSettings::order).
//!
//! A *pass* reads the newest page (the head). If none of its tasks is eligible, the pass continues
//! page by page to the end of the index, so that tasks in backoff never hide older ones. If the
//! current page is too old, the pass reads the head again and then continues where it stopped. If a
//! pass reaches the end without a successful take, the queue is empty (rule 4).
//!
//! In a queue with groups, [`Groups`] chooses among the tasks of the head and of earlier pages.

mod head;

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use super::filter::Filter;
pub(super) use super::filter::Pass;
use super::groups::{Gates, Groups};
use super::heads::Heads;
pub use super::heads::{DEEP_PAGE, MAX_HEAD, MAX_PAGE_AGE};
use crate::store::{Candidate, Cursor, Order, Page};
use crate::task::TaskId;
use crate::time::Millis;

/// Minimum time between two reads beyond the head, so that a backlog of tasks that are not due
/// costs a bounded number of reads. An older task behind `n` such tasks waits no longer than
/// `n / DEEP_PAGE × DEEP_PAGE_PAUSE`, plus the time for the reads.
pub const DEEP_PAGE_PAUSE: Duration = Duration::from_millis(100);

/// The next step of a pass.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// Take this task.
    Take(Candidate),
    /// Read this page of the index, and call [`Selector::accept`] with it.
    Read(Wanted),
    /// The pass is over, and no task is left to take.
    Exhausted(Pass),
}

/// A page of the index to read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wanted {
    /// The page starts after this task; `None` for the head.
    pub(super) after: Option<Cursor>,
    /// Maximum number of items in the page.
    pub(super) limit: u16,
}

struct Held {
    tasks: VecDeque<Candidate>,
    next: Option<Cursor>,
    arrived: Millis,
    /// Whether no task has been taken from this page yet.
    fruitless: bool,
}

pub(super) struct Selector {
    head: Option<Held>,
    deep: Option<Held>,
    /// Cursor at which the pass continues beyond the head; `None` until it leaves the head.
    resume: Option<Cursor>,
    order: Order,
    /// Creation time at which the pass began. The pass has seen all tasks from there to `resume`.
    /// This is not a cursor, because DynamoDB doesn't guarantee an order among equal sort keys.
    top: Option<Millis>,
    pass: Pass,
    /// Tasks that this turn must not select before the given time: running tasks, returned tasks,
    /// and tasks whose index entry may be stale.
    skip: HashMap<TaskId, Millis>,
    smallest_page: u16,
    /// The choice among groups; `None` in a queue without groups.
    groups: Option<Groups>,
    /// Number of tasks taken since the head was last read.
    used: u16,
    /// Time and size of the next head, in a queue with groups.
    heads: Heads,
    /// Whether the last page read was a head.
    read_head: bool,
}

impl Selector {
    /// Creates a selector for a processor with `slots` slots that reads pages in this order.
    pub(super) fn new(slots: u16, order: Order, groups: bool) -> Self {
        let smallest_page = slots.clamp(1, MAX_HEAD);
        Self {
            head: None,
            deep: None,
            resume: None,
            order,
            top: None,
            pass: Pass::default(),
            skip: HashMap::new(),
            smallest_page,
            groups: groups.then(|| Groups::new(order)),
            used: 0,
            heads: Heads::new(),
            read_head: false,
        }
    }

    /// Returns the next step. After a `Read`, the caller passes the page to [`Self::accept`]. A
    /// task that `may_start` rejects is passed over, and the next read of the page returns it
    /// again. Tasks of a closed group are not due.
    pub(super) fn next(
        &mut self,
        now: Millis,
        gates: &dyn Gates,
        mut may_start: impl FnMut(&Candidate) -> bool,
    ) -> Step {
        if let Some(task) = self.pop(now, gates, &mut may_start) {
            self.used = self.used.saturating_add(1);
            return Step::Take(task);
        }
        let Some(head) = &self.head else {
            return self.read_head(now);
        };
        // After a head without a task to take, continue the pass even if the index is slow. In
        // other cases, read an old head again, because the newest tasks come first.
        let is_empty = match &self.groups {
            None => head.tasks.is_empty(),
            Some(groups) => groups.is_empty(),
        };
        let leads_on = self.read_head && head.fruitless && is_empty;
        if now.since(head.arrived) > MAX_PAGE_AGE && !leads_on {
            return self.read_head(now);
        }
        match self.next_beyond_head() {
            Some(cursor) => Step::Read(Wanted {
                after: Some(cursor),
                limit: DEEP_PAGE,
            }),
            None => self.exhausted(),
        }
    }

    /// Removes and returns the next task from the pages that are not too old.
    fn pop(
        &mut self,
        now: Millis,
        gates: &dyn Gates,
        may_start: &mut dyn FnMut(&Candidate) -> bool,
    ) -> Option<Candidate> {
        let mut filter = Filter::new(&mut self.pass, &self.skip, now, may_start);
        let is_fresh = |page: &&mut Held| now.since(page.arrived) <= MAX_PAGE_AGE;
        let Some(groups) = &mut self.groups else {
            let pages = [&mut self.head, &mut self.deep].into_iter().flatten();
            return pages.filter(is_fresh).find_map(|page| {
                let task = filter.pop(&mut page.tasks);
                page.fruitless &= task.is_none();
                task
            });
        };
        // `groups` also has tasks of earlier pages. Newer tasks of those groups are in the head.
        let head = self.head.as_mut().filter(is_fresh)?;
        let task = groups.pop(now, &mut filter, gates);
        head.fruitless &= task.is_none();
        task
    }

    /// Cursor at which the pass continues; `None` at the end of the index.
    fn next_beyond_head(&mut self) -> Option<Cursor> {
        match self.deep.take_if(|deep| deep.tasks.is_empty()) {
            Some(deep) => {
                self.resume.clone_from(&deep.next);
                deep.next
            }
            None => {
                let start = self.resume.take().or(self.head.as_ref()?.next.clone());
                self.resume.clone_from(&start);
                start
            }
        }
    }

    /// Accepts a page that was requested at `asked` and arrived at `arrived`.
    pub(super) fn accept(&mut self, wanted: Wanted, page: Page, asked: Millis, arrived: Millis) {
        self.pass.started.get_or_insert(asked);
        self.read_head = wanted.after.is_none();
        if self.read_head {
            self.used = 0;
            self.join(&page);
        }
        let tasks = match &mut self.groups {
            None => page.candidates.into(),
            Some(groups) => {
                let start = wanted.after.as_ref().map(Cursor::created);
                let end = page.next.as_ref().map(Cursor::created);
                let tasks = page.candidates.len();
                let added = groups.add(page.candidates, start, end, arrived);
                if self.read_head {
                    // A head that contains only unknown tasks does not overlap the last head.
                    let is_all = added.unseen < tasks || end.is_none();
                    self.heads.arrived(is_all.then_some(added.unseen), arrived);
                }
                if added.forgot {
                    // The pass must see the forgotten tasks again.
                    self.resume = None;
                    self.deep = None;
                }
                VecDeque::new()
            }
        };
        let held = Some(Held {
            tasks,
            next: page.next,
            arrived,
            fruitless: true,
        });
        match self.read_head {
            true => self.head = held,
            false => self.deep = held,
        }
    }

    /// Adds a newly read head to the pass. If the head extends to tasks that the pass has already
    /// seen, the pass continues where it stopped. Otherwise, there may be unseen tasks in between,
    /// and the pass continues directly below the head.
    fn join(&mut self, head: &Page) {
        let end = head.next.as_ref().map(Cursor::created);
        let reaches = match (end, self.top) {
            (None, _) => true,
            (Some(end), Some(top)) => self.order.compare(end, top).is_ge(),
            (Some(_), None) => false,
        };
        if !reaches {
            self.resume = None;
            self.deep = None;
        }
        self.top = head
            .candidates
            .first()
            .map(|task| task.created)
            .or(end)
            .or(self.top);
    }

    /// Like [`Filter::is_eligible`], for a task outside the pass.
    pub(super) fn may_start(&self, task: &Candidate, now: Millis) -> bool {
        let (mut outside, mut any) = (Pass::default(), |_: &Candidate| true);
        Filter::new(&mut outside, &self.skip, now, &mut any).is_eligible(task)
    }

    /// Records that a task was taken during this pass.
    pub(super) fn took(&mut self) {
        self.pass.took = true;
    }

    /// Records that an attempt at a task starts. Until it ends, the task is not selected again.
    pub(super) fn started(&mut self, task: &TaskId, now: Millis) {
        self.skip.insert(task.clone(), Millis::MAX);
        if let Some(groups) = &mut self.groups {
            groups.started(task, now);
        }
    }

    /// Records that an attempt at a task ended; `ran` is the duration of its run, if it had one.
    /// The task is not selected before `until`, regardless of its state in the index.
    pub(super) fn ended(
        &mut self,
        task: TaskId,
        ran: Option<Duration>,
        until: Millis,
        now: Millis,
    ) {
        if let Some(groups) = &mut self.groups {
            groups.ended(&task, ran, now);
        }
        self.skip.insert(task, until);
    }

    /// Forgets tasks of earlier pages that were created before `from`, the bound on reads.
    pub(super) fn forget_before(&mut self, from: Millis) {
        if let Some(groups) = &mut self.groups {
            groups.forget_before(from);
        }
    }

    /// Restarts the pass at the head.
    pub(super) fn restart(&mut self) {
        self.head = None;
        self.deep = None;
        self.resume = None;
        self.top = None;
        self.pass = Pass {
            took: self.pass.took,
            ..Pass::default()
        };
    }

    fn exhausted(&mut self) -> Step {
        let pass = std::mem::take(&mut self.pass);
        self.restart();
        let oldest_use = pass.started.unwrap_or_default();
        self.skip.retain(|_, until| *until > oldest_use);
        Step::Exhausted(pass)
    }
}

#[cfg(test)]
mod grouped;
#[cfg(test)]
mod tests;
