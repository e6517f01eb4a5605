//! Corrects direct writers' tasks that DynamoDB would never delete because of their `ttl`.

use super::{SweepReport, Sweeper};
use crate::store::{Candidate, StoreError, Written};
use crate::task::{TaskId, Ttl};
use crate::time::{EpochSeconds, Millis};

/// The correction of a task's `ttl`.
enum Remedy {
    /// The task gets this `ttl`.
    Adopt(EpochSeconds),
    /// The task becomes FAILURE because of this `ttl`.
    Quarantine(EpochSeconds),
}

enum Done {
    Adopted,
    Quarantined,
    Nothing,
}

impl Sweeper {
    /// Corrects the `ttl` of each task that DynamoDB would never delete.
    pub(super) async fn adopt(&self, tasks: &[Candidate], now: Millis, report: &mut SweepReport) {
        let mut changes = Vec::new();
        for task in tasks {
            if let Some(remedy) = self.remedy(task.ttl, now) {
                changes.push(self.put_right(task, remedy, now));
            }
        }
        for done in self.make(changes, report).await {
            match done {
                Done::Adopted => report.adopted += 1,
                Done::Quarantined => report.quarantined += 1,
                Done::Nothing => {}
            }
        }
    }

    fn remedy(&self, ttl: Ttl, now: Millis) -> Option<Remedy> {
        match ttl {
            Ttl::Missing => {
                let default = now.ceil_seconds().plus(self.settings.default_ttl);
                Some(Remedy::Adopt(default))
            }
            Ttl::Milliseconds(at) => Some(Remedy::Adopt(at.floor_seconds())),
            Ttl::Seconds(at) if ttl.is_never_deleted(now) => Some(Remedy::Quarantine(at)),
            Ttl::Seconds(_) | Ttl::Malformed => None,
        }
    }

    async fn put_right(
        &self,
        task: &Candidate,
        remedy: Remedy,
        now: Millis,
    ) -> (TaskId, Result<Done, StoreError>) {
        let (written, done) = match remedy {
            Remedy::Adopt(ttl) => (
                self.store.adopt_ttl(&task.id, task.ttl, ttl).await,
                Done::Adopted,
            ),
            Remedy::Quarantine(seen) => (self.quarantine(task, seen, now).await, Done::Quarantined),
        };
        let done = written.map(|written| match written {
            Written::Done => done,
            Written::Overtaken | Written::Lost => Done::Nothing,
        });
        (task.id.clone(), done)
    }

    async fn quarantine(
        &self,
        task: &Candidate,
        seen: EpochSeconds,
        now: Millis,
    ) -> Result<Written, StoreError> {
        let reason = format!(
            "ttl is {}, more than five years in the past, so DynamoDB never deletes the task; \
             write the expiry in epoch seconds, not a duration",
            seen.0
        );
        tracing::warn!(task_id = %task.id, reason, "moving the task to FAILURE");
        let keep_until = now.ceil_seconds().plus(self.settings.failure_retention);
        self.store.quarantine(task, &reason, keep_until, now).await
    }
}
