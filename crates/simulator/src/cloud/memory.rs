//! The in-memory table, and the stores through which processes use it.

use std::sync::Arc;

use async_trait::async_trait;
use lifo_queue::control::{Control, GroupStates};
use lifo_queue::store::memory::{MemoryStore, Record};
use lifo_queue::store::{ControlStore, GroupStore, QueueStore};
use lifo_queue::task::TaskId;

use super::memory_wire::at_once;
use super::process_store::{Access, ProcessStore};
use super::table;
use super::world::{Actor, Backend};

/// The table and its index, each in its own store, because the index lags.
#[derive(Default)]
pub(crate) struct InMemory {
    truth: Arc<MemoryStore>,
    index: Arc<MemoryStore>,
}

impl InMemory {
    /// Returns the access of a process to these stores.
    fn access(&self) -> Access {
        Access::Memory {
            truth: self.truth.clone(),
            index: self.index.clone(),
        }
    }
}

#[async_trait]
impl Backend for InMemory {
    fn store(&self, by: &Actor) -> Arc<dyn QueueStore> {
        Arc::new(ProcessStore::new(by, self.access()))
    }

    fn task(&self, id: &TaskId) -> Option<Record> {
        self.truth.record(id)
    }

    fn read_task(&self, id: &TaskId) -> Option<Record> {
        self.task(id)
    }

    fn tasks(&self) -> Vec<(TaskId, Record)> {
        self.truth.records()
    }

    fn control(&self) -> Control {
        at_once(self.truth.control()).unwrap_or_default()
    }

    fn read_control(&self) -> Control {
        self.control()
    }

    fn groups(&self) -> GroupStates {
        at_once(self.truth.groups()).unwrap_or_default()
    }

    fn put(&self, id: &TaskId, record: Option<&Record>) {
        put(&self.truth, id, record);
    }

    async fn put_batch(&self, by: &Actor, tasks: &[(TaskId, Record)]) -> bool {
        for (id, record) in tasks {
            table::put(&by.world, &by.process, id, Some(record));
        }
        true
    }

    fn show(&self, id: &TaskId, record: Option<&Record>) {
        put(&self.index, id, record);
    }
}

fn put(store: &MemoryStore, id: &TaskId, record: Option<&Record>) {
    match record {
        Some(record) => store.put(id.clone(), record.clone()),
        None => drop(store.remove(id)),
    }
}
