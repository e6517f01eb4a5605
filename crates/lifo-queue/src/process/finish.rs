//! The end of a turn: release of the lease, tail call and wake-up requests (rules 6 and 10).

use aws::error_chain;
use uuid::Uuid;

use super::health::UnsavedGroups;
use super::rate::Rate;
use super::summary::{Exit, TurnSummary};
use super::{Processor, TurnError};
use crate::control::{Carried, IdleTurns, Release, Released};
use crate::notify::{Notification, WakeReason};
use crate::schema;
use crate::store::{StoreError, Written};
use crate::trace;
use crate::wake::Waker;

/// Maximum number of attempts to write the group state. A displaced processor writes at most once.
const SAVE_ATTEMPTS: usize = 3;

/// Why the loop ended.
#[derive(Debug)]
pub(super) enum TurnEnd {
    /// The queue is empty, and the lease was released under the conditions of rule 5.
    Empty,
    /// The time is up, or the lease expired. Tasks may remain.
    TimeUp,
    /// This processor no longer owns the processor lease.
    LeaseLost,
    /// The queue was paused.
    Paused,
    /// A store request failed: an index read or the release.
    Failed(StoreError),
}

/// A turn whose runs and heartbeat have ended.
pub(super) struct Stopped {
    pub(super) owner: Uuid,
    /// Group state to write before the release; `None` if the table contains it.
    pub(super) unsaved: Option<UnsavedGroups>,
    pub(super) summary: TurnSummary,
    /// Whether a task of this turn became PENDING again.
    pub(super) returned: bool,
    pub(super) rate: Rate,
    pub(super) carried: Carried,
}

impl Stopped {
    /// Builds the request that releases this turn's lease, without rule 5's condition.
    fn release_request(&self, end: &TurnEnd) -> Release {
        let mut carried = self.carried.clone();
        if matches!(end, TurnEnd::Paused) {
            // A pause ends the overload, because tasks age during a pause regardless of the load.
            carried.overloaded_since = None;
        }
        release_request(self.owner, &self.summary, &self.rate, carried, None)
    }
}

/// Builds the request that releases the processor lease. If `if_requested_is` is set, the release
/// succeeds only if `requested` has this value (rule 5).
pub(super) fn release_request(
    owner: Uuid,
    summary: &TurnSummary,
    rate: &Rate,
    carried: Carried,
    if_requested_is: Option<u64>,
) -> Release {
    let settled = summary.settled() > 0;
    let found_empty = if_requested_is.is_some();
    // The rate limit allowed no start, or the circuit breaker only probes.
    let only_waited = rate.waited && summary.taken == 0 || carried.breaker.is_some();
    Release {
        owner,
        if_requested_is,
        idle_turns: match (settled || found_empty, only_waited) {
            (true, _) => IdleTurns::Reset,
            (false, true) => IdleTurns::Keep,
            (false, false) => IdleTurns::Add,
        },
        carried,
    }
}

impl Processor {
    /// Finishes the turn after the loop, so that no wake-up is lost (W1). Unless the lease was
    /// released under rule 5, remaining tasks are handled by another processor, a wake-up request,
    /// a tail call or a Lambda retry, or by the sweep after a pause or under rule 10.
    pub(super) async fn finish(
        &self,
        end: TurnEnd,
        stopped: &mut Stopped,
    ) -> Result<(), TurnError> {
        let release = stopped.release_request(&end);
        let unsaved = stopped.unsaved.take();
        let summary = &mut stopped.summary;
        match end {
            TurnEnd::Empty => summary.exit = Exit::Empty,
            TurnEnd::LeaseLost => {
                summary.exit = Exit::LeaseLost;
                if stopped.returned {
                    self.waker()
                        .request(&stopped.owner.to_string(), WakeReason::LateReturn)
                        .await?;
                }
            }
            TurnEnd::Paused => {
                summary.exit = Exit::Paused;
                self.release_lease(&release, unsaved, summary).await?;
                self.wake_if_resumed(stopped.owner).await?;
            }
            TurnEnd::TimeUp => self.tail_call(&release, unsaved, summary).await?,
            TurnEnd::Failed(error) => {
                // Release the lease, so that Lambda's retry of the message can acquire it. A
                // release error must not hide the original error.
                if let Err(second) = self.release_lease(&release, unsaved, summary).await {
                    let second = error_chain::chain(&second);
                    tracing::error!(error = second, "lease not released; it will expire");
                }
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// Releases the lease, then publishes the tail call, even if the release was rejected (rule 6).
    /// Omits the call after `max_idle_turns` consecutive turns that settled nothing (rule 10).
    async fn tail_call(
        &self,
        release: &Release,
        unsaved: Option<UnsavedGroups>,
        summary: &mut TurnSummary,
    ) -> Result<(), TurnError> {
        self.release_lease(release, unsaved, summary).await?;
        if summary.idle_turns >= self.settings.max_idle_turns {
            summary.exit = Exit::NoProgress;
            tracing::error!(
                idle_turns = summary.idle_turns,
                "too many consecutive turns settled no task: no tail call, the sweep wakes the queue"
            );
            return Ok(());
        }
        summary.exit = Exit::TimeUp;
        let notification = Notification {
            reason: WakeReason::TailCall,
            event: release.owner.to_string(),
            trace: trace::here().map(|header| header.to_string()),
        };
        let tail_call = self.notifier.tail_call(&notification);
        trace::fresh(self.clock.now(), tail_call).await?;
        summary.tail_call = true;
        Ok(())
    }

    /// Requests a wake-up if the queue was resumed before the release. That resume found a live
    /// lease and left the wake-up to this processor. A resume after the release finds no lease and
    /// requests the wake-up itself.
    async fn wake_if_resumed(&self, owner: Uuid) -> Result<(), TurnError> {
        let control = self.store.control().await?;
        if !control.is_paused(self.clock.now()) {
            self.waker()
                .request(&owner.to_string(), WakeReason::Operator)
                .await?;
        }
        Ok(())
    }

    /// Releases the lease after writing the group state that the next processor needs. If the write
    /// fails, the lease is not released, and the next processor assumes the worst case.
    async fn release_lease(
        &self,
        release: &Release,
        unsaved: Option<UnsavedGroups>,
        summary: &mut TurnSummary,
    ) -> Result<(), StoreError> {
        if let Some(unsaved) = unsaved {
            self.save_groups(release.owner, &unsaved).await?;
        }
        if let Released::Done { idle_turns } = self.store.release(release).await? {
            summary.idle_turns = idle_turns;
        }
        Ok(())
    }

    /// Writes the group state at the end of a turn. If another processor has written its state
    /// since this turn read it, the owner of the lease repeats the write. A displaced processor
    /// writes nothing.
    pub(super) async fn save_groups(
        &self,
        owner: Uuid,
        unsaved: &UnsavedGroups,
    ) -> Result<(), StoreError> {
        let UnsavedGroups { learned, seen } = unsaved;
        let mut seen = *seen;
        for _ in 0..SAVE_ATTEMPTS {
            match self.store.save_groups(learned, owner, seen).await? {
                Written::Done | Written::Overtaken => return Ok(()),
                Written::Lost => {}
            }
            let lease = self.store.control().await?.lease;
            if lease.is_none_or(|lease| lease.owner != owner) {
                return Ok(());
            }
            seen = self.store.groups().await?.learned_by;
        }
        Err(StoreError::Contended {
            operation: "UpdateItem",
            key: schema::GROUPS_ITEM.to_owned(),
        })
    }

    fn waker(&self) -> Waker {
        Waker::new(
            self.store.clone(),
            self.notifier.clone(),
            self.clock.clone(),
            self.settings.notification_marker,
        )
    }
}
