//! Writes that end an attempt, retried while DynamoDB throttles or does not respond.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder, Retryable};

use super::{Attempts, End, Why};
use crate::store::{Candidate, StoreError, Written};
use crate::task::{Counts, Lease, Return, Settlement};

/// How an attempt ended, and whether the task is now PENDING with a newer state of its key.
pub(super) struct Ended {
    pub(super) end: End,
    pub(super) overtaken: bool,
}

impl From<End> for Ended {
    fn from(end: End) -> Self {
        let overtaken = false;
        Self { end, overtaken }
    }
}

/// Returns the end of an attempt according to the result of its last write.
pub(super) fn after(written: Written, end: End) -> Ended {
    match written {
        Written::Done => end.into(),
        Written::Overtaken => Ended {
            end,
            overtaken: true,
        },
        Written::Lost => End::LostRace.into(),
    }
}

impl Attempts {
    pub(super) async fn settle(
        &self,
        lease: &Lease,
        settlement: &Settlement,
    ) -> Result<Written, StoreError> {
        let retention = &self.settings.retention;
        let settle = || {
            self.store
                .settle(lease, settlement, retention, self.clock.now())
        };
        self.while_leased(lease, settle).await
    }

    pub(super) async fn return_task(
        &self,
        lease: &Lease,
        back: &Return,
    ) -> Result<Written, StoreError> {
        let written = || self.store.return_task(lease, back, self.clock.now());
        self.while_leased(lease, written).await
    }

    /// Returns a task whose run did not start, for this reason. The task is due immediately.
    pub(super) async fn return_unstarted(
        &self,
        lease: &Lease,
        suspect: bool,
        (why, reason): (Why, &str),
    ) -> Result<Ended, StoreError> {
        let not_before = self.clock.now();
        let back = Return {
            not_before,
            counts: Counts::Nothing,
            lease_expired: suspect,
            reason: format!("not started: {reason}"),
        };
        let end = End::Returned { not_before, why };
        Ok(after(self.return_task(lease, &back).await?, end))
    }

    pub(super) async fn quarantine(
        &self,
        seen: &Candidate,
        reason: &str,
    ) -> Result<Ended, StoreError> {
        tracing::warn!(task_id = %seen.id, reason, "moving the task to FAILURE: it cannot be taken");
        let retention = self.settings.retention.failure;
        let keep_until = self.clock.now().ceil_seconds().plus(retention);
        let quarantine = || {
            self.store
                .quarantine(seen, reason, keep_until, self.clock.now())
        };
        let done = quarantine
            .retry(patience())
            .when(StoreError::is_transient)
            .await?;
        Ok(after(done, End::Quarantined))
    }

    /// Retries a write under the lease until the lease or the turn ends. If the retries stopped
    /// sooner, the sweep would return a task that has already run.
    async fn while_leased<F>(
        &self,
        lease: &Lease,
        mut step: impl FnMut() -> F,
    ) -> Result<Written, StoreError>
    where
        F: Future<Output = Result<Written, StoreError>>,
    {
        // Never cancel the first try, even if the lease expired while the process was suspended.
        let mut last = match step().await {
            Err(error) if error.is_transient() => error,
            result => return result,
        };
        let mut waits = patience().without_max_times().build();
        let repetitions = async {
            loop {
                tokio::time::sleep(waits.next().unwrap_or_default()).await;
                match step().await {
                    Err(error) if error.is_transient() => last = error,
                    result => return result,
                }
            }
        };
        tokio::select! {
            biased;
            result = repetitions => result,
            () = self.over(lease) => Err(last),
        }
    }

    /// Waits until the lease ends, minus a margin for clock skew. Returns earlier if the remaining
    /// time until the function's deadline is needed to end the turn.
    async fn over(&self, lease: &Lease) {
        let left = lease.until.minus(self.settings.clock_skew);
        let left = left.since(self.clock.now());
        let mut cut_off = self.cut_off.clone();
        let end_of_turn = async {
            if cut_off.wait_for(|cut| *cut).await.is_err() {
                // The turn was dropped, including this attempt.
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(self.settings.deadline_margin / 2).await;
        };
        tokio::select! {
            () = tokio::time::sleep(left) => {}
            () = end_of_turn => {}
        }
    }
}

/// Retry policy for transient errors: up to 4 retries, after 50 ms to 2 s each, with jitter.
pub(super) fn patience() -> ExponentialBuilder {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(50))
        .with_max_delay(Duration::from_secs(2))
        .with_max_times(4)
        .with_jitter()
}
