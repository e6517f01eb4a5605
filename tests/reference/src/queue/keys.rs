//! Table rows for keys: a newer state supersedes an older one.

use lifo_queue::store::memory::Record;
use lifo_queue::store::{Conflict, Inserted, Replaced};
use lifo_queue::task::{Keyed, NewTask, Place, TaskStatus, Ttl, Version};
use proptest::prelude::*;

use super::{ReferenceQueue, is_expired};
use crate::answer::Answer;
use crate::draw::{Drawn, free, id, ids, moment, new_task, weight};
use crate::machine::Machine;
use crate::operation::{Operation, Rule};

impl ReferenceQueue {
    /// Writes the first state of a key, or supersedes an older state. Newer and equal states, tasks
    /// without a key, and keys with another order remain unchanged.
    pub(super) fn state(&mut self, task: &NewTask, keyed: &Keyed) -> (Answer, Rule) {
        let (answer, rule) = match self.tasks.get_mut(&task.id) {
            None => {
                let ttl = Ttl::Seconds(task.expires_at);
                let mut record = Record::pending(task.created, ttl);
                write(&mut record, task, keyed);
                self.tasks.insert(task.id.clone(), record);
                (Inserted::Created, Rule::KeyFirst)
            }
            Some(there) => match rejection(there, task, keyed) {
                Some(rejected) => rejected,
                None => replace(there, task, keyed),
            },
        };
        (Answer::Inserted(answer), rule)
    }
}

fn rejection(there: &Record, task: &NewTask, keyed: &Keyed) -> Option<(Inserted, Rule)> {
    let (old, new) = match (&there.version, keyed.version.as_str()) {
        _ if there.create_token == Some(task.create_token) => {
            return Some((Inserted::Created, Rule::KeyRepeated));
        }
        (None, _) => return Some((Inserted::Conflict(Conflict::NotAKey), Rule::KeyNotAKey)),
        (Some(old), new) => (old.as_str(), new),
    };
    // The first letter indicates the kind of order: by sequence or by time.
    if old.chars().next() != new.chars().next() {
        return Some((
            Inserted::Conflict(Conflict::OtherOrder),
            Rule::KeyOtherOrder,
        ));
    }
    match old.cmp(new) {
        std::cmp::Ordering::Less => None,
        std::cmp::Ordering::Equal => Some((Inserted::Duplicate, Rule::KeyDuplicate)),
        std::cmp::Ordering::Greater => Some((Inserted::Outdated, Rule::KeyOutdated)),
    }
}

fn replace(there: &mut Record, task: &NewTask, keyed: &Keyed) -> (Inserted, Rule) {
    let (what, rule) = match there.status {
        TaskStatus::Taken if there.overtaken => (Replaced::Waiting, Rule::KeyOvertakesOvertaken),
        TaskStatus::Taken => (Replaced::Running, Rule::KeyOvertakes),
        TaskStatus::Success | TaskStatus::Failure => (Replaced::Settled, Rule::KeySettled),
        TaskStatus::Pending if is_expired(there.ttl, keyed.written) => {
            (Replaced::Expired, Rule::KeyExpired)
        }
        TaskStatus::Pending => (Replaced::Waiting, Rule::KeyWaiting),
    };
    match what {
        Replaced::Waiting => there.superseded += 1,
        Replaced::Expired => there.revived = Some(task.create_token),
        Replaced::Settled | Replaced::Running => {}
    }
    // A key that keeps its position keeps it only while one of its states is pending.
    let has_place = matches!(what, Replaced::Waiting | Replaced::Expired);
    if keyed.place == Place::Moves || !has_place {
        there.created = task.created;
    }
    write(there, task, keyed);
    if there.status == TaskStatus::Taken {
        there.overtaken = true;
        there.expires_at = Some(task.expires_at);
    } else {
        there.status = TaskStatus::Pending;
        there.ttl = Ttl::Seconds(task.expires_at);
        there.attempts = 0;
        there.total_attempts = 0;
    }
    (Inserted::Replaced(what), rule)
}

fn write(record: &mut Record, task: &NewTask, keyed: &Keyed) {
    record.version = Some(keyed.version.clone());
    record.create_token = Some(task.create_token);
    record.trace.clone_from(&task.trace);
    record.not_before = task.not_before.or(record.not_before);
    record.payload.clone_from(&task.payload);
    record.last_error = None;
    record.state_created = (keyed.place == Place::Stays).then_some(task.created);
}

pub(crate) fn drawn(machine: &Machine) -> Drawn {
    vec![(12 + 3 * weight(machine, 4, running), newer(machine))]
}

fn running(task: &Record) -> bool {
    task.version.is_some() && task.status == TaskStatus::Taken
}

/// Draws a state of a key, mostly newer than the stored state, sometimes older or equal.
fn newer(machine: &Machine) -> BoxedStrategy<Operation> {
    let keys = ids(machine, |task| task.version.is_some());
    let preferred = prop_oneof![
        4 => id(machine, keys),
        3 => id(machine, ids(machine, running)),
        3 => id(machine, free(machine)),
        1 => id(machine, Vec::new()),
    ];
    let order = (0..3_u64, 0..10_u8);
    let parts = (
        new_task(machine, preferred.boxed()),
        order,
        any::<bool>(),
        moment(machine),
    );
    let queue = machine.queue.clone();
    parts
        .prop_map(move |(task, (step, odd), moves, written)| {
            let there = queue
                .tasks
                .get(&task.id)
                .and_then(|task| task.version.as_ref());
            let by_time = odd == 0;
            let version = match there.and_then(Version::sequence) {
                _ if by_time => Version::by_time(task.created, "m#00000"),
                None => Version::by_sequence(10 + step),
                // Older, equal or newer.
                Some(old) if odd <= 3 => Version::by_sequence(old.saturating_sub(1) + step),
                Some(old) => Version::by_sequence(old + 1 + step),
            };
            let place = if moves { Place::Moves } else { Place::Stays };
            Operation::Insert(NewTask {
                keyed: Some(Keyed {
                    version,
                    place,
                    written,
                }),
                ..task
            })
        })
        .boxed()
}
