//! The store of one process. The ledger checks every call, every call can fail, and a dead process
//! can make no further call.

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::BoxFuture;
use lifo_queue::control::{
    Acquired, BreakerHold, Claim, Control, OperatorLimits, Pause, Release, Released, Renewal,
    Renewed,
};
use lifo_queue::store::memory::MemoryStore;
use lifo_queue::store::{
    Cancelled, Candidate, ControlStore, Inserted, OperatorStore, Page, PageQuery, QueueStore,
    Redrive, Redriven, StoreError, TakeOutcome, TakeRequest, TakenPage, TaskStore, Written,
};
use lifo_queue::task::{GiveBack, Lease, NewTask, Reclaim, Retention, Settlement, TaskId, Ttl};
use lifo_queue::time::{EpochSeconds, Millis};
use serde_json::{Map, Value};

use super::fault::lock;
use super::memory_wire;
use super::process::Process;
use super::table::Subject;
use super::world::World;

/// How calls reach the table.
pub(crate) enum Access {
    /// The cloud's simulated network carries the calls.
    Memory {
        truth: Arc<MemoryStore>,
        index: Arc<MemoryStore>,
    },
    /// A store with its own SDK client, whose requests the cloud's simulated network carries.
    Client(Arc<dyn QueueStore>),
}

pub(crate) struct ProcessStore {
    world: Arc<World>,
    process: Arc<Process>,
    access: Access,
}

impl ProcessStore {
    pub(crate) fn new(world: &Arc<World>, process: &Arc<Process>, access: Access) -> Self {
        Self {
            world: world.clone(),
            process: process.clone(),
            access,
        }
    }

    async fn call<T: Send + 'static>(
        &self,
        operation: &'static str,
        subject: Subject,
        call: impl FnOnce(Arc<dyn QueueStore>) -> BoxFuture<'static, Result<T, StoreError>>
        + Send
        + 'static,
    ) -> Result<T, StoreError> {
        let (world, process) = (&self.world, &self.process);
        let task = subject.tasks.first().cloned();
        let answer = match &self.access {
            Access::Memory { truth, index } => {
                let of_index = matches!(operation, "pending_page" | "taken_page");
                let store = if of_index { index } else { truth };
                let call = Box::new(call);
                memory_wire::call(world, process, operation, subject, store.clone(), call).await
            }
            Access::Client(store) => {
                let number = process.enter(world, operation).await;
                let answer = call(store.clone()).await;
                process.leave(world, number, operation).await;
                answer
            }
        };
        if let Some(task) = task {
            let failed = answer.is_err();
            lock(&world.ledger).answered(world.now(), process, operation, &task, failed);
        }
        answer
    }
}

#[async_trait]
impl TaskStore for ProcessStore {
    async fn insert(&self, task: &NewTask) -> Result<Inserted, StoreError> {
        let task = task.clone();
        self.call("insert", Subject::task(&task.id), |store| {
            Box::pin(async move { store.insert(&task).await })
        })
        .await
    }

    async fn pending_page(&self, query: &PageQuery) -> Result<Page, StoreError> {
        let (query, is_head) = (query.clone(), query.after.is_none());
        let page = self
            .call("pending_page", Subject::nothing(), |store| {
                Box::pin(async move { store.pending_page(&query).await })
            })
            .await?;
        lock(&self.world.ledger).page_read(self.world.now(), &self.process, is_head, &page);
        Ok(page)
    }

    async fn take(&self, request: &TakeRequest) -> Result<TakeOutcome, StoreError> {
        lock(&self.world.ledger).take_asked(self.world.now(), &self.process, request);
        let request = request.clone();
        let subject = Subject::task(&request.candidate.id);
        self.call("take", subject, |store| {
            Box::pin(async move { store.take(&request).await })
        })
        .await
    }

    async fn settle(
        &self,
        lease: &Lease,
        settlement: &Settlement,
        retention: &Retention,
        now: Millis,
    ) -> Result<Written, StoreError> {
        let (lease, settlement, retention) = (lease.clone(), settlement.clone(), *retention);
        self.call("settle", Subject::task(&lease.task), move |store| {
            Box::pin(async move { store.settle(&lease, &settlement, &retention, now).await })
        })
        .await
    }

    async fn give_back(
        &self,
        lease: &Lease,
        give_back: &GiveBack,
        now: Millis,
    ) -> Result<Written, StoreError> {
        let (lease, give_back) = (lease.clone(), give_back.clone());
        self.call("give_back", Subject::task(&lease.task), move |store| {
            Box::pin(async move { store.give_back(&lease, &give_back, now).await })
        })
        .await
    }

    async fn taken_page(&self, query: &PageQuery) -> Result<TakenPage, StoreError> {
        let query = query.clone();
        self.call("taken_page", Subject::nothing(), |store| {
            Box::pin(async move { store.taken_page(&query).await })
        })
        .await
    }

    async fn reclaim(
        &self,
        lease: &Lease,
        reclaim: &Reclaim,
        now: Millis,
    ) -> Result<Written, StoreError> {
        let (lease, reclaim) = (lease.clone(), reclaim.clone());
        self.call("reclaim", Subject::task(&lease.task), move |store| {
            Box::pin(async move { store.reclaim(&lease, &reclaim, now).await })
        })
        .await
    }

    async fn quarantine(
        &self,
        seen: &Candidate,
        reason: &str,
        keep_until: EpochSeconds,
        now: Millis,
    ) -> Result<Written, StoreError> {
        let (seen, reason) = (seen.clone(), reason.to_owned());
        self.call("quarantine", Subject::task(&seen.id), move |store| {
            Box::pin(async move { store.quarantine(&seen, &reason, keep_until, now).await })
        })
        .await
    }

    async fn adopt_ttl(
        &self,
        task: &TaskId,
        seen: Ttl,
        ttl: EpochSeconds,
    ) -> Result<Written, StoreError> {
        let task = task.clone();
        self.call("adopt_ttl", Subject::task(&task), move |store| {
            Box::pin(async move { store.adopt_ttl(&task, seen, ttl).await })
        })
        .await
    }
}

#[async_trait]
impl ControlStore for ProcessStore {
    async fn request(&self) -> Result<Control, StoreError> {
        self.call("request", Subject::control(), |store| {
            Box::pin(async move { store.request().await })
        })
        .await
    }

    async fn mark_notified(
        &self,
        event: &str,
        until: Millis,
        now: Millis,
    ) -> Result<Written, StoreError> {
        let event = event.to_owned();
        let marked = self
            .call("mark_notified", Subject::control(), move |store| {
                Box::pin(async move { store.mark_notified(&event, until, now).await })
            })
            .await?;
        if marked == Written::Done {
            lock(&self.world.ledger).mark_granted();
        }
        Ok(marked)
    }

    async fn control(&self) -> Result<Control, StoreError> {
        self.call("control", Subject::nothing(), |store| {
            Box::pin(async move { store.control().await })
        })
        .await
    }

    async fn acquire(&self, claim: &Claim, now: Millis) -> Result<Acquired, StoreError> {
        let wish = claim.clone();
        let acquired = self
            .call("acquire", Subject::control(), move |store| {
                Box::pin(async move { store.acquire(&wish, now).await })
            })
            .await?;
        if matches!(acquired, Acquired::Ours(_)) {
            lock(&self.world.ledger).holds_lease(&self.process, claim.owner, claim.until);
        }
        Ok(acquired)
    }

    async fn renew(&self, renewal: &Renewal) -> Result<Renewed, StoreError> {
        let sent = renewal.clone();
        let renewed = self
            .call("renew", Subject::control(), move |store| {
                Box::pin(async move { store.renew(&sent).await })
            })
            .await?;
        if matches!(renewed, Renewed::Ours(_)) {
            lock(&self.world.ledger).holds_lease(&self.process, renewal.owner, renewal.until);
        }
        Ok(renewed)
    }

    async fn release(&self, release: &Release) -> Result<Released, StoreError> {
        let release = release.clone();
        self.call("release", Subject::control(), move |store| {
            Box::pin(async move { store.release(&release).await })
        })
        .await
    }

    async fn pause(&self, pause: &Pause) -> Result<Written, StoreError> {
        let pause = pause.clone();
        self.call("pause", Subject::control(), move |store| {
            Box::pin(async move { store.pause(&pause).await })
        })
        .await
    }
}

#[async_trait]
impl OperatorStore for ProcessStore {
    async fn redrive(&self, redrive: &Redrive, now: Millis) -> Result<Redriven, StoreError> {
        let redrive = redrive.clone();
        let subject = Subject::task_and_control(&redrive.task);
        self.call("redrive", subject, move |store| {
            Box::pin(async move { store.redrive(&redrive, now).await })
        })
        .await
    }

    async fn attributes(&self, task: &TaskId) -> Result<Option<Map<String, Value>>, StoreError> {
        let task = task.clone();
        self.call("attributes", Subject::task(&task), move |store| {
            Box::pin(async move { store.attributes(&task).await })
        })
        .await
    }

    async fn purge(&self, task: &TaskId) -> Result<Cancelled, StoreError> {
        let task = task.clone();
        self.call("purge", Subject::task(&task), move |store| {
            Box::pin(async move { store.purge(&task).await })
        })
        .await
    }

    async fn cancel(&self, task: &TaskId) -> Result<Cancelled, StoreError> {
        let task = task.clone();
        self.call("cancel", Subject::task(&task), move |store| {
            Box::pin(async move { store.cancel(&task).await })
        })
        .await
    }

    async fn resume(&self) -> Result<(), StoreError> {
        self.call("resume", Subject::control(), |store| {
            Box::pin(async move { store.resume().await })
        })
        .await
    }

    async fn hold_breaker(&self, hold: &BreakerHold) -> Result<(), StoreError> {
        let hold = hold.clone();
        self.call("hold_breaker", Subject::control(), move |store| {
            Box::pin(async move { store.hold_breaker(&hold).await })
        })
        .await
    }

    async fn close_breaker(&self) -> Result<(), StoreError> {
        self.call("close_breaker", Subject::control(), |store| {
            Box::pin(async move { store.close_breaker().await })
        })
        .await
    }

    async fn limit(&self, limits: &OperatorLimits) -> Result<(), StoreError> {
        let limits = limits.clone();
        self.call("limit", Subject::control(), move |store| {
            Box::pin(async move { store.limit(&limits).await })
        })
        .await
    }
}
