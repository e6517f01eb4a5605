//! A store whose calls fail according to a script.

use std::any::Any;
use std::sync::Arc;

use async_trait::async_trait;
use lifo_queue::store::{QueueStore, StoreError};
use lifo_queue::task::NewTask;

use crate::fault::Fault;
use crate::layered::Layered;
use crate::layered::tasks::{About, Layer, TaskCall};

/// Decides whether the next call of this operation has a fault.
pub type Script = dyn Fn(&'static str) -> Option<Fault> + Send + Sync;

/// Decides whether the next insert of this task has a fault.
pub type InsertScript = dyn Fn(&NewTask) -> Option<Fault> + Send + Sync;

/// A store whose calls fail according to a script.
pub type FaultyStore = Layered<Faults>;

/// A layer that injects scripted faults into the calls of a store.
pub struct Faults {
    inner: Arc<dyn QueueStore>,
    script: Box<Script>,
    inserts: Box<InsertScript>,
}

impl FaultyStore {
    /// Creates a store on `inner` whose calls fail according to `script`.
    pub fn new(
        inner: Arc<dyn QueueStore>,
        script: impl Fn(&'static str) -> Option<Fault> + Send + Sync + 'static,
    ) -> Self {
        Self(Faults {
            inner,
            script: Box::new(script),
            inserts: Box::new(|_| None),
        })
    }

    /// Creates a store on `inner` that fails only inserts, according to `script`.
    pub fn failing_inserts(
        inner: Arc<dyn QueueStore>,
        script: impl Fn(&NewTask) -> Option<Fault> + Send + Sync + 'static,
    ) -> Self {
        let mut store = Self::new(inner, |_| None);
        store.0.inserts = Box::new(script);
        store
    }
}

#[async_trait]
impl Layer for Faults {
    async fn around<T: Any + Send>(&self, call: TaskCall<'_, T>) -> Result<T, StoreError> {
        let operation = call.operation;
        let fault = match (call.about, (self.script)(operation)) {
            (About::Insert(task), None) => (self.inserts)(task),
            (_, fault) => fault,
        };
        match fault {
            None => call.on(self.inner.clone()).await,
            Some(fault) => {
                if fault == Fault::LostAck {
                    call.on(self.inner.clone()).await?;
                }
                Err(fault.error(operation))
            }
        }
    }
}
