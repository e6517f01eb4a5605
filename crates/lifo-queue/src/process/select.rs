//! Which task is next: the newest eligible one of an index page at most 100 ms old (S5).
//!
//! A *pass* reads the newest page (the head) and, when nothing on it is eligible, goes on page
//! by page to the index's end, so that tasks in backoff never hide older ones. Whenever the page
//! at hand is too old the head is read again first; the pass then goes on where it was. A pass
//! that reached the end without a successful take says that the queue is empty (rule 4).

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::store::{Candidate, Cursor, Page};
use crate::task::TaskId;
use crate::time::Millis;

/// How old a page may be when a task is taken from it (S5), counted from its arrival: a slow
/// index must not make every page too old to use.
pub const MAX_PAGE_AGE: Duration = Duration::from_millis(100);

/// The largest page: further pages are always this large.
pub const MAX_PAGE: u16 = 100;

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
    /// How far up the pass has looked: everything from here down to `resume` was seen. By time
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
    /// A selector for a processor with this many slots.
    pub(super) fn new(slots: u16) -> Self {
        let smallest_page = slots.clamp(1, MAX_PAGE);
        Self {
            head: None,
            deep: None,
            resume: None,
            top: None,
            pass: Pass::default(),
            skip: HashMap::new(),
            smallest_page,
            used: 0,
            read_head: false,
        }
    }

    /// The next step. `Read` is answered by [`Self::accept`].
    pub(super) fn next(&mut self, now: Millis) -> Step {
        for page in [&mut self.head, &mut self.deep] {
            let fresh = page
                .as_mut()
                .filter(|page| now.since(page.arrived) <= MAX_PAGE_AGE);
            if let Some(task) = fresh.and_then(|page| page.pop(&mut self.pass, &self.skip, now)) {
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
                limit: MAX_PAGE,
            }),
            None => self.exhausted(),
        }
    }

    /// As much as was used since the last head, and twice that while it is used up.
    fn read_head(&self) -> Step {
        let limit = self
            .used
            .saturating_mul(2)
            .clamp(self.smallest_page, MAX_PAGE);
        Step::Read(Wanted { after: None, limit })
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
            (Some(end), Some(top)) => end <= top,
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

    /// A task of this pass was taken.
    pub(super) fn took(&mut self) {
        self.pass.took = true;
    }

    /// Leaves a task alone until `until`, whatever the index says of it.
    pub(super) fn skip(&mut self, task: TaskId, until: Millis) {
        self.skip.insert(task, until);
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
    ) -> Option<Candidate> {
        while let Some(task) = self.tasks.pop_front() {
            if task.ttl.is_expired(now) {
                continue;
            }
            let skipped_until = skip.get(&task.id).copied();
            match task.not_before.max(skipped_until).filter(|at| *at > now) {
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
mod tests {
    use super::*;
    use crate::task::Ttl;

    fn task(created: i64, not_before: Option<i64>) -> Candidate {
        Candidate {
            id: TaskId::from_stored(format!("t{created}")),
            created: Millis(created),
            ttl: Ttl::Missing,
            not_before: not_before.map(Millis),
        }
    }

    /// A page of a list of tasks, newest first.
    fn page(index: &[Candidate], wanted: &Wanted) -> Page {
        let below = wanted.after.as_ref().map_or(Millis::MAX, Cursor::created);
        let mut rest = index.iter().filter(|task| task.created < below).cloned();
        let candidates: Vec<_> = rest.by_ref().take(usize::from(wanted.limit)).collect();
        let more = rest.next().is_some();
        let next = candidates.last().filter(|_| more).map(|last| Cursor {
            created: last.created.0.to_string(),
            task: last.id.clone(),
        });
        Page { candidates, next }
    }

    /// The next step other than a read.
    fn answer(selector: &mut Selector, index: &[Candidate], now: Millis) -> Step {
        loop {
            match selector.next(now) {
                Step::Read(wanted) => {
                    selector.accept(wanted.clone(), page(index, &wanted), now, now);
                }
                step => return step,
            }
        }
    }

    fn taken(step: &Step) -> i64 {
        match step {
            Step::Take(task) => task.created.0,
            step => panic!("{step:?}"),
        }
    }

    #[test]
    fn a_newer_task_is_preferred_as_soon_as_the_page_is_old() {
        let mut selector = Selector::new(2);
        let old = [task(9, None), task(8, None), task(7, None)];
        assert_eq!(taken(&answer(&mut selector, &old, Millis(100))), 9);
        let new = [task(10, None), task(8, None), task(7, None)];
        assert_eq!(taken(&answer(&mut selector, &new, Millis(200))), 8);
        assert_eq!(taken(&answer(&mut selector, &new, Millis(201))), 10);
    }

    #[test]
    fn tasks_in_backoff_do_not_hide_an_older_one() {
        let mut index: Vec<_> = (1..=500)
            .rev()
            .map(|n| task(1_000 + n, Some(99_999)))
            .collect();
        index.push(task(5, None));
        let mut selector = Selector::new(10);
        assert_eq!(taken(&answer(&mut selector, &index, Millis(2_000))), 5);
        let Step::Exhausted(pass) = answer(&mut selector, &index[..500], Millis(2_001)) else {
            panic!("the pass is not over");
        };
        assert_eq!(pass.next_due, Some(Millis(99_999)));
    }

    #[test]
    fn a_pass_goes_on_where_it_was_however_slow_the_index_is() {
        let index: Vec<_> = (1..=1_000)
            .rev()
            .map(|n| task(1_000 + n, Some(99_999)))
            .collect();
        let mut selector = Selector::new(10);
        let (mut now, mut reads) = (Millis(10_000), Vec::new());
        let pass = loop {
            match selector.next(now) {
                Step::Read(wanted) => {
                    reads.push(wanted.after.as_ref().map(|cursor| cursor.created().0));
                    assert!(reads.len() < 100, "the pass never ends");
                    // Every read takes longer than a page may be old.
                    let asked = now;
                    now = now.plus(Duration::from_millis(150));
                    selector.accept(wanted.clone(), page(&index, &wanted), asked, now);
                }
                Step::Exhausted(pass) => break pass,
                Step::Take(task) => panic!("{task:?} is not due"),
            }
        };
        assert_eq!(pass.next_due, Some(Millis(99_999)));
        let beyond_head: Vec<_> = reads.into_iter().flatten().collect();
        assert_eq!(
            beyond_head,
            (0..10).map(|n| 1_991 - 100 * n).collect::<Vec<_>>()
        );
    }

    #[test]
    fn more_new_tasks_than_a_head_shows_are_not_skipped() {
        let backlog: Vec<_> = (1..=300).rev().map(|n| task(n, Some(99_999))).collect();
        let mut selector = Selector::new(10);
        // The pass gets below the head ...
        let Step::Read(head) = selector.next(Millis(1_000)) else {
            panic!("no head wanted")
        };
        let next = Some(Cursor {
            created: "291".into(),
            task: backlog[9].id.clone(),
        });
        selector.accept(
            head,
            Page {
                candidates: backlog[..10].to_vec(),
                next,
            },
            Millis(1_000),
            Millis(1_000),
        );
        assert!(matches!(
            selector.next(Millis(1_000)),
            Step::Read(Wanted { after: Some(_), .. })
        ));
        // ... and meanwhile more arrive than the next head shows.
        let mut index: Vec<_> = (1..=25).rev().map(|n| task(500 + n, None)).collect();
        index.extend(backlog);
        let order: Vec<_> = (0..25)
            .map(|_| taken(&answer(&mut selector, &index, Millis(1_200))))
            .collect();
        assert_eq!(order, (501..=525).rev().collect::<Vec<_>>());
    }

    #[test]
    fn expired_and_skipped_tasks_are_left_alone() {
        let mut expired = task(9, None);
        expired.ttl = Ttl::Milliseconds(Millis(50));
        let index = [expired, task(8, None), task(7, None), task(6, None)];
        let mut selector = Selector::new(10);
        selector.skip(index[1].id.clone(), Millis(i64::MAX));
        selector.skip(index[2].id.clone(), Millis(300));
        assert_eq!(taken(&answer(&mut selector, &index, Millis(100))), 6);
        let Step::Exhausted(pass) = answer(&mut selector, &index, Millis(100)) else {
            panic!("the pass is not over");
        };
        assert_eq!(pass.next_due, Some(Millis(300)));
    }

    #[test]
    fn pages_grow_with_use_and_shrink_without() {
        let index: Vec<_> = (1..=1_000).rev().map(|n| task(n, None)).collect();
        let mut selector = Selector::new(10);
        let mut sizes = Vec::new();
        for turn in 0..8 {
            let now = Millis(1_000 + turn * 200);
            match selector.next(now) {
                Step::Read(wanted) => sizes.push(wanted.limit),
                step => panic!("{step:?}"),
            }
            let used = if turn < 5 { 100 } else { 1 };
            for _ in 0..used {
                answer(&mut selector, &index, now);
            }
        }
        assert_eq!(sizes, [10, 100, 100, 100, 100, 100, 10, 10]);
    }
}
