//! Checks once per second whether a processor is active while a task is due.

use std::sync::Arc;
use std::time::Duration;

use lifo_queue::control::GroupStates;
use lifo_queue::process::GroupSettings;
use lifo_queue::store::memory::Record;
use lifo_queue::task::{TaskId, TaskStatus};
use lifo_queue::time::Millis;

use super::ledger::Due;
use super::process::Function;
use super::table;
use super::world::World;
use crate::sync::{lock, pause};

const INTERVAL: Duration = Duration::from_secs(1);

/// Starts a background task that checks the cloud until the run ends.
pub(crate) fn start(world: &Arc<World>) {
    let world = world.clone();
    tokio::spawn(async move {
        loop {
            pause(INTERVAL).await;
            look(&world);
        }
    });
}

fn look(world: &World) {
    let now = world.now();
    if world.platform.running(Function::ProcessTasks) > 0 {
        lock(&world.ledger).awake(now);
        return;
    }
    let quiet = is_quiet(world);
    let control = world.backend.control();
    if control.is_paused(now) {
        lock(&world.ledger).awake(now);
        return;
    }
    let tasks = world.backend.tasks();
    let settings = world.settings.process.groups;
    let groups = settings.map(|settings| Groups {
        states: world.backend.groups(),
        settings,
        tasks: &tasks,
    });
    let mut ledger = lock(&world.ledger);
    let due = tasks.iter().filter_map(|(id, record)| {
        let waits = record.status == TaskStatus::Pending && !record.ttl.is_expired(now);
        let shows = table::shows_at(world, id)?;
        let since = record.not_before.map_or(shows, |from| shows.max(from));
        // Time from which the task's group was no longer closed.
        let groups = groups.as_ref();
        let closed = groups.and_then(|groups| groups.closed_until(id.group()));
        let since = since.max(closed.unwrap_or(since));
        (waits && since <= now).then(|| Due {
            task: id.clone(),
            since,
            fresh: record.not_before.max(closed).is_none(),
        })
    });
    match due.min_by_key(|due| due.since) {
        Some(due) => ledger.asleep(now, &due, quiet),
        // The lease of a crashed processor and the marker of a lost notification delay other
        // processors until they expire. On a function with a slow clock, both stay live for longer.
        None if quiet
            && control.live_lease(now.minus(world.settings.skew)).is_none()
            && control.notified_until.is_none() =>
        {
            let unfinished = |(id, record): &(TaskId, Record)| {
                let hidden = table::shows_at(world, id).is_some_and(|at| at > now);
                hidden || record.status == TaskStatus::Taken
            };
            if !tasks.iter().any(unfinished) {
                ledger.clean();
            }
        }
        None => {}
    }
}

/// Stored state and settings that determine which groups are closed.
struct Groups<'a> {
    states: GroupStates,
    settings: GroupSettings,
    tasks: &'a [(TaskId, Record)],
}

impl Groups<'_> {
    /// Returns the latest known time until which no task of the group is due.
    fn closed_until(&self, name: &str) -> Option<Millis> {
        let learned = &self.states.learned;
        let group = learned.groups.iter().find(|one| one.name == name);
        let left = group.into_iter().flat_map(|one| one.leases.iter().copied());
        let taken = self
            .tasks
            .iter()
            .filter(|(id, record)| id.group() == name && record.status == TaskStatus::Taken);
        let leases = taken.filter_map(|(_, record)| record.lease_until);
        let mut leases: Vec<_> = leases.chain(left).collect();
        leases.sort_unstable_by(|a, b| b.cmp(a));
        let most = self.settings.max_concurrency;
        let full = most.and_then(|most| leases.get(usize::from(most.get()) - 1).copied());
        // After a crash, the token buckets of groups without a learned state start empty.
        let emptied = learned.empty_at.filter(|_| group.is_none());
        let emptied = emptied.zip(self.settings.rate);
        let emptied = emptied.map(|(at, rate)| at.plus(rate.interval));
        let closed = self.states.closed_until(name, Millis(0));
        closed.max(emptied).max(full)
    }
}

pub(crate) fn is_quiet(world: &World) -> bool {
    world.stream.is_idle() && world.topics.is_idle() && world.platform.is_idle()
}
