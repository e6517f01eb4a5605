//! Ends the leases of a processor that no longer runs: one of an earlier process, or that of the turn that
//! the end of this process interrupted.

use lifo_queue::control::{IdleTurns, Release};
use lifo_queue::store::{Order, PageQuery, StoreError, Written};
use lifo_queue::task::{Counts, Return, TaskStatus};
use lifo_queue::time::{Clock, SystemClock};
use uuid::Uuid;

use super::{DevQueue, ServeError};

impl DevQueue {
    /// Ends the processor lease and all task leases. Because only this process uses the table, the
    /// holders of these leases no longer run.
    pub(super) async fn return_running(&self, reason: &str) -> Result<(), ServeError> {
        self.release().await.map_err(ServeError::Return)?;
        let mut after = None;
        loop {
            let now = SystemClock.now();
            let query = PageQuery {
                status: TaskStatus::Taken.into(),
                order: Order::NewestFirst,
                created_from: None,
                after,
                limit: 1_000,
                now,
            };
            let page = self.store.taken_page(&query).await;
            let page = page.map_err(ServeError::Return)?;
            let back = Return {
                not_before: now,
                counts: Counts::Start,
                lease_expired: false,
                reason: reason.to_owned(),
            };
            for standing in page.leases {
                let returned = self.store.return_task(&standing.lease, &back, now).await;
                // If the run has already ended, the task is no longer TAKEN.
                returned.map_err(ServeError::Return)?;
            }
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    async fn release(&self) -> Result<(), StoreError> {
        let control = self.store.control().await?;
        let Some(lease) = &control.lease else {
            return Ok(());
        };
        if self.has_groups {
            self.empty_buckets(lease.owner).await?;
        }
        let release = Release {
            owner: lease.owner,
            if_requested_is: None,
            idle_turns: IdleTurns::Keep,
            carried: control.carried(),
        };
        self.store.release(&release).await.map(drop)
    }

    /// Empties the rate buckets of all groups, because the last starts of a processor that did not
    /// release its lease are unknown (S5.15).
    async fn empty_buckets(&self, owner: Uuid) -> Result<(), StoreError> {
        let states = self.store.groups().await?;
        let mut learned = states.learned;
        learned.empty_at = Some(SystemClock.now());
        for group in &mut learned.groups {
            group.rate_full_at = None;
            group.leases.clear();
        }
        let written = self
            .store
            .save_groups(&learned, owner, states.learned_by)
            .await?;
        debug_assert_eq!(written, Written::Done, "only this process uses the table");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::future::IntoFuture;
    use std::sync::Arc;
    use std::time::Duration;

    use async_trait::async_trait;
    use lifo_queue::control::{Claim, LearnedGroup, LearnedGroups};
    use lifo_queue::runner::{Outcome, TaskRunner};
    use lifo_queue::task::Task;
    use lifo_queue::time::Millis;
    use tokio::net::TcpListener;

    use super::*;
    use crate::settings::{Overrides, Source};

    /// A runner for a queue without turns.
    struct Idle;

    #[async_trait]
    impl TaskRunner for Idle {
        async fn run(&self, _: &Task) -> Outcome {
            Outcome::Success
        }
    }

    #[tokio::test]
    async fn groups_start_with_empty_buckets_after_a_processor_that_kept_its_lease() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut settings = Source::defaults().settings(&Overrides::default()).unwrap();
        settings.process.groups = Some(serde_json::from_str("{}").unwrap());
        let address = listener.local_addr().unwrap();
        let queue = DevQueue::open(None, address, &settings, Arc::new(Idle)).unwrap();
        let served = tokio::spawn(axum::serve(listener, queue.endpoint()).into_future());
        let owner = Uuid::new_v4();
        let now = SystemClock.now();
        let claim = Claim {
            owner,
            message_id: "m".to_owned(),
            until: now.plus(Duration::from_secs(20)),
            rate_full_at: None,
        };
        queue.store.acquire(&claim, now).await.unwrap();
        let learned = LearnedGroups {
            groups: vec![LearnedGroup {
                name: "acme".to_owned(),
                rate_full_at: Some(Millis(1)),
                ..LearnedGroup::default()
            }],
            ..LearnedGroups::default()
        };
        queue
            .store
            .save_groups(&learned, owner, None)
            .await
            .unwrap();
        queue.return_running("ended").await.unwrap();
        let learned = queue.store.groups().await.unwrap().learned;
        assert!(learned.empty_at >= Some(now), "{learned:?}");
        assert_eq!(learned.groups[0].rate_full_at, None);
        assert_eq!(queue.store.control().await.unwrap().lease, None);
        // After a release, the buckets are known.
        queue.return_running("ended").await.unwrap();
        assert_eq!(queue.store.groups().await.unwrap().learned, learned);
        served.abort();
    }
}
