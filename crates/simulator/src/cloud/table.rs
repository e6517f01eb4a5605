//! The table and its lagging index. Each change is reported to the ledger and the stream.

use std::time::Duration;

use lifo_queue::schema::GROUPS_ITEM;
use lifo_queue::store::memory::Record;
use lifo_queue::task::TaskId;
use lifo_queue::time::Millis;

use super::process::Process;
use super::stream;
use super::world::World;
use crate::fault::Fault;
use crate::layered::tasks::About;
use crate::sync::lock;

/// The items that a call can change.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subject {
    pub(crate) tasks: Vec<TaskId>,
    pub(crate) control: bool,
}

impl Subject {
    /// Creates the subject of a read, which changes no items.
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

    pub(crate) fn of(about: About<'_>) -> Self {
        if let About::Groups = about {
            // Treat the groups item like a non-task item, as in the embedded DynamoDB.
            return Self::task(&TaskId::from_stored(GROUPS_ITEM));
        }
        Self {
            tasks: about.task().cloned().into_iter().collect(),
            control: about.writes_control(),
        }
    }

    pub(crate) fn is_written(&self) -> bool {
        self.control || !self.tasks.is_empty()
    }
}

/// Executes a call and reports its changes to the ledger, the stream and the index.
pub(crate) fn apply<T>(
    world: &World,
    process: &Process,
    subject: &Subject,
    call: impl FnOnce() -> T,
) -> T {
    let backend = &world.backend;
    if !subject.is_written() {
        catch_up(world);
        return call();
    }
    let before = |id: &TaskId| (id.clone(), backend.task(id));
    let tasks: Vec<_> = subject.tasks.iter().map(before).collect();
    let control = subject.control.then(|| backend.control());
    let result = call();
    if let Some(before) = control {
        let after = backend.read_control();
        if before != after {
            lock(&world.ledger).control_changed(world.now(), process, &before, &after);
        }
    }
    for (id, before) in tasks {
        let after = backend.read_task(&id);
        if before != after {
            changed(world, process, &id, before.as_ref(), after);
        }
    }
    result
}

pub(crate) fn put(world: &World, process: &Process, id: &TaskId, record: Option<&Record>) {
    apply(world, process, &Subject::task(id), || {
        world.backend.put(id, record);
    });
}

fn changed(
    world: &World,
    process: &Process,
    id: &TaskId,
    before: Option<&Record>,
    after: Option<Record>,
) {
    let now = world.now();
    lock(&world.ledger).task_changed(now, process, id, before, after.as_ref());
    stream::record(world, id, before, after.as_ref());
    let lag = index_lag(world, now);
    let mut index = lock(&world.index);
    let shows = now
        .plus(lag)
        .max(index.last.get(id).copied().unwrap_or(now));
    index.last.insert(id.clone(), shows);
    index.writes += 1;
    let order = index.writes;
    index.coming.insert((shows, order), (id.clone(), after));
}

/// Applies all writes that the index must already show.
fn catch_up(world: &World) {
    let now = world.now();
    let mut index = lock(&world.index);
    while let Some(first) = index.coming.first_entry() {
        if first.key().0 > now {
            break;
        }
        let (id, record) = first.remove();
        world.backend.show(&id, record.as_ref());
    }
}

/// Returns the time at which the index shows a task's most recent write.
pub(crate) fn shows_at(world: &World, id: &TaskId) -> Option<Millis> {
    lock(&world.index).last.get(id).copied()
}

fn index_lag(world: &World, now: Millis) -> Duration {
    let settings = &world.settings;
    let kinds = [Fault::StaleBeyondLag, Fault::StaleIndex];
    let (from, to) = match world.chance.befalls(&kinds, now) {
        Some(Fault::StaleBeyondLag) => {
            lock(&world.ledger).setback(now, "the index lags beyond what is configured");
            (settings.process.index_lag, settings.long_lag)
        }
        // Use less than the full lag: a turn measures it from the time of a request, but the page
        // shows the table slightly later.
        Some(_) => (
            settings.process.index_lag / 10,
            settings.process.index_lag * 9 / 10,
        ),
        None => (Duration::ZERO, settings.index_lag),
    };
    world.chance.between(from, to)
}
