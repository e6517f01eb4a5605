//! Checks the take of a task, and the end of its lease.

use std::time::Duration;

use lifo_queue::store::memory::Record;
use lifo_queue::task::{TaskId, TaskStatus};
use lifo_queue::time::Millis;

use super::{Ledger, Process};
use crate::cloud::settings::PATIENCE;

/// Maximum time between sending a take request and its execution.
const SLOWEST_TAKE: Duration = Duration::from_secs(13);

#[derive(Clone, Debug)]
pub(super) struct Take {
    pub(super) process: u32,
    pub(super) task: TaskId,
    /// Whether the take arrived after its sender had stopped waiting, possibly without a retry.
    pub(super) late: bool,
}

impl Ledger {
    pub(super) fn taken(
        &mut self,
        now: Millis,
        process: &Process,
        id: &TaskId,
        before: &Record,
        after: &Record,
    ) -> Option<&'static str> {
        let Some(token) = after.lease_token else {
            return Some("S1: taken without a token");
        };
        let asked = self
            .seen
            .get(&process.id)
            .and_then(|seen| seen.asked.get(&token.0));
        self.slots.taken(process.id, id);
        let take = Take {
            process: process.id,
            task: id.clone(),
            late: asked.is_none_or(|asked| now.since(*asked) > PATIENCE),
        };
        // A retry that arrives late may find the task PENDING again, because a redrive or a newer
        // state of its key deleted the earlier lease. The sender no longer waits for a response, so
        // no second run follows. The task returns when the lease expires.
        let late = take.late;
        if self.takes.insert(token.0, take).is_some() && !late {
            return Some("S1: taken twice by one token");
        }
        let skew = self.settings.skew;
        if before.not_before.is_some_and(|from| from > now.plus(skew)) {
            return Some("taken before it is due");
        }
        if before.ttl.is_expired(now.minus(skew + SLOWEST_TAKE)) {
            return Some("taken though expired");
        }
        if self.is_over_the_limit(now, id) {
            return Some("S5.15: more live leases than the limit of the group");
        }
        let counted = after.total_attempts == before.total_attempts + 1;
        (!counted).then_some("S4: a take did not increase totalAttempts by 1")
    }

    /// Whether more tasks of this task's group have a live lease than the group's limit allows.
    fn is_over_the_limit(&self, now: Millis, id: &TaskId) -> bool {
        let limit = self
            .settings
            .process
            .groups
            .and_then(|of| of.max_concurrency);
        let live = self.leases.iter().filter(|(other, until)| {
            other.group() == id.group() && **until > now.plus(self.settings.skew)
        });
        limit.is_some_and(|limit| live.count() > usize::from(limit.get()))
    }

    pub(super) fn not_its_own(&self, process: &Process, before: &Record) -> bool {
        let take = before
            .lease_token
            .and_then(|token| self.takes.get(&token.0));
        take.is_none_or(|take| take.process != process.id)
    }

    pub(super) fn reclaimed(
        &mut self,
        process: &Process,
        before: &Record,
        target: TaskStatus,
    ) -> Option<&'static str> {
        if target == TaskStatus::Success {
            return Some("the sweep cannot know of a success");
        }
        if before.lease_until.is_none_or(|until| until > process.now()) {
            return Some("S1: returned while its lease is live");
        }
        if before
            .lease_token
            .is_none_or(|token| !self.is_excused(token))
        {
            return Some("S2: left TAKEN by a live process whose calls did not fail");
        }
        if let Some(take) = before
            .lease_token
            .and_then(|token| self.takes.get(&token.0))
        {
            // The task's settlement has had no response for longer than the lease. Regardless of
            // the response, the task may run again.
            self.exhausted.insert((take.process, take.task.clone()));
        }
        let attempts = self.settings.process.max_attempts;
        // The newer states of a key reset the key's attempts but not its crashes.
        let used = before.attempts.max(before.crashes + 1);
        (target == TaskStatus::Failure && (used < attempts || !before.alone))
            .then_some("S4: failed before its attempts were used up, or its last run was not alone")
    }
}
