//! A store whose calls fail according to a script.

use std::any::Any;
use std::sync::Arc;

use async_trait::async_trait;
use lifo_queue::store::{QueueStore, StoreError};
use lifo_queue::task::NewTask;

use crate::layered::Layered;
use crate::layered::tasks::{About, Layer, TaskCall};

/// What a script decides for a call of a store, or for a request of its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// The call is not executed and gets no response.
    LostRequest,
    /// The call is executed, but its response is lost.
    LostAck,
    /// The call is not executed, because DynamoDB throttles it.
    Throttled,
    /// The call is not executed, because the caller lacks permission. A retry cannot succeed.
    Denied,
    /// The call is not executed, because the item is invalid. A retry cannot succeed.
    Invalid,
}

/// Decides the fault of the next call of this operation.
pub type Script = dyn Fn(&'static str) -> Fault + Send + Sync;

/// Decides the fault of the next insert of this task.
pub type InsertScript = dyn Fn(&NewTask) -> Fault + Send + Sync;

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
        script: impl Fn(&'static str) -> Fault + Send + Sync + 'static,
    ) -> Self {
        Self(Faults {
            inner,
            script: Box::new(script),
            inserts: Box::new(|_| Fault::None),
        })
    }

    /// Creates a store on `inner` that fails only inserts, according to `script`.
    pub fn failing_inserts(
        inner: Arc<dyn QueueStore>,
        script: impl Fn(&NewTask) -> Fault + Send + Sync + 'static,
    ) -> Self {
        let mut store = Self::new(inner, |_| Fault::None);
        store.0.inserts = Box::new(script);
        store
    }
}

#[async_trait]
impl Layer for Faults {
    async fn around<T: Any + Send>(&self, call: TaskCall<'_, T>) -> Result<T, StoreError> {
        let operation = call.operation;
        let fault = match (call.about, (self.script)(operation)) {
            (About::Insert(task), Fault::None) => (self.inserts)(task),
            (_, fault) => fault,
        };
        let source = "scripted".into();
        let code = match fault {
            Fault::None => return call.on(self.inner.clone()).await,
            Fault::LostRequest => return Err(StoreError::Unanswered { operation, source }),
            Fault::LostAck => {
                call.on(self.inner.clone()).await?;
                return Err(StoreError::Unanswered { operation, source });
            }
            Fault::Throttled => return Err(StoreError::Throttled { operation, source }),
            Fault::Denied => "AccessDeniedException",
            Fault::Invalid => "ValidationException",
        };
        Err(StoreError::Rejected {
            operation,
            code: code.to_owned(),
            source,
        })
    }
}
