//! A store under test, with access to its answers and stored items.

pub mod dynamodb;
pub mod memory;

use std::collections::BTreeMap;
use std::error::Error;

use lifo_queue::control::{Control, GroupStates};
use lifo_queue::store::memory::Record;
use lifo_queue::store::{Candidate, Cursor, Inserted, Order, PageQuery, QueueStore, StandingLease};
use lifo_queue::task::{TaskId, TaskStatus};

use crate::answer::Answer;
use crate::operation::{ForeignTask, Operation, Pass, call_of};

/// A store error, or a result that does not match any answer.
pub type Failure = Box<dyn Error>;

/// Maximum number of pages per pass. It exceeds the number of tasks, so it suffices even for pages
/// with one task.
const MOST_PAGES: usize = 20;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    pub tasks: BTreeMap<TaskId, Record>,
    pub control: Control,
    pub groups: GroupStates,
}

/// A store, with direct access to its items.
#[allow(async_fn_in_trait, reason = "used in this package only, on one thread")]
pub trait Subject {
    fn store(&self) -> &dyn QueueStore;

    /// Writes an item with the three required attributes and a deadline, as a direct writer does,
    /// if no such item exists.
    async fn put(&self, task: &ForeignTask) -> Result<Inserted, Failure>;

    async fn tasks(&self) -> Result<BTreeMap<TaskId, Record>, Failure>;
}

/// Reads the entire content of a queue.
pub async fn snapshot(subject: &impl Subject) -> Result<Snapshot, Failure> {
    Ok(Snapshot {
        tasks: subject.tasks().await?,
        control: subject.store().control().await?,
        groups: subject.store().groups().await?,
    })
}

/// Performs an operation on a store whose content is `before`.
pub async fn perform(
    subject: &impl Subject,
    operation: &Operation,
    before: &Snapshot,
) -> Result<Answer, Failure> {
    let store = subject.store();
    macro_rules! call {
        ($method:ident $arguments:tt) => {
            Answer::from(store.$method $arguments.await?)
        };
    }
    let answer = call_of!(operation, call, {
        Operation::Foreign(task) => subject.put(task).await?.into(),
        Operation::Waiting(pass) => waiting(store, pass, before).await?.into(),
        Operation::Leases(pass) => leases(store, pass, before).await?.into(),
    });
    Ok(answer.compared())
}

fn query(pass: &Pass, page: usize, after: Option<Cursor>) -> PageQuery {
    PageQuery {
        status: pass.status.into(),
        order: pass.order,
        created_from: pass.created_from,
        after,
        limit: pass.limits[page % pass.limits.len()],
        now: pass.now,
    }
}

async fn waiting(
    store: &dyn QueueStore,
    pass: &Pass,
    before: &Snapshot,
) -> Result<Vec<Candidate>, Failure> {
    let read = async |query: &PageQuery| {
        let mut page = store.pending_page(query).await?;
        for candidate in &mut page.candidates {
            // Only PENDING entries have this mark, because no caller needs it for others.
            candidate.lease_expired &= pass.status == TaskStatus::Pending;
        }
        Ok((page.candidates, page.next))
    };
    all(pass, before, read, |candidate| &candidate.id).await
}

async fn leases(
    store: &dyn QueueStore,
    pass: &Pass,
    before: &Snapshot,
) -> Result<Vec<StandingLease>, Failure> {
    let read = async |query: &PageQuery| {
        let page = store.taken_page(query).await?;
        Ok((page.leases, page.next))
    };
    all(pass, before, read, |standing| &standing.lease.task).await
}

/// Reads and concatenates all pages of a pass.
async fn all<T: std::fmt::Debug>(
    pass: &Pass,
    before: &Snapshot,
    read: impl AsyncFn(&PageQuery) -> Result<(Vec<T>, Option<Cursor>), Failure>,
    id: impl Fn(&T) -> &TaskId,
) -> Result<Vec<T>, Failure> {
    let (mut found, mut after) = (Vec::new(), None);
    for page in 0..MOST_PAGES {
        let query = query(pass, page, after);
        let (entries, next) = read(&query).await?;
        if entries.len() > usize::from(query.limit) {
            return Err("a page is longer than was asked for".into());
        }
        found.extend(entries);
        after = next;
        if after.is_none() {
            return in_order(found, id, pass.order, before);
        }
    }
    Err("the pass has no end".into())
}

/// Checks that the entries are ordered by age, and orders entries of the same millisecond by id.
fn in_order<T: std::fmt::Debug>(
    mut found: Vec<T>,
    id: impl Fn(&T) -> &TaskId,
    order: Order,
    before: &Snapshot,
) -> Result<Vec<T>, Failure> {
    let age = |one: &T| before.tasks.get(id(one)).map(|task| task.created);
    let in_age = found.is_sorted_by(|one, next| match order {
        Order::NewestFirst => age(one) >= age(next),
        Order::OldestFirst => age(one) <= age(next),
    });
    if !in_age {
        return Err(format!("not {order:?}: {found:?}").into());
    }
    for same in found.chunk_by_mut(|one, next| age(one) == age(next)) {
        same.sort_by(|one, next| id(one).cmp(id(next)));
    }
    Ok(found)
}
