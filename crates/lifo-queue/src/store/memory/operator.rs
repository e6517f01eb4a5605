//! The operators' in-memory transitions.

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{MemoryStore, Record};
use crate::control::{BreakerHold, OperatorLimits, RedrivenTasks};
use crate::store::{Cancelled, OperatorStore, Redrive, Redriven, Seen, StoreError};
use crate::task::{TaskId, TaskStatus, Ttl, truncate_error};
use crate::time::Millis;

impl MemoryStore {
    fn delete_if(&self, task: &TaskId, seen: &Seen, may: impl Fn(TaskStatus) -> bool) -> Cancelled {
        let mut state = self.lock();
        match state.tasks.get(task) {
            None => Cancelled::NotFound,
            Some(there) if !may(there.status) => Cancelled::Is(there.status),
            Some(there) if !there.is(seen) => Cancelled::Replaced,
            Some(_) => {
                state.tasks.remove(task);
                Cancelled::Done
            }
        }
    }
}

impl Record {
    fn is(&self, seen: &Seen) -> bool {
        match seen {
            Seen::Any => true,
            Seen::Put(token) => {
                (self.create_token).is_some_and(|there| there.to_string() == *token)
            }
            Seen::Created(at) => self.created == *at,
        }
    }
}

#[async_trait]
impl OperatorStore for MemoryStore {
    async fn redrive(&self, redrive: &Redrive, now: Millis) -> Result<Redriven, StoreError> {
        let state = &mut *self.lock();
        let Some(mut record) = state.tasks.get_mut(&redrive.task) else {
            return Ok(Redriven::NotFound);
        };
        if record.status != TaskStatus::Failure {
            return Ok(Redriven::Is(record.status));
        }
        if !record.is(&redrive.state) {
            return Ok(Redriven::Replaced);
        }
        let there = state.control.redriven.filter(|r| r.until.millis() > now);
        state.control.redriven = Some(RedrivenTasks {
            oldest: there.map_or(record.created, |r| r.oldest.min(record.created)),
            until: there.map_or(redrive.expires_at, |r| r.until.max(redrive.expires_at)),
        });
        record.status = TaskStatus::Pending;
        record.ttl = Ttl::Seconds(redrive.expires_at);
        record.attempts = 0;
        record.total_attempts = 0;
        record.lease_token = None;
        record.lease_expired = false;
        record.lease_until = None;
        record.not_before = None;
        record.alone = false;
        record.crashes = 0;
        Ok(Redriven::Done)
    }

    async fn attributes(&self, task: &TaskId) -> Result<Option<Map<String, Value>>, StoreError> {
        let record = self.record(task);
        Ok(record.map(|record| record.attributes(task)))
    }

    async fn purge(&self, task: &TaskId, state: &Seen) -> Result<Cancelled, StoreError> {
        Ok(self.delete_if(task, state, |status| status != TaskStatus::Taken))
    }

    async fn cancel(&self, task: &TaskId, state: &Seen) -> Result<Cancelled, StoreError> {
        Ok(self.delete_if(task, state, |status| status == TaskStatus::Pending))
    }

    async fn resume(&self) -> Result<(), StoreError> {
        let control = &mut self.lock().control;
        control.paused_until = None;
        control.pause_reason = None;
        control.paused_by = None;
        control.notified_until = None;
        control.notified_by = None;
        Ok(())
    }

    async fn hold_breaker(&self, hold: &BreakerHold) -> Result<(), StoreError> {
        let by_hand = &mut self.lock().control.breaker_by_hand;
        by_hand.commands += 1;
        by_hand.hold = Some(BreakerHold {
            until: hold.until,
            reason: truncate_error(&hold.reason).to_owned(),
        });
        Ok(())
    }

    async fn close_breaker(&self) -> Result<(), StoreError> {
        let control = &mut self.lock().control;
        control.breaker = None;
        control.breaker_by_hand.commands += 1;
        control.breaker_by_hand.hold = None;
        Ok(())
    }

    async fn limit(&self, limits: &OperatorLimits) -> Result<(), StoreError> {
        self.lock().control.limits = limits.clone();
        Ok(())
    }
}
