//! What the parts of the cloud remember. Their behaviour is in the modules of their names.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use lifo_queue::store::memory::Record;
use lifo_queue::task::TaskId;
use lifo_queue::time::Millis;
use tokio::sync::Notify;

use super::fault::lock;
use super::process::Function;

/// Asynchronous invocations.
#[derive(Default)]
pub(crate) struct Platform {
    pub(super) running: Mutex<BTreeMap<Function, usize>>,
    /// Events that are queued or being dealt with.
    pub(super) events: AtomicUsize,
}

impl Platform {
    /// Whether no event is queued or being dealt with.
    pub(crate) fn is_idle(&self) -> bool {
        self.events.load(Ordering::Relaxed) == 0
    }

    /// Invocations of a function at this moment.
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

/// The two topics.
#[derive(Debug, Default)]
pub(crate) struct Topics {
    pub(super) published: AtomicU64,
    pub(super) in_flight: AtomicUsize,
    /// The highest number delivered, for each topic.
    pub(super) delivered: [AtomicU64; 2],
}

impl Topics {
    /// Whether nothing is on its way.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight.load(Ordering::Relaxed) == 0
    }
}

/// The table's stream.
pub(crate) struct Stream {
    pub(super) shards: Vec<Shard>,
    /// Records that no invocation has dealt with yet.
    pub(super) unread: AtomicUsize,
    pub(super) written: AtomicU64,
}

#[derive(Default)]
pub(super) struct Shard {
    pub(super) records: Mutex<VecDeque<Insert>>,
    pub(super) arrived: Notify,
}

/// A record that passed the mapping's filter.
#[derive(Clone, Debug)]
pub(super) struct Insert {
    pub(super) event: String,
    pub(super) written: Millis,
    /// When the mapping can read it.
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

    /// Whether nothing is on its way.
    pub(crate) fn is_idle(&self) -> bool {
        self.unread.load(Ordering::Relaxed) == 0
    }
}

/// Writes that the index does not show yet.
#[derive(Default)]
pub(crate) struct Index {
    /// By the moment they show, and by their order.
    pub(super) coming: BTreeMap<(Millis, u64), (TaskId, Option<Record>)>,
    pub(super) writes: u64,
    /// When the last write of a task shows: those of one task show in their order.
    pub(super) last: HashMap<TaskId, Millis>,
}
