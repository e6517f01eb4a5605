//! Writes the tasks of a wave of messages.

use std::cmp::Reverse;

use tokio::time::Instant;

use super::admission::{self, Quota};
use super::backpressure::patience;
use super::insert::{self, InsertOutcome, Limits};
use super::message::{self, Contents, Wrong};
use super::{Delivery, Ingest, IngestReport, Open};
use crate::create::chains::chains;
use crate::shed::{ShedReason, ShedTask};
use crate::store::Counts;
use crate::task::{NewTask, TaskStatus, Ttl};

impl Ingest {
    /// Writes the tasks of the newest messages first. If the deadline ends the writes, SQS
    /// redelivers the older messages.
    pub(super) async fn write<'a>(
        &self,
        batch: &[&'a Delivery],
        until: Instant,
        quota: Option<&Quota>,
        report: &mut IngestReport,
    ) -> Vec<Open<'a>> {
        let now = self.clock.now();
        let mut tasks = Vec::with_capacity(batch.len());
        // The message and the element of each task.
        let mut sources = Vec::with_capacity(batch.len());
        let mut open = Vec::with_capacity(batch.len());
        let mut counts = Counts::default();
        let mut old = 0;
        for (index, delivery) in batch.iter().enumerate() {
            let Contents {
                tasks: found,
                wrong,
            } = message::read(delivery, &self.settings.create, now);
            let mut shed = vec![];
            for (element, task) in found {
                if Ttl::Seconds(task.expires_at).is_expired(now) {
                    old += u64::from(Ttl::Seconds(task.expires_at).is_expired(delivery.sent));
                    shed.push(shed_task(task, ShedReason::Expired));
                } else if admission::admits(quota, &task, delivery, now, &mut counts) {
                    tasks.push((sources.len(), task));
                    sources.push((index, element));
                } else {
                    shed.push(shed_task(task, ShedReason::NotAdmitted));
                }
            }
            open.push(Open {
                delivery,
                wrong,
                shed,
                left: false,
                throttled: false,
            });
        }
        if let Some(admission) = &self.admission {
            admission.note(counts);
        }
        if old > 0 {
            tracing::warn!(
                tasks = old,
                "tasks had expired before they were sent; check the producer's clock, and that \
                 taskCreated is in UTC"
            );
        }
        let (mut first, again) = chains(tasks);
        let message = |task: usize| batch[sources[task].0];
        first.sort_by_key(|chain| chain.first().map(|(task, _)| Reverse(message(*task).sent)));
        let patience: Vec<_> = (0..sources.len())
            .map(|task| patience(message(task)))
            .collect();
        let limits = Limits {
            until,
            patience: &patience,
            backpressure: &self.backpressure,
        };
        // Tasks with the same id that cannot be compared are written one by one.
        for (round, parallel) in [(first, self.settings.parallel), (again, 1)] {
            for (task, outcome) in insert::all(&*self.store, round, parallel, &limits).await {
                let (index, element) = sources[task];
                match outcome {
                    InsertOutcome::Created => report.created += 1,
                    InsertOutcome::Superseding(key) => {
                        report.created += 1;
                        report.supersede(key);
                    }
                    InsertOutcome::Duplicate => report.duplicates += 1,
                    InsertOutcome::Outdated(key) => report.supersede(key),
                    InsertOutcome::Left => open[index].left = true,
                    InsertOutcome::Throttled => {
                        open[index].left = true;
                        open[index].throttled = true;
                    }
                    InsertOutcome::Wrong(reason) => {
                        open[index].wrong.push(Wrong { element, reason })
                    }
                }
            }
        }
        open
    }
}

/// Converts a task that was never in the table, and so had no attempt, to a shed task.
fn shed_task(task: NewTask, reason: ShedReason) -> ShedTask {
    ShedTask {
        reason,
        task_id: Some(task.id),
        task_status: TaskStatus::Pending,
        task_created: Some(task.created),
        expires_at: Some(task.expires_at),
        attempts: Some(0),
        total_attempts: Some(0),
        last_error: None,
        payload: task.payload.unwrap_or_default(),
        unreadable: vec![],
    }
}
