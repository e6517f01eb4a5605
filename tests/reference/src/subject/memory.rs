//! The in-memory store.

use std::collections::BTreeMap;

use lifo_queue::store::memory::{MemoryStore, Record};
use lifo_queue::store::{Inserted, QueueStore};
use lifo_queue::task::TaskId;

use super::{Failure, Subject};
use crate::operation::ForeignTask;

impl Subject for MemoryStore {
    fn store(&self) -> &dyn QueueStore {
        self
    }

    async fn put(&self, task: &ForeignTask) -> Result<Inserted, Failure> {
        if self.record(&task.id).is_some() {
            return Ok(Inserted::Duplicate);
        }
        MemoryStore::put(self, task.id.clone(), task.record());
        Ok(Inserted::Created)
    }

    async fn tasks(&self) -> Result<BTreeMap<TaskId, Record>, Failure> {
        Ok(self.records().into_iter().collect())
    }
}
