//! A store whose calls fail according to a script.

use std::sync::Arc;

use async_trait::async_trait;
use lifo_queue::control::{
    Acquired, BreakerHold, Claim, Control, OperatorLimits, Pause, Release, Released, Renewal,
    Renewed,
};
use lifo_queue::store::{
    Cancelled, Candidate, ControlStore, Inserted, OperatorStore, Page, PageQuery, QueueStore,
    Redrive, Redriven, StoreError, TakeOutcome, TakeRequest, TakenPage, TaskStore, Written,
};
use lifo_queue::task::{GiveBack, Lease, NewTask, Reclaim, Retention, Settlement, TaskId, Ttl};
use lifo_queue::time::{EpochSeconds, Millis};
use serde_json::{Map, Value};

/// The fault of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No fault.
    None,
    /// The call is not executed, and gets no answer.
    Refused,
    /// The call is executed, and its answer is lost.
    LostAck,
    /// The call is not executed, because DynamoDB throttles it.
    Throttled,
    /// The call is not executed, because the caller lacks the permission. A retry cannot succeed.
    Denied,
    /// The call is not executed, because the item is invalid. A retry cannot succeed.
    Invalid,
}

/// Decides the fault of the next call of this operation.
pub type Script = dyn Fn(&'static str) -> Fault + Send + Sync;

/// Decides the fault of the next insert of this task.
pub type InsertScript = dyn Fn(&NewTask) -> Fault + Send + Sync;

/// A store whose calls fail according to a script.
pub struct FaultyStore {
    inner: Arc<dyn QueueStore>,
    script: Box<Script>,
    inserts: Box<InsertScript>,
}

impl FaultyStore {
    /// A store on `inner` whose calls fail according to `script`.
    pub fn new(
        inner: Arc<dyn QueueStore>,
        script: impl Fn(&'static str) -> Fault + Send + Sync + 'static,
    ) -> Self {
        Self {
            inner,
            script: Box::new(script),
            inserts: Box::new(|_| Fault::None),
        }
    }

    /// A store on `inner` of which only the inserts fail, according to `script`.
    pub fn failing_inserts(
        inner: Arc<dyn QueueStore>,
        script: impl Fn(&NewTask) -> Fault + Send + Sync + 'static,
    ) -> Self {
        Self {
            inserts: Box::new(script),
            ..Self::new(inner, |_| Fault::None)
        }
    }

    async fn step<T>(
        &self,
        operation: &'static str,
        step: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        befall((self.script)(operation), operation, step).await
    }
}

/// Applies a fault to a call.
async fn befall<T>(
    fault: Fault,
    operation: &'static str,
    step: impl Future<Output = Result<T, StoreError>> + Send,
) -> Result<T, StoreError> {
    let source = || "scripted".into();
    let unanswered = || StoreError::Unanswered {
        operation,
        source: source(),
    };
    let refused = |code: &str| StoreError::Refused {
        operation,
        code: code.to_owned(),
        source: source(),
    };
    match fault {
        Fault::None => step.await,
        Fault::Refused => Err(unanswered()),
        Fault::LostAck => {
            step.await?;
            Err(unanswered())
        }
        Fault::Throttled => Err(StoreError::Throttled {
            operation,
            source: source(),
        }),
        Fault::Denied => Err(refused("AccessDeniedException")),
        Fault::Invalid => Err(refused("ValidationException")),
    }
}

#[async_trait]
impl TaskStore for FaultyStore {
    async fn insert(&self, task: &NewTask) -> Result<Inserted, StoreError> {
        let insert = befall((self.inserts)(task), "insert", self.inner.insert(task));
        self.step("insert", insert).await
    }

    async fn pending_page(&self, query: &PageQuery) -> Result<Page, StoreError> {
        self.step("pending_page", self.inner.pending_page(query))
            .await
    }

    async fn take(&self, request: &TakeRequest) -> Result<TakeOutcome, StoreError> {
        self.step("take", self.inner.take(request)).await
    }

    async fn settle(
        &self,
        lease: &Lease,
        settlement: &Settlement,
        retention: &Retention,
        now: Millis,
    ) -> Result<Written, StoreError> {
        self.step(
            "settle",
            self.inner.settle(lease, settlement, retention, now),
        )
        .await
    }

    async fn give_back(
        &self,
        lease: &Lease,
        give_back: &GiveBack,
        now: Millis,
    ) -> Result<Written, StoreError> {
        self.step("give_back", self.inner.give_back(lease, give_back, now))
            .await
    }

    async fn taken_page(&self, query: &PageQuery) -> Result<TakenPage, StoreError> {
        self.step("taken_page", self.inner.taken_page(query)).await
    }

    async fn reclaim(
        &self,
        lease: &Lease,
        reclaim: &Reclaim,
        now: Millis,
    ) -> Result<Written, StoreError> {
        self.step("reclaim", self.inner.reclaim(lease, reclaim, now))
            .await
    }

    async fn quarantine(
        &self,
        seen: &Candidate,
        reason: &str,
        keep_until: EpochSeconds,
        now: Millis,
    ) -> Result<Written, StoreError> {
        let quarantine = self.inner.quarantine(seen, reason, keep_until, now);
        self.step("quarantine", quarantine).await
    }

    async fn adopt_ttl(
        &self,
        task: &TaskId,
        seen: Ttl,
        ttl: EpochSeconds,
    ) -> Result<Written, StoreError> {
        self.step("adopt_ttl", self.inner.adopt_ttl(task, seen, ttl))
            .await
    }
}

#[async_trait]
impl ControlStore for FaultyStore {
    async fn request(&self) -> Result<Control, StoreError> {
        self.step("request", self.inner.request()).await
    }

    async fn mark_notified(
        &self,
        event: &str,
        until: Millis,
        now: Millis,
    ) -> Result<Written, StoreError> {
        self.step("mark_notified", self.inner.mark_notified(event, until, now))
            .await
    }

    async fn control(&self) -> Result<Control, StoreError> {
        self.step("control", self.inner.control()).await
    }

    async fn acquire(&self, claim: &Claim, now: Millis) -> Result<Acquired, StoreError> {
        self.step("acquire", self.inner.acquire(claim, now)).await
    }

    async fn renew(&self, renewal: &Renewal) -> Result<Renewed, StoreError> {
        self.step("renew", self.inner.renew(renewal)).await
    }

    async fn release(&self, release: &Release) -> Result<Released, StoreError> {
        self.step("release", self.inner.release(release)).await
    }

    async fn pause(&self, pause: &Pause) -> Result<Written, StoreError> {
        self.step("pause", self.inner.pause(pause)).await
    }
}

#[async_trait]
impl OperatorStore for FaultyStore {
    async fn redrive(&self, redrive: &Redrive, now: Millis) -> Result<Redriven, StoreError> {
        self.step("redrive", self.inner.redrive(redrive, now)).await
    }

    async fn attributes(&self, task: &TaskId) -> Result<Option<Map<String, Value>>, StoreError> {
        self.step("attributes", self.inner.attributes(task)).await
    }

    async fn purge(&self, task: &TaskId) -> Result<Cancelled, StoreError> {
        self.step("purge", self.inner.purge(task)).await
    }

    async fn cancel(&self, task: &TaskId) -> Result<Cancelled, StoreError> {
        self.step("cancel", self.inner.cancel(task)).await
    }

    async fn resume(&self) -> Result<(), StoreError> {
        self.step("resume", self.inner.resume()).await
    }

    async fn hold_breaker(&self, hold: &BreakerHold) -> Result<(), StoreError> {
        self.step("hold_breaker", self.inner.hold_breaker(hold))
            .await
    }

    async fn close_breaker(&self) -> Result<(), StoreError> {
        self.step("close_breaker", self.inner.close_breaker()).await
    }

    async fn limit(&self, limits: &OperatorLimits) -> Result<(), StoreError> {
        self.step("limit", self.inner.limit(limits)).await
    }
}
