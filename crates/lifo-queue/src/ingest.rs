//! Tasks from an SQS standard queue. The queue accepts bursts at any rate from any producer, and
//! the ingest writes them as fast as the table accepts them.
//!
//! A message's body is one task or an array of tasks, as [`create`](crate::create) reads them. SQS
//! delivers at least once and does not guarantee an order. Therefore:
//!
//! - a task without an id gets one from its message, so a message that is delivered twice creates
//!   its tasks once;
//! - a task's age comes from its producer or from the time its message was sent, never from its
//!   arrival, so a redelivered old message does not overtake newer tasks. Expired tasks are shed:
//!   counted and sent to the shed queue, but never written;
//! - SQS redelivers exactly those messages that could not be written completely
//!   (<https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html#services-sqs-batchfailurereporting>);
//! - of several states of one key in a batch, the newest is written;
//! - while the table throttles, new messages are written and old ones
//!   [return later](backpressure);
//! - while the queue has a backlog, the ingest [receives messages itself](catch_up);
//! - with admission enabled, the tasks in a storm that can't run before they expire are
//!   [shed](admission) instead of written;
//! - an invalid task would fail every time, so it goes to the dead-letter queue immediately, with
//!   the reason, and does not delay other tasks.

mod admission;
mod backpressure;
mod catch_up;
mod close;
mod insert;
mod message;
mod queue;
pub mod sqs;
mod waves;
mod write;

use std::collections::BTreeMap;
use std::sync::Arc;

use aws::error_chain;
use serde::Deserialize;
use tokio::time::{Instant, timeout_at};

pub use self::admission::AdmissionSettings;
use self::admission::{Admission, Quota};
use self::backpressure::{Backpressure, postponement};
use self::message::Wrong;
pub use self::queue::{DeadLetter, IngestQueue, Postponed};
use crate::backoff::Backoff;
use crate::create::CreateSettings;
use crate::settings::positive;
use crate::shed::{ShedCounter, ShedReport, ShedTask};
use crate::store::{AdmissionStore, TaskStore};
use crate::task::{MAX_LOGGED, TaskId};
use crate::time::{Clock, Millis};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// `messageId`: identifies a failed message to Lambda, and is the default `taskId`.
    pub id: String,
    /// `receiptHandle`: identifies the message in requests that change its visibility timeout.
    pub receipt: String,
    /// One task or an array of tasks, as JSON.
    pub body: String,
    /// `MessageGroupId`, if the producer set it: in a queue with groups, the default `group`.
    pub group: Option<String>,
    /// `SentTimestamp`, the default `taskCreated`.
    pub sent: Millis,
    /// `ApproximateFirstReceiveTimestamp`: when SQS first delivered the message.
    pub first_received: Millis,
    /// `ApproximateReceiveCount`: 1 for the first delivery.
    pub receives: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct IngestSettings {
    pub create: CreateSettings,
    #[serde(rename = "writeParallelism", deserialize_with = "positive")]
    pub parallel: usize,
    /// Random delay until a failed message becomes visible again, from half of the maximum to the
    /// maximum, which doubles with each receive. With the queue's own visibility timeout, which
    /// must be six times the function's timeout, a task would be delayed by minutes.
    pub visibility: Backoff,
    /// Admission settings; `None` admits every task.
    pub admission: Option<AdmissionSettings>,
}

#[derive(Clone, Copy, Debug)]
pub struct Deadlines {
    /// Time by which the writes must end.
    pub writes: Instant,
    /// Time by which the report must be ready. A function that times out reports nothing, and SQS
    /// redelivers every message.
    pub report: Instant,
}

#[derive(Debug, Default)]
pub struct IngestReport {
    pub messages: usize,
    /// Tasks written, including newer states of keys.
    pub created: u64,
    /// Tasks that were already in the table, and are unchanged.
    pub duplicates: u64,
    /// Key states superseded by a newer state before they ran, in the table or within the batch.
    pub superseded: u64,
    /// The keys of the first superseded states.
    pub(crate) superseded_keys: Vec<TaskId>,
    /// Tasks that had expired before they were written, or were not admitted.
    pub shed: ShedReport,
    /// Invalid tasks and bodies that were sent to the dead-letter queue.
    pub rejected: u64,
    /// Messages that SQS must redeliver because the table throttled their writes.
    pub postponed: u64,
    /// Ids of the messages that SQS must redeliver, in batch order: exactly those that failed in
    /// part or in full.
    pub returned: Vec<String>,
}

impl IngestReport {
    /// The keys of the first superseded states, for the log; `None` if there are none.
    pub fn superseded_keys(&self) -> Option<String> {
        TaskId::logged(self.superseded_keys.iter())
    }

    fn supersede(&mut self, key: TaskId) {
        self.superseded += 1;
        if self.superseded_keys.len() < MAX_LOGGED {
            self.superseded_keys.push(key);
        }
    }
}

pub struct Ingest {
    store: Arc<dyn TaskStore>,
    queue: Arc<dyn IngestQueue>,
    shed: ShedCounter,
    clock: Arc<dyn Clock>,
    settings: IngestSettings,
    backpressure: Backpressure,
    admission: Option<Admission>,
}

struct Open<'a> {
    delivery: &'a Delivery,
    wrong: Vec<Wrong<'a>>,
    /// Tasks that had expired, or were not admitted.
    shed: Vec<ShedTask>,
    /// Whether part of the message failed, so that SQS redelivers it.
    left: bool,
    /// Whether part of the message was not written because the table was throttled.
    throttled: bool,
}

impl Ingest {
    /// Creates an [`Ingest`] that writes to `store` and counts shed tasks with `shed`.
    pub fn new(
        store: Arc<dyn TaskStore>,
        queue: Arc<dyn IngestQueue>,
        shed: ShedCounter,
        clock: Arc<dyn Clock>,
        settings: IngestSettings,
    ) -> Self {
        Self {
            store,
            queue,
            shed,
            clock,
            settings,
            backpressure: Backpressure::default(),
            admission: None,
        }
    }

    /// Uses the meter in `store` to admit tasks, if the settings enable admission.
    #[must_use]
    pub fn admitting_by(self, store: Arc<dyn AdmissionStore>) -> Self {
        let clock = self.clock.clone();
        let admission = self.settings.admission;
        Self {
            admission: admission.map(|settings| Admission::new(store, clock, settings)),
            ..self
        }
    }

    /// Processes a batch in waves that fit into memory.
    ///
    /// SQS redelivers messages that are not written completely by the deadline. All tasks of a
    /// redelivered message are written again, and those already in the table count as duplicates.
    /// Invalid and expired tasks are sent to their queues only after the other tasks of their
    /// message are written, so that they are sent once.
    pub async fn work(&self, batch: &[Delivery], deadlines: Deadlines) -> IngestReport {
        let mut report = IngestReport {
            messages: batch.len(),
            ..IngestReport::default()
        };
        let quota = match &self.admission {
            Some(admission) => admission.quota().await,
            None => None,
        };
        // Messages to be redelivered, each with a flag that states whether throttling is the cause.
        let mut left = BTreeMap::new();
        for (number, wave) in waves::of(batch).into_iter().enumerate() {
            if number > 0 && Instant::now() >= deadlines.writes {
                left.extend(wave.into_iter().map(|index| (index, false)));
                continue;
            }
            let messages: Vec<_> = wave.iter().map(|index| &batch[*index]).collect();
            let open = self
                .work_wave(&messages, deadlines, quota.as_ref(), &mut report)
                .await;
            let undone = wave.iter().zip(&open).filter(|(_, message)| message.left);
            left.extend(undone.map(|(index, message)| (*index, message.throttled)));
        }
        let left: Vec<_> = left
            .into_iter()
            .map(|(index, throttled)| (&batch[index], throttled))
            .collect();
        self.postpone_in_time(&left, deadlines).await;
        report.postponed = left.iter().filter(|(_, throttled)| *throttled).count() as u64;
        report.returned = left.iter().map(|(message, _)| message.id.clone()).collect();
        report
    }

    async fn work_wave<'a>(
        &self,
        batch: &[&'a Delivery],
        deadlines: Deadlines,
        quota: Option<&Quota>,
        report: &mut IngestReport,
    ) -> Vec<Open<'a>> {
        let mut open = self.write(batch, deadlines.writes, quota, report).await;
        let closing = async {
            self.hand_over(&mut open).await;
            report.rejected += self.bury(&mut open).await;
        };
        if timeout_at(deadlines.report, closing).await.is_err() {
            tracing::error!(
                "deadline reached before all invalid and expired tasks of the batch were sent to \
                 their queues; SQS redelivers their messages"
            );
            // It is unknown which invalid and expired tasks were sent, so redeliver them all.
            for message in &mut open {
                message.left |= !message.shed.is_empty() || !message.wrong.is_empty();
            }
        }
        // SQS redelivers a message of which a part failed. Its tasks are then created, even those
        // that were not admitted before. Therefore, shed tasks are counted last.
        let done = open.iter().filter(|message| !message.left);
        report
            .shed
            .add(ShedReport::of(done.flat_map(|message| &message.shed)));
        open
    }

    async fn postpone_in_time(&self, left: &[(&Delivery, bool)], deadlines: Deadlines) {
        if timeout_at(deadlines.report, self.postpone(left))
            .await
            .is_err()
        {
            let messages = left.len();
            tracing::error!(
                messages,
                "visibility timeout not shortened in time; SQS redelivers the messages later"
            );
        }
    }

    /// Sets the visibility timeout of failed messages. If that fails, SQS redelivers them after the
    /// queue's own visibility timeout.
    async fn postpone(&self, messages: &[(&Delivery, bool)]) {
        let failed = self.settings.visibility;
        let postponed: Vec<_> = messages
            .iter()
            .map(|(message, throttled)| {
                let backoff = if *throttled {
                    postponement(failed)
                } else {
                    failed
                };
                Postponed {
                    receipt: message.receipt.clone(),
                    by: backoff.draw_upper_half(message.receives),
                }
            })
            .collect();
        let failed = self.queue.postpone(&postponed).await;
        if let Some(error) = failed.first() {
            let error = error_chain::chain(&**error);
            tracing::warn!(
                messages = failed.len(),
                error,
                "visibility timeout not shortened; SQS redelivers the messages when it ends"
            );
        }
    }
}
