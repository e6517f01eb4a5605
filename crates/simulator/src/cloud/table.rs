//! The table: its truth, the index that lags behind it, and who changed what.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use lifo_queue::control::Control;
use lifo_queue::store::QueueStore;
use lifo_queue::store::memory::Record;
use lifo_queue::task::TaskId;
use lifo_queue::time::Millis;

use super::fault::{FaultKind, lock};
use super::process::Process;
use super::world::World;

/// Where the items are.
#[async_trait]
pub(crate) trait Backend: Send + Sync {
    /// The store as a process has it: calls over a network that fails.
    fn store(&self, world: &Arc<World>, process: &Arc<Process>) -> Arc<dyn QueueStore>;

    /// A task as it was last read.
    fn task(&self, id: &TaskId) -> Option<Record>;

    /// A task, read again: after a call that may have changed it.
    fn read_task(&self, id: &TaskId) -> Option<Record>;

    /// Every task as it is.
    fn tasks(&self) -> Vec<(TaskId, Record)>;

    /// The control item as it was last read.
    fn control(&self) -> Control;

    /// The control item, read again.
    fn read_control(&self) -> Control;

    /// Writes a task past every condition, or deletes it.
    fn put(&self, id: &TaskId, record: Option<&Record>);

    /// Writes tasks in one batch, as a foreign writer does, and what of it was left unprocessed
    /// again; whether all of them were written.
    async fn put_batch(
        &self,
        world: &Arc<World>,
        process: &Arc<Process>,
        tasks: &[(TaskId, Record)],
    ) -> bool;

    /// Lets the index show this of a task.
    fn show(&self, id: &TaskId, record: Option<&Record>);
}

pub(crate) struct Table {
    pub(crate) backend: Box<dyn Backend>,
    index: Mutex<Index>,
}

/// Writes that the index does not show yet.
#[derive(Default)]
struct Index {
    /// By the moment they show, and by their order.
    coming: BTreeMap<(Millis, u64), (TaskId, Option<Record>)>,
    writes: u64,
    /// When the last write of a task shows: those of one task show in their order.
    last: HashMap<TaskId, Millis>,
}

/// What a call may change.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subject {
    pub(crate) tasks: Vec<TaskId>,
    pub(crate) control: bool,
}

impl Subject {
    /// A read.
    pub(crate) fn nothing() -> Self {
        Self::default()
    }

    pub(crate) fn task(id: &TaskId) -> Self {
        Self {
            tasks: vec![id.clone()],
            control: false,
        }
    }

    pub(crate) fn control() -> Self {
        Self {
            tasks: Vec::new(),
            control: true,
        }
    }

    /// A task and the control item: an operator's redrive.
    pub(crate) fn task_and_control(id: &TaskId) -> Self {
        Self {
            control: true,
            ..Self::task(id)
        }
    }

    pub(crate) fn is_written(&self) -> bool {
        self.control || !self.tasks.is_empty()
    }
}

impl Table {
    pub(crate) fn new(backend: Box<dyn Backend>) -> Self {
        Self {
            backend,
            index: Mutex::default(),
        }
    }

    /// Carries a call out, and tells the rest of the cloud what it changed.
    pub(crate) fn apply<T>(
        &self,
        world: &World,
        process: &Process,
        subject: &Subject,
        call: impl FnOnce() -> T,
    ) -> T {
        if !subject.is_written() {
            self.catch_up(world.now());
            return call();
        }
        let before = |id: &TaskId| (id.clone(), self.backend.task(id));
        let tasks: Vec<_> = subject.tasks.iter().map(before).collect();
        let control = subject.control.then(|| self.backend.control());
        let answer = call();
        if let Some(before) = control {
            let after = self.backend.read_control();
            if before != after {
                lock(&world.ledger).control_changed(world.now(), process, &before, &after);
            }
        }
        for (id, before) in tasks {
            let after = self.backend.read_task(&id);
            if before != after {
                self.changed(world, process, &id, before.as_ref(), after);
            }
        }
        answer
    }

    /// Writes a task past every condition, or deletes it.
    pub(crate) fn put(
        &self,
        world: &World,
        process: &Process,
        id: &TaskId,
        record: Option<Record>,
    ) {
        let subject = Subject::task(id);
        self.apply(world, process, &subject, || {
            self.backend.put(id, record.as_ref());
        });
    }

    fn changed(
        &self,
        world: &World,
        process: &Process,
        id: &TaskId,
        before: Option<&Record>,
        after: Option<Record>,
    ) {
        let now = world.now();
        lock(&world.ledger).task_changed(now, process, id, before, after.as_ref());
        world.stream.record(world, id, before, after.as_ref());
        let lag = index_lag(world, now);
        let mut index = lock(&self.index);
        let shows = now
            .plus(lag)
            .max(index.last.get(id).copied().unwrap_or(now));
        index.last.insert(id.clone(), shows);
        index.writes += 1;
        let order = index.writes;
        index.coming.insert((shows, order), (id.clone(), after));
    }

    /// Lets the index show what it must show by now.
    fn catch_up(&self, now: Millis) {
        let mut index = lock(&self.index);
        while let Some(first) = index.coming.first_entry() {
            if first.key().0 > now {
                break;
            }
            let (id, record) = first.remove();
            self.backend.show(&id, record.as_ref());
        }
    }

    /// When the last write of a task shows in the index.
    pub(crate) fn shows_at(&self, id: &TaskId) -> Option<Millis> {
        lock(&self.index).last.get(id).copied()
    }
}

fn index_lag(world: &World, now: Millis) -> Duration {
    let settings = &world.settings;
    let kinds = [FaultKind::StaleBeyondLag, FaultKind::StaleIndex];
    let (from, to) = match world.chance.befalls("index", &kinds, now) {
        Some(FaultKind::StaleBeyondLag) => {
            lock(&world.ledger).setback(now, "the index lags beyond what is configured");
            (settings.process.index_lag, settings.long_lag)
        }
        // A turn counts from when it asks; the answer is as of a moment on its way.
        Some(_) => (
            settings.process.index_lag / 10,
            settings.process.index_lag * 9 / 10,
        ),
        None => (Duration::ZERO, settings.index_lag),
    };
    world.chance.between(from, to)
}
