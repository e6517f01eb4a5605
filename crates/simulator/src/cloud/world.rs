//! The state shared by all parts of the cloud.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use lifo_queue::control::{Control, GroupStates};
use lifo_queue::store::QueueStore;
use lifo_queue::store::memory::Record;
use lifo_queue::task::TaskId;
use lifo_queue::time::{Clock, Millis, TokioClock};

use super::chance::Chance;
use super::invocation::{Ended, Event};
use super::ledger::Ledger;
use super::parts::{Index, Platform, Stream, Topics};
use super::process::{Function, Process};
use super::script::Script;
use super::settings::CloudSettings;
use crate::sync::lock;

/// The code of the deployed functions.
#[async_trait]
pub(crate) trait Functions: Send + Sync {
    /// Runs one invocation to its end, its deadline or its death.
    async fn invoke(&self, world: &Arc<World>, function: Function, event: &Event) -> Ended;
}

/// A process, along with the world that it acts in.
#[derive(Clone)]
pub(crate) struct Actor {
    pub(crate) world: Arc<World>,
    pub(crate) process: Arc<Process>,
}

/// The storage backend of the items.
#[async_trait]
pub(crate) trait Backend: Send + Sync {
    fn store(&self, by: &Actor) -> Arc<dyn QueueStore>;

    /// Returns a task as it was most recently read.
    fn task(&self, id: &TaskId) -> Option<Record>;

    fn read_task(&self, id: &TaskId) -> Option<Record>;

    fn tasks(&self) -> Vec<(TaskId, Record)>;

    fn control(&self) -> Control;

    /// Reads the control item again.
    fn read_control(&self) -> Control;

    fn groups(&self) -> GroupStates;

    fn put(&self, id: &TaskId, record: Option<&Record>);

    /// Writes tasks in one batch like a direct writer, and retries unprocessed ones. Returns
    /// whether all were written.
    async fn put_batch(&self, by: &Actor, tasks: &[(TaskId, Record)]) -> bool;

    /// Sets the record that the index shows for a task.
    fn show(&self, id: &TaskId, record: Option<&Record>);
}

pub(crate) struct World {
    pub(crate) settings: CloudSettings,
    pub(crate) clock: TokioClock,
    pub(crate) chance: Chance,
    pub(crate) ledger: Mutex<Ledger>,
    pub(crate) functions: Box<dyn Functions>,
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) index: Mutex<Index>,
    pub(crate) stream: Stream,
    pub(crate) topics: Topics,
    pub(crate) platform: Platform,
    pub(crate) script: Box<Script>,
    processes: AtomicU32,
}

impl World {
    pub(crate) fn new(
        settings: CloudSettings,
        clock: TokioClock,
        chance: Chance,
        functions: Box<dyn Functions>,
        backend: Box<dyn Backend>,
        script: Box<Script>,
    ) -> Arc<Self> {
        Arc::new(Self {
            settings,
            clock,
            chance,
            ledger: Mutex::new(Ledger::new(settings)),
            functions,
            backend,
            index: Mutex::default(),
            stream: Stream::new(settings.stream.shards),
            topics: Topics::default(),
            platform: Platform::default(),
            script,
            processes: AtomicU32::new(0),
        })
    }

    pub(crate) fn now(&self) -> Millis {
        self.clock.now()
    }

    pub(crate) fn next_process(&self) -> u32 {
        self.processes.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn note(&self, process: u32, text: impl Into<String>) {
        lock(&self.ledger).note(self.now(), process, text);
    }
}
