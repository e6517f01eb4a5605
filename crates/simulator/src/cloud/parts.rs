//! The state of the cloud's parts. The modules with the same names implement their behavior.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use lifo_queue::store::memory::Record;
use lifo_queue::task::TaskId;
use lifo_queue::time::Millis;
use tokio::sync::Notify;

use super::process::Function;
use crate::sync::lock;

#[derive(Default)]
pub(crate) struct Platform {
    pub(super) running: Mutex<BTreeMap<Function, usize>>,
    /// Number of events that are queued or being processed.
    pub(super) events: AtomicUsize,
}

impl Platform {
    /// Whether no event is queued or being processed.
    pub(crate) fn is_idle(&self) -> bool {
        self.events.load(Ordering::Relaxed) == 0
    }

    pub(crate) fn running(&self, function: Function) -> usize {
        lock(&self.running).get(&function).copied().unwrap_or(0)
    }

    pub(crate) fn start(&self, function: Function) {
        *lock(&self.running).entry(function).or_default() += 1;
    }

    pub(crate) fn stop(&self, function: Function) {
        if let Some(there) = lock(&self.running).get_mut(&function) {
            *there -= 1;
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Topics {
    pub(super) published: AtomicU64,
    pub(super) in_flight: AtomicUsize,
    /// The highest message number delivered, per topic.
    pub(super) delivered: [AtomicU64; 2],
}

impl Topics {
    /// Whether no message is in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight.load(Ordering::Relaxed) == 0
    }
}

pub(crate) struct Stream {
    pub(super) shards: Vec<Shard>,
    /// Number of records that no invocation has processed yet.
    pub(super) unread: AtomicUsize,
    pub(super) written: AtomicU64,
}

#[derive(Default)]
pub(super) struct Shard {
    pub(super) records: Mutex<VecDeque<Insert>>,
    pub(super) arrived: Notify,
}

/// A stream record that passed the event source mapping's filter.
#[derive(Clone, Debug)]
pub(super) struct Insert {
    pub(super) event: String,
    pub(super) written: Millis,
    /// Time from which the event source mapping can read the record.
    pub(super) readable: Millis,
}

impl Stream {
    pub(crate) fn new(shards: u32) -> Self {
        Self {
            shards: (0..shards.max(1)).map(|_| Shard::default()).collect(),
            unread: AtomicUsize::new(0),
            written: AtomicU64::new(0),
        }
    }

    /// Whether no record is unread.
    pub(crate) fn is_idle(&self) -> bool {
        self.unread.load(Ordering::Relaxed) == 0
    }
}

/// Writes that the index does not show yet.
#[derive(Default)]
pub(crate) struct Index {
    /// Future updates, ordered by the time at which the index shows them, then by write order.
    pub(super) coming: BTreeMap<(Millis, u64), (TaskId, Option<Record>)>,
    pub(super) writes: u64,
    /// Time at which the index shows a task's last write. It shows the writes of one task in order.
    pub(super) last: HashMap<TaskId, Millis>,
}
