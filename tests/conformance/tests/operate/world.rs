//! A queue and its operators.

use std::sync::Arc;
use std::time::Duration;

use conformance::{NOW, insert, inserted};
use lifo_queue::depth::Depth;
use lifo_queue::operate::Operator;
use lifo_queue::store::memory::MemoryStore;
use lifo_queue::store::{QueueStore, TaskStore, Written};
use lifo_queue::task::{TaskId, TaskStatus};
use lifo_queue::time::{Clock, TokioClock};
use lifo_queue::wake::Waker;
use simulator::topics::Topics;

pub(crate) const MARKER: Duration = Duration::from_secs(10);
pub(crate) const HOUR: Duration = Duration::from_secs(3_600);

pub(crate) struct World {
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) topics: Arc<Topics>,
    pub(crate) clock: Arc<TokioClock>,
}

impl World {
    pub(crate) fn start() -> Self {
        Self {
            store: Arc::default(),
            topics: Arc::default(),
            clock: Arc::new(TokioClock::starting_at(NOW)),
        }
    }

    pub(crate) fn operator(&self) -> Operator {
        self.operator_on(self.store.clone())
    }

    pub(crate) fn operator_on(&self, store: Arc<dyn QueueStore>) -> Operator {
        let (topics, clock) = (self.topics.clone(), self.clock.clone());
        let waker = Waker::new(store.clone(), topics, clock.clone(), MARKER);
        Operator::new(store, waker, clock)
    }

    /// Adds tasks in FAILURE, created one millisecond apart.
    pub(crate) async fn with_failed(self, ids: &[&str]) -> Self {
        insert(&*self.store, ids).await;
        for (created, id) in (0..).zip(ids) {
            let seen = inserted(id, created);
            let keep_until = self.clock.now().floor_seconds().plus(HOUR);
            let failed = self.store.quarantine(&seen, "bad", keep_until, NOW).await;
            assert_eq!(failed.unwrap(), Written::Done);
        }
        self
    }

    pub(crate) fn status(&self, id: &str) -> Option<TaskStatus> {
        let record = self.store.record(&TaskId::from_stored(id));
        record.map(|record| record.status)
    }

    pub(crate) fn count(&self, status: TaskStatus) -> usize {
        let records = self.store.records();
        records
            .iter()
            .filter(|(_, there)| there.status == status)
            .count()
    }

    pub(crate) fn notifications(&self) -> usize {
        self.topics.process_tasks().len()
    }
}

pub(crate) fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("t{n:04}")).collect()
}

pub(crate) fn exactly(count: u32) -> Depth {
    Depth { count, exact: true }
}
