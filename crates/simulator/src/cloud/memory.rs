//! The table in memory, and the store as a process has it.

use std::sync::Arc;

use async_trait::async_trait;
use futures::FutureExt;
use futures::future::BoxFuture;
use lifo_queue::control::Control;
use lifo_queue::store::memory::{MemoryStore, Record};
use lifo_queue::store::{ControlStore, QueueStore, StoreError};
use lifo_queue::task::TaskId;

use super::process::Process;
use super::process_store::{Access, ProcessStore};
use super::table::{Backend, Subject};
use super::wire::{Broken, READS, WRITES, exchange};
use super::world::World;

/// The truth, and what the index shows, each in memory.
#[derive(Default)]
pub(crate) struct InMemory {
    truth: Arc<MemoryStore>,
    index: Arc<MemoryStore>,
}

/// A call on a store, ready to be made.
pub(crate) type Call<T> =
    Box<dyn FnOnce(Arc<dyn QueueStore>) -> BoxFuture<'static, Result<T, StoreError>> + Send>;

impl InMemory {
    /// The way of a process' calls to these tables.
    fn access(&self) -> Access {
        Access::Memory {
            truth: self.truth.clone(),
            index: self.index.clone(),
        }
    }
}

#[async_trait]
impl Backend for InMemory {
    fn store(&self, world: &Arc<World>, process: &Arc<Process>) -> Arc<dyn QueueStore> {
        Arc::new(ProcessStore::new(world, process, self.access()))
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

    fn put(&self, id: &TaskId, record: Option<&Record>) {
        put(&self.truth, id, record);
    }

    async fn put_batch(
        &self,
        world: &Arc<World>,
        process: &Arc<Process>,
        tasks: &[(TaskId, Record)],
    ) -> bool {
        for (id, record) in tasks {
            world.table.put(world, process, id, Some(record.clone()));
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

/// The store in memory never waits.
fn at_once<T>(call: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    call.now_or_never()
        .unwrap_or_else(|| Err(unanswered("memory", "the store in memory waited")))
}

/// Makes a call over the wire.
pub(crate) async fn call<T: Send + 'static>(
    world: &Arc<World>,
    process: &Arc<Process>,
    operation: &'static str,
    subject: Subject,
    store: Arc<MemoryStore>,
    call: Call<T>,
) -> Result<T, StoreError> {
    let kinds = if subject.is_written() { WRITES } else { READS };
    let by = process.clone();
    let apply = move |world: &World| {
        world
            .table
            .apply(world, &by, &subject, || at_once(call(store)))
    };
    match exchange(world, process, operation, kinds, apply).await {
        Ok(answer) => answer,
        Err(Broken::Throttled | Broken::Conflict) => Err(StoreError::Throttled {
            operation,
            source: "the cloud's fault plan".into(),
        }),
        Err(Broken::Unavailable | Broken::Lost) => {
            Err(unanswered(operation, "the cloud's fault plan"))
        }
    }
}

fn unanswered(operation: &'static str, why: &'static str) -> StoreError {
    StoreError::Unanswered {
        operation,
        source: why.into(),
    }
}
