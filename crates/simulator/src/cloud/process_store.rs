//! The store of one process. The ledger checks every call, every call can fail, and a crashed
//! process can make no further calls.

use std::any::Any;
use std::sync::Arc;

use async_trait::async_trait;
use lifo_queue::control::{Acquired, Renewed};
use lifo_queue::store::memory::MemoryStore;
use lifo_queue::store::{Page, QueueStore, StoreError, Written};

use super::memory_wire;
use super::process::Function;
use super::world::Actor;
use crate::layered::Layered;
use crate::layered::tasks::{About, Layer, TaskCall};
use crate::sync::lock;

/// Access of a process to the table.
pub(crate) enum Access {
    /// The calls go over the cloud's simulated network.
    Memory {
        truth: Arc<MemoryStore>,
        index: Arc<MemoryStore>,
    },
    /// A store with its own SDK client, whose requests go over the cloud's simulated network.
    Client(Arc<dyn QueueStore>),
}

pub(crate) type ProcessStore = Layered<OfProcess>;

pub(crate) struct OfProcess {
    by: Actor,
    access: Access,
}

impl ProcessStore {
    pub(crate) fn new(by: &Actor, access: Access) -> Self {
        let by = by.clone();
        Self(OfProcess { by, access })
    }
}

#[async_trait]
impl Layer for OfProcess {
    async fn around<T: Any + Send>(&self, call: TaskCall<'_, T>) -> Result<T, StoreError> {
        let Actor { world, process } = &self.by;
        let (operation, about) = (call.operation, call.about);
        if let About::Take(request) = about {
            lock(&world.ledger).take_asked(world.now(), process, request);
        }
        let result = match &self.access {
            Access::Memory { truth, index } => {
                let store = match about {
                    About::Index(_) => index,
                    _ => truth,
                };
                memory_wire::call(&self.by, store.clone(), call).await
            }
            Access::Client(store) => {
                let number = process.enter(world, operation).await;
                let result = call.on(store.clone()).await;
                process.leave(world, number, operation).await;
                result
            }
        };
        if let Some(task) = about.task() {
            let failed = result.is_err();
            lock(&world.ledger).call_ended(world.now(), process, operation, task, failed);
        }
        if let Ok(done) = &result {
            self.record(operation, about, done);
        }
        result
    }
}

impl OfProcess {
    /// Reports to the ledger which facts the process learned from a response.
    fn record(&self, operation: &str, about: About<'_>, done: &dyn Any) {
        let Actor { world, process } = &self.by;
        let mut ledger = lock(&world.ledger);
        match about {
            About::Index(query) => {
                if let Some(page) = done.downcast_ref::<Page>() {
                    if process.function == Function::ProcessTasks {
                        let mut census = lock(&world.chance.census);
                        census.pages += 1;
                        census.entries += page.candidates.len() as u64;
                    }
                    let is_head = query.after.is_none();
                    ledger.page_read(world.now(), process, is_head, page);
                }
            }
            About::Acquire(claim) => {
                if let Some(Acquired::Ours(_)) = done.downcast_ref() {
                    ledger.holds_lease(process, claim.owner, claim.until);
                }
            }
            About::Renew(renewal) => {
                if let Some(Renewed::Ours(_)) = done.downcast_ref() {
                    ledger.holds_lease(process, renewal.owner, renewal.until);
                }
            }
            About::Control if operation == "mark_notified" => {
                if let Some(Written::Done) = done.downcast_ref() {
                    ledger.mark_granted();
                }
            }
            _ => {}
        }
    }
}
