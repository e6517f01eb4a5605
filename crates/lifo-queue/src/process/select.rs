//! Which task is next: the newest eligible one of an index page at most 100 ms old (S5), or the
//! oldest, as [`ProcessSettings::order`](super::ProcessSettings::order) says.
//!
//! A *pass* reads the newest page (the head) and, when nothing on it is eligible, goes on page
//! by page to the index's end, so that tasks in backoff never hide older ones. Whenever the page
//! at hand is too old the head is read again first; the pass then goes on where it was. A pass
//! that reached the end without a successful take says that the queue is empty (rule 4).

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::store::{Candidate, Cursor, Order, Page};
use crate::task::TaskId;
use crate::time::Millis;

/// How old a page may be when a task is taken from it (S5), counted from its arrival: a slow
/// index must not make every page too old to use.
pub const MAX_PAGE_AGE: Duration = Duration::from_millis(100);

/// The largest head: the newest page, which is read again and again.
pub const MAX_HEAD: u16 = 100;

/// How large further pages are: one page of the index's small items is far below DynamoDB's
/// limit of 1 MB an answer.
pub const DEEP_PAGE: u16 = 1_000;

/// Further pages are read at most this often, so that a backlog of tasks that are not due costs
/// a bounded number of reads. An older task behind `n` of them so waits for
/// `n / DEEP_PAGE × DEEP_PAGE_PAUSE` at most, beside the reads themselves.
pub const DEEP_PAGE_PAUSE: Duration = Duration::from_millis(100);

/// What to do next.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// Take this one.
    Take(Candidate),
    /// Read a page of the index and hand it in.
    Read(Wanted),
    /// The pass is over and nothing is left to take.
    Exhausted(Pass),
}

/// A page of the index that is wanted.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wanted {
    /// Where it starts; `None` for the head.
    pub(super) after: Option<Cursor>,
    /// How many items.
    pub(super) limit: u16,
}

/// A pass over the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pass {
    /// When its first page was asked for.
    pub(super) started: Option<Millis>,
    /// Something was taken.
    pub(super) took: bool,
    /// A due task was passed over, because it may not start beside those that run.
    pub(super) passed_over: bool,
    /// When the first of the tasks in backoff becomes due.
    pub(super) next_due: Option<Millis>,
}

struct Held {
    tasks: VecDeque<Candidate>,
    next: Option<Cursor>,
    arrived: Millis,
    /// Nothing was taken from it so far.
    fruitless: bool,
}

pub(super) struct Selector {
    head: Option<Held>,
    deep: Option<Held>,
    /// Where the pass goes on beyond the head; `None` until it left the head.
    resume: Option<Cursor>,
    order: Order,
    /// Where the pass began: everything from here on to `resume` was seen. By time
    /// alone, because DynamoDB promises no order among equal sort keys.
    top: Option<Millis>,
    pass: Pass,
    /// Tasks this turn must not touch before a moment: running ones, and those whose index
    /// entry may lag behind what this turn knows.
    skip: HashMap<TaskId, Millis>,
    smallest_page: u16,
    /// Taken since the head was last read.
    used: u16,
    /// Whether the head was what was read last.
    read_head: bool,
}

impl Selector {
    /// A selector for a processor with this many slots, of pages in this order.
    pub(super) fn new(slots: u16, order: Order) -> Self {
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
            used: 0,
            read_head: false,
        }
    }

    /// The next step. `Read` is answered by [`Self::accept`]. A task that `may_start` rejects
    /// is passed over; the next page shows it again.
    pub(super) fn next(
        &mut self,
        now: Millis,
        mut may_start: impl FnMut(&Candidate) -> bool,
    ) -> Step {
        for page in [&mut self.head, &mut self.deep] {
            let fresh = page
                .as_mut()
                .filter(|page| now.since(page.arrived) <= MAX_PAGE_AGE);
            let pass = &mut self.pass;
            if let Some(task) =
                fresh.and_then(|page| page.pop(pass, &self.skip, now, &mut may_start))
            {
                self.used = self.used.saturating_add(1);
                return Step::Take(task);
            }
        }
        let Some(head) = &self.head else {
            return self.read_head();
        };
        // A head that showed nothing to take leads on, however slow the index is. Otherwise the
        // newest come first again as soon as the head is too old.
        let leads_on = self.read_head && head.fruitless && head.tasks.is_empty();
        if now.since(head.arrived) > MAX_PAGE_AGE && !leads_on {
            return self.read_head();
        }
        match self.next_beyond_head() {
            Some(cursor) => Step::Read(Wanted {
                after: Some(cursor),
                limit: DEEP_PAGE,
            }),
            None => self.exhausted(),
        }
    }

    /// The head to read while tasks of the one at hand are still being taken, so that no slot
    /// waits for the index: when more of it was used than the slots can hold at once, and no
    /// more than that is left. A slow downstream never uses that much of a head.
    pub(super) fn read_ahead(&self) -> Option<Wanted> {
        let head = self.head.as_ref()?;
        let slots = self.smallest_page;
        let nearly_used_up = head.tasks.len() <= usize::from(slots) && self.used > slots;
        (nearly_used_up && head.next.is_some()).then(|| self.wanted_head())
    }

    fn read_head(&self) -> Step {
        Step::Read(self.wanted_head())
    }

    /// As much as was used since the last head, and twice that while it is used up.
    fn wanted_head(&self) -> Wanted {
        let limit = self
            .used
            .saturating_mul(2)
            .clamp(self.smallest_page, MAX_HEAD);
        Wanted { after: None, limit }
    }

    /// Where the pass goes on; `None` at the index's end.
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

    /// Takes in a page that was asked for and arrived at these moments.
    pub(super) fn accept(&mut self, wanted: Wanted, page: Page, asked: Millis, arrived: Millis) {
        self.pass.started.get_or_insert(asked);
        self.read_head = wanted.after.is_none();
        if self.read_head {
            self.used = 0;
            self.join(&page);
        }
        let tasks = page.candidates.into();
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

    /// A new head: the pass goes on where it was only if the head reaches down to what the pass
    /// has seen. Otherwise there are newer tasks between, and the pass starts again below it.
    fn join(&mut self, head: &Page) {
        let end = head.next.as_ref().map(Cursor::created);
        let reaches = match (end, self.top) {
            (None, _) => true,
            (Some(end), Some(top)) => match self.order {
                Order::NewestFirst => end <= top,
                Order::OldestFirst => end >= top,
            },
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

    /// Whether a task is due, and this turn may touch it.
    pub(super) fn may_start(&self, task: &Candidate, now: Millis) -> bool {
        let skipped_until = self.skip.get(&task.id).copied();
        !task.ttl.is_expired(now)
            && task
                .not_before
                .max(skipped_until)
                .is_none_or(|at| at <= now)
    }

    /// A task of this pass was taken.
    pub(super) fn took(&mut self) {
        self.pass.took = true;
    }

    /// Leaves a task alone until `until`, whatever the index says of it.
    pub(super) fn leave_alone(&mut self, task: TaskId, until: Millis) {
        self.skip.insert(task, until);
    }

    /// The head is read again before anything else.
    pub(super) fn forget_pages(&mut self) {
        self.head = None;
        self.deep = None;
    }

    /// The largest head, read at once.
    pub(super) fn largest_head(&mut self) -> Wanted {
        self.head = None;
        let limit = MAX_HEAD;
        Wanted { after: None, limit }
    }

    /// The newest eligible task of the head that `wanted` selects, whatever is newer. The head
    /// is used up then.
    pub(super) fn pick(
        &mut self,
        now: Millis,
        mut wanted: impl FnMut(&Candidate) -> bool,
    ) -> Option<Candidate> {
        self.deep = None;
        let mut head = self.head.take()?;
        head.pop(&mut self.pass, &self.skip, now, &mut wanted)
    }

    fn exhausted(&mut self) -> Step {
        let pass = std::mem::take(&mut self.pass);
        self.head = None;
        self.deep = None;
        self.resume = None;
        self.top = None;
        let oldest_use = pass.started.unwrap_or_default();
        self.skip.retain(|_, until| *until > oldest_use);
        Step::Exhausted(pass)
    }
}

impl Held {
    /// The first eligible task.
    fn pop(
        &mut self,
        pass: &mut Pass,
        skip: &HashMap<TaskId, Millis>,
        now: Millis,
        may_start: &mut impl FnMut(&Candidate) -> bool,
    ) -> Option<Candidate> {
        while let Some(task) = self.tasks.pop_front() {
            if task.ttl.is_expired(now) {
                continue;
            }
            let skipped_until = skip.get(&task.id).copied();
            match task.not_before.max(skipped_until).filter(|at| *at > now) {
                None if !may_start(&task) => pass.passed_over = true,
                None => {
                    self.fruitless = false;
                    return Some(task);
                }
                // Runs in this very turn.
                Some(Millis::MAX) => {}
                Some(at) => pass.next_due = Some(pass.next_due.map_or(at, |due| due.min(at))),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
