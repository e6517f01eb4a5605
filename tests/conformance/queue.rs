//! A queue with its topics and a clock.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lifo_queue::control::Control;
use lifo_queue::operate::Operator;
use lifo_queue::store::memory::Record;
use lifo_queue::store::{Inserted, QueueStore};
use lifo_queue::task::{TaskId, TaskStatus};
use lifo_queue::time::TokioClock;
use lifo_queue::wake::Waker;
use simulator::fault::Fault;
use simulator::faulty::FaultyStore;
use simulator::topics::Topics;

use crate::table::{Table, table};
use crate::{NOW, new_task};

/// Time for which a notification's marker suppresses other notifications.
pub const MARKER: Duration = Duration::from_secs(10);

pub struct Queue {
    pub store: Arc<dyn Table>,
    pub topics: Arc<Topics>,
    pub clock: Arc<TokioClock>,
}

impl Queue {
    /// An empty queue at [`NOW`].
    pub fn start() -> Self {
        Self {
            store: table(),
            topics: Arc::default(),
            clock: Arc::new(TokioClock::starting_at(NOW)),
        }
    }

    pub fn waker(&self) -> Waker {
        self.waker_on(self.store.clone())
    }

    pub fn waker_on(&self, store: Arc<dyn QueueStore>) -> Waker {
        Waker::new(store, self.topics.clone(), self.clock.clone(), MARKER)
    }

    pub fn operator(&self) -> Operator {
        self.operator_on(self.store.clone())
    }

    pub fn operator_on(&self, store: Arc<dyn QueueStore>) -> Operator {
        Operator::new(store.clone(), self.waker_on(store), self.clock.clone())
    }

    /// Returns the store, with this fault on every call to the operation.
    pub fn failing(&self, operation: &'static str, fault: Fault) -> Arc<FaultyStore> {
        self.faulty(move |step, _| (step == operation).then_some(fault))
    }

    /// Returns the store, with faults from a script that receives the operation's name and the
    /// number of earlier calls to it.
    pub fn faulty(
        &self,
        script: impl Fn(&'static str, u32) -> Option<Fault> + Send + Sync + 'static,
    ) -> Arc<FaultyStore> {
        let calls = Mutex::new(BTreeMap::<&str, u32>::new());
        Arc::new(FaultyStore::new(self.store.clone(), move |step| {
            let mut calls = calls.lock().expect("the calls");
            let before = calls.entry(step).or_default();
            *before += 1;
            script(step, *before - 1)
        }))
    }

    /// Inserts a task whose creation time is [`NOW`] plus `created` milliseconds.
    pub async fn add(&self, id: &str, created: i64) {
        let inserted = self.store.insert(&new_task(id, created)).await;
        assert_eq!(inserted.expect("a result"), Inserted::Created);
    }

    pub async fn control(&self) -> Control {
        self.store.control().await.expect("a control item")
    }

    pub fn record(&self, id: &str) -> Record {
        let record = self.store.record(&TaskId::from_stored(id));
        record.expect("a task")
    }

    pub fn status(&self, id: &str) -> Option<TaskStatus> {
        let record = self.store.record(&TaskId::from_stored(id));
        record.map(|task| task.status)
    }

    pub fn count(&self, status: TaskStatus) -> usize {
        let records = self.store.records();
        let with_status = records.iter().filter(|(_, task)| task.status == status);
        with_status.count()
    }

    /// Number of notifications to `process-tasks`.
    pub fn notifications(&self) -> usize {
        self.topics.process_tasks().len()
    }
}
