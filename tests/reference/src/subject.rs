//! A store under test: its answers, and its stored items.

pub mod dynamodb;
pub mod memory;

use std::collections::BTreeMap;
use std::error::Error;

use lifo_queue::control::{Acquired, Control, GroupStates};
use lifo_queue::store::memory::Record;
use lifo_queue::store::{
    Candidate, Cursor, Inserted, Order, PageQuery, QueueStore, StandingLease, TakeOutcome,
};
use lifo_queue::task::{TaskId, TaskStatus};

use crate::operation::{Answer, ForeignTask, Operation, Pass, RETENTION};

/// An error of a store, or a result that no answer allows.
pub type Failure = Box<dyn Error>;

/// The largest number of pages of a pass. It is more than the tasks, so it suffices for pages of
/// one.
const MOST_PAGES: usize = 20;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    pub tasks: BTreeMap<TaskId, Record>,
    pub control: Control,
    pub groups: GroupStates,
}

/// A store, with access to its items that bypasses it.
#[allow(async_fn_in_trait, reason = "used in this package only, on one thread")]
pub trait Subject {
    fn store(&self) -> &dyn QueueStore;

    /// Writes an item as a direct writer does, if no such item exists: with the three required
    /// attributes and a deadline.
    async fn put(&self, task: &ForeignTask) -> Result<Inserted, Failure>;

    async fn tasks(&self) -> Result<BTreeMap<TaskId, Record>, Failure>;
}

/// Reads all content of a queue.
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
    Ok(match operation {
        Operation::Insert(task) => Answer::Inserted(store.insert(task).await?),
        Operation::Foreign(task) => Answer::Inserted(subject.put(task).await?),
        Operation::Waiting(pass) => Answer::Waiting(waiting(store, pass, before).await?),
        Operation::Leases(pass) => Answer::Leases(leases(store, pass, before).await?),
        Operation::Take(request) => Answer::Taken(without_words(store.take(request).await?)),
        Operation::Settle {
            lease,
            settlement,
            now,
        } => Answer::Written(store.settle(lease, settlement, &RETENTION, *now).await?),
        Operation::Return {
            lease,
            returned,
            now,
        } => Answer::Written(store.return_task(lease, returned, *now).await?),
        Operation::Reclaim {
            lease,
            reclaim,
            now,
        } => Answer::Written(store.reclaim(lease, reclaim, *now).await?),
        Operation::Quarantine {
            seen,
            reason,
            keep_until,
            now,
        } => {
            let quarantine = store.quarantine(seen, reason, *keep_until, *now);
            Answer::Written(quarantine.await?)
        }
        Operation::Adopt { task, seen, ttl } => {
            Answer::Written(store.adopt_ttl(task, *seen, *ttl).await?)
        }
        Operation::Redrive { redrive, now } => {
            Answer::Redriven(store.redrive(redrive, *now).await?)
        }
        Operation::Cancel(task) => Answer::Cancelled(store.cancel(task).await?),
        control => perform_control(store, control).await?,
    })
}

async fn perform_control(store: &dyn QueueStore, operation: &Operation) -> Result<Answer, Failure> {
    Ok(match operation {
        Operation::Request => Answer::Control(store.request().await?),
        Operation::Mark { event, until, now } => {
            Answer::Written(store.mark_notified(event, *until, *now).await?)
        }
        Operation::Look => Answer::Control(store.control().await?),
        Operation::Acquire { claim, now } => {
            Answer::Acquired(without_lease(store.acquire(claim, *now).await?))
        }
        Operation::Renew(renewal) => Answer::Renewed(store.renew(renewal).await?),
        Operation::Release(release) => Answer::Released(store.release(release).await?),
        Operation::Pause(pause) => Answer::Written(store.pause(pause).await?),
        Operation::Resume => {
            store.resume().await?;
            Answer::Nothing
        }
        Operation::HoldBreaker(hold) => {
            store.hold_breaker(hold).await?;
            Answer::Nothing
        }
        Operation::CloseBreaker => {
            store.close_breaker().await?;
            Answer::Nothing
        }
        Operation::Limit(limits) => {
            store.limit(limits).await?;
            Answer::Nothing
        }
        Operation::ChangeGroup { group, change, now } => {
            Answer::GroupChanged(store.change_group(group, change, *now).await?)
        }
        Operation::Learn { learned, by, seen } => {
            Answer::Written(store.learn_groups(learned, *by, *seen).await?)
        }
        Operation::LookAtGroups => Answer::Groups(store.groups().await?),
        task => return Err(format!("{} is not about the control item", task.name()).into()),
    })
}

/// Removes the reason, because each store words it differently.
fn without_words(outcome: TakeOutcome) -> TakeOutcome {
    match outcome {
        TakeOutcome::Rejected { .. } => TakeOutcome::Rejected {
            reason: String::new(),
        },
        outcome => outcome,
    }
}

/// Removes the lease from the item before the claim.
fn without_lease(acquired: Acquired) -> Acquired {
    match acquired {
        Acquired::Ours(mut before) => {
            before.lease = None;
            Acquired::Ours(before)
        }
        acquired => acquired,
    }
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
    let (mut found, mut after) = (Vec::<Candidate>::new(), None);
    for page in 0..MOST_PAGES {
        let query = query(pass, page, after);
        let read = store.pending_page(&query).await?;
        if read.candidates.len() > usize::from(query.limit) {
            return Err("a page is longer than was asked for".into());
        }
        found.extend(read.candidates);
        after = read.next;
        if after.is_none() {
            for candidate in &mut found {
                // Only PENDING entries have it: no caller needs it of others.
                candidate.lease_expired &= pass.status == TaskStatus::Pending;
            }
            return in_order(found, |candidate| &candidate.id, pass.order, before);
        }
    }
    Err("the pass has no end".into())
}

async fn leases(
    store: &dyn QueueStore,
    pass: &Pass,
    before: &Snapshot,
) -> Result<Vec<StandingLease>, Failure> {
    let (mut found, mut after) = (Vec::<StandingLease>::new(), None);
    for page in 0..MOST_PAGES {
        let query = query(pass, page, after);
        let read = store.taken_page(&query).await?;
        if read.leases.len() > usize::from(query.limit) {
            return Err("a page is longer than was asked for".into());
        }
        found.extend(read.leases);
        after = read.next;
        if after.is_none() {
            return in_order(found, |standing| &standing.lease.task, pass.order, before);
        }
    }
    Err("the pass has no end".into())
}

/// Checks that the entries are ordered by age, and orders those of one millisecond by id.
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
