//! A store that records reads and can inject changes or failures.

use std::any::Any;
use std::sync::Arc;

use agent_queue::call::{CallRecord, CallState};
use agent_queue::criteria::{Criteria, QueueName};
use agent_queue::store::{AgentStore, Committed, Rejection, StoreError, There};
use agent_queue::transaction::{Change, Step};
use async_trait::async_trait;
use simulator::layered::agents::{About, AgentCall, Layer};
use simulator::layered::{Layered, answer};

use crate::NOW;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// The first entries of a queue, up to a limit.
    Peek(QueueName, u16),
    /// The pending calls of these criteria, up to a limit.
    CallsInLine(Criteria, u16),
    /// Any other read, identified by the method name.
    Other(&'static str),
}

/// The result of a commit.
pub type Outcome = Result<Committed, StoreError>;

#[async_trait]
pub trait Watch: Send + Sync {
    async fn before(&self, _read: &Read) {}

    /// Called after a read, before the response is returned.
    async fn after(&self, _read: &Read) {}

    /// Called instead of a commit. Can commit the change to the store.
    async fn commit(&self, store: &dyn AgentStore, change: &Change) -> Outcome {
        store.commit(change).await
    }
}

/// Returns the error of a commit without permission.
pub fn denied() -> Outcome {
    Err(StoreError::Rejected {
        operation: "commit",
        code: "AccessDeniedException".to_owned(),
        source: "injected".into(),
    })
}

/// Rejects every change to an item whose key contains `bad`, and never responds to a change to an
/// item whose key contains `slow`. Items of calls whose id starts with `torn` can't be read. Other
/// changes run concurrently, as in DynamoDB.
pub struct Partly;

#[async_trait]
impl Watch for Partly {
    async fn commit(&self, store: &dyn AgentStore, change: &Change) -> Outcome {
        let has = |word: &str| {
            let mut keys = change.steps.iter().map(Step::key);
            keys.any(|(pk, sk)| pk.contains(word) || sk.contains(word))
        };
        if has("bad") {
            return denied();
        }
        if has("slow") {
            std::future::pending::<()>().await;
        }
        let torn = |(step, what): (usize, &Step)| match what {
            Step::Call(_, record) if record.call.id.as_str().starts_with("torn") => {
                let (call, state) = (record.call.clone(), CallState::Unreadable);
                let there = CallRecord::ended(call, state, NOW);
                let there = Some(There::Call(Box::new(there)));
                Some(Rejection { step, there })
            }
            _ => None,
        };
        match change.steps.iter().enumerate().find_map(torn) {
            Some(rejection) => Ok(Committed::Rejected(vec![rejection])),
            None => {
                tokio::task::yield_now().await;
                store.commit(change).await
            }
        }
    }
}

/// A store whose reads and commits pass through a watch.
pub struct Watching<W> {
    store: Arc<dyn AgentStore>,
    watch: Arc<W>,
}

pub fn watched<W: Watch>(store: Arc<dyn AgentStore>, watch: Arc<W>) -> Layered<Watching<W>> {
    Layered(Watching { store, watch })
}

#[async_trait]
impl<W: Watch> Layer for Watching<W> {
    async fn around<T: Any + Send>(&self, call: AgentCall<'_, T>) -> Result<T, StoreError> {
        let read = match call.about {
            About::Commit(change) => {
                let committed = self.watch.commit(&*self.store, change).await;
                return Ok(answer(committed?).expect("the result of a commit"));
            }
            About::Peek(queue, limit) => Read::Peek(queue.clone(), limit),
            About::CallsInLine(criteria, limit) => Read::CallsInLine(criteria.clone(), limit),
            _ => Read::Other(call.operation),
        };
        self.watch.before(&read).await;
        let response = call.on(self.store.clone()).await;
        self.watch.after(&read).await;
        response
    }
}
