//! Processes a batch of messages: its groups concurrently, and the messages of each group in order.
//!
//! If a message fails, the later messages of its group are redelivered too. Otherwise, they would
//! overtake it. The other groups continue
//! (<https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html#services-sqs-batchfailurereporting>).
//! Failed messages become visible again soon, not after the queue's visibility timeout, because the
//! calls of their group wait for them. Each assignment is published when it is made, together with
//! those of the next milliseconds ([`publishing`]). An invalid message would fail every time, so it
//! goes to the dead-letter queue immediately, with the reason.

mod publishing;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::join_all;
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::{Instant, timeout_at};

use super::read;
use crate::call::{Call, CallState};
use crate::matching::lane::Batch;
use crate::matching::one_call::Matched;
use crate::publish::{PublishError, Published, Publisher};
use crate::queue::AgentQueue;
use crate::time::Micros;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Message id, by which a failure is reported to Lambda.
    pub id: String,
    /// Receipt handle, by which the message's visibility is changed.
    pub receipt: String,
    /// Number of times the message was received, including this time.
    pub received: u32,
    /// `{"callId"?: "…", "criteria": {"language"?: "…", "gender"?: "…"}}`.
    pub body: String,
    pub group: String,
    /// `MessageDeduplicationId`, which is the call's id if the body contains none.
    pub deduplication: String,
    pub sent: Micros,
    /// `SequenceNumber`, which grows within a group.
    pub sequence: u128,
}

#[async_trait]
pub trait CallQueue: Send + Sync {
    /// Makes messages visible again after the duration `after`.
    ///
    /// # Errors
    /// Returns the reason. The messages then become visible after their visibility timeout.
    async fn show_again(&self, messages: &[&Delivery], after: Duration) -> Result<(), String>;
}

/// The dead-letter queue for invalid messages.
#[async_trait]
pub trait DeadLetters: Send + Sync {
    async fn bury(&self, letter: &Delivery, reason: &str) -> Result<(), PublishError>;
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchReport {
    /// Ids of the unfinished messages, which are redelivered.
    pub failed: Vec<String>,
    pub assigned: u32,
    pub queued: u32,
    pub expired: u32,
    pub rejected: u32,
    pub published: Published,
}

pub struct Intake {
    queue: Arc<AgentQueue>,
    publisher: Arc<dyn Publisher>,
    dead_letters: Arc<dyn DeadLetters>,
    calls: Option<Arc<dyn CallQueue>>,
}

/// Time that an invocation needs after the deadline of [`Intake::work`] to finish the current
/// matches, publish, and make failed messages visible again.
pub const MARGIN: Duration = Duration::from_secs(6);

/// Time after the deadline at which matching ends, with or without a response from DynamoDB.
const MATCH_ENDS: Duration = Duration::from_secs(1);

/// Time after the deadline at which publishing ends. The sweep publishes the rest.
const PUBLISHING_ENDS: Duration = Duration::from_millis(3_500);

/// Time after the deadline at which visibility changes end and the report is complete.
const REPORT_ENDS: Duration = Duration::from_millis(5_500);

/// Delay before a failed message is visible again, for its first [`SHOWN_SOON`] receives.
const SHOWN_AFTER: Duration = Duration::from_secs(2);

/// Number of receives after which each further receive doubles the delay.
const SHOWN_SOON: u32 = 5;

const SHOWN_AT_LATEST: Duration = Duration::from_secs(30);

/// The reason for dead-lettering a call whose item cannot be read.
const UNREADABLE: &str = "the item of this call in the agents' table cannot be read; \
                          restore or delete it, and send the message again";

impl Intake {
    /// Creates an intake for a queue. The intake publishes its assignments immediately.
    pub fn new(
        queue: Arc<AgentQueue>,
        publisher: Arc<dyn Publisher>,
        dead_letters: Arc<dyn DeadLetters>,
    ) -> Self {
        Self {
            queue,
            publisher,
            dead_letters,
            calls: None,
        }
    }

    /// Makes the intake use `calls` to make failed messages visible again soon.
    #[must_use]
    pub fn showing_again(mut self, calls: Arc<dyn CallQueue>) -> Self {
        self.calls = Some(calls);
        self
    }

    /// Processes a batch. Starts no attempt after `deadline` and returns within [`MARGIN`] after
    /// it. Unfinished messages are redelivered.
    pub async fn work(&self, batch: &[Delivery], deadline: Instant) -> BatchReport {
        // Order the groups by their first messages.
        let mut groups: Vec<Vec<&Delivery>> = vec![];
        for delivery in batch {
            match groups
                .iter_mut()
                .find(|group| group[0].group == delivery.group)
            {
                Some(group) => group.push(delivery),
                None => groups.push(vec![delivery]),
            }
        }
        let redelivered = batch.iter().any(|delivery| delivery.received > 1);
        let (made, assignments) = unbounded_channel();
        let shared = Batch::new(redelivered, made);
        // Publishing ends when all groups have ended, because they own the assignments' sender.
        let matching = async move {
            let groups = groups.iter();
            join_all(groups.map(|group| self.group(group, deadline, &shared))).await
        };
        let publishing = self.publish(assignments, deadline + PUBLISHING_ENDS);
        let (groups, (assigned, published)) = tokio::join!(matching, publishing);
        let mut report = BatchReport {
            assigned,
            published,
            ..BatchReport::default()
        };
        for group in groups {
            report.add(group);
        }
        report
    }

    async fn group(&self, group: &[&Delivery], deadline: Instant, batch: &Batch) -> BatchReport {
        let queue = self.queue.until(deadline);
        let mut done = BatchReport::default();
        let (mut begun, mut calls, mut read) = (vec![], vec![], 0);
        while read < group.len() && Instant::now() < deadline {
            // Stop at the first unfinished message: later messages of its group would overtake it.
            let Ok(call) = self.read(group[read], deadline, &mut done).await else {
                break;
            };
            begun.extend(call.is_some().then_some(group[read]));
            calls.extend(call);
            read += 1;
        }
        let results = queue.match_lane(&calls, batch);
        let results = timeout_at(deadline + MATCH_ENDS, results).await;
        let mut results = results.unwrap_or_default().into_iter();
        let mut left = vec![];
        for delivery in begun {
            let matched = match results.next() {
                Some(Ok(matched)) if matched.state == CallState::Unreadable => {
                    let reject = self.reject(delivery, UNREADABLE, &mut done);
                    let rejected = timeout_at(deadline + PUBLISHING_ENDS, reject).await;
                    rejected.unwrap_or(false)
                }
                Some(Ok(matched)) => done.matched(&matched),
                Some(Err(error)) => {
                    let call = &delivery.deduplication;
                    tracing::warn!(call, %error, "match failed; the message is redelivered");
                    false
                }
                None => false,
            };
            left.extend((!matched).then_some(delivery));
        }
        left.extend(&group[read..]);
        done.failed = left.iter().map(|left| left.id.clone()).collect();
        self.show_again(&left, deadline).await;
        done
    }

    /// Makes failed messages visible again soon. Otherwise, the later calls of their group would
    /// wait for the queue's visibility timeout.
    async fn show_again(&self, left: &[&Delivery], deadline: Instant) {
        let (Some(first), Some(calls)) = (left.first(), &self.calls) else {
            return;
        };
        let shown = calls.show_again(left, shown_after(first.received));
        let shown = timeout_at(deadline + REPORT_ENDS, shown).await;
        if let Err(reason) = shown.unwrap_or_else(|elapsed| Err(elapsed.to_string())) {
            tracing::warn!(
                group = first.group,
                messages = left.len(),
                reason,
                "failed messages become visible only after the queue's visibility timeout"
            );
        }
    }

    /// Parses a message. Returns `None` if it is invalid and was sent to the dead-letter queue.
    ///
    /// # Errors
    /// The message is invalid and could not be sent to the dead-letter queue.
    async fn read(
        &self,
        delivery: &Delivery,
        deadline: Instant,
        done: &mut BatchReport,
    ) -> Result<Option<Call>, ()> {
        match read(delivery, &self.queue.settings().dimensions) {
            Ok(call) => Ok(Some(call)),
            Err(rejected) => {
                let reason = rejected.to_string();
                let reject = self.reject(delivery, &reason, done);
                let rejected = timeout_at(deadline + MATCH_ENDS, reject).await;
                rejected.unwrap_or(false).then_some(None).ok_or(())
            }
        }
    }

    async fn reject(&self, delivery: &Delivery, reason: &str, done: &mut BatchReport) -> bool {
        tracing::warn!(
            message = delivery.id,
            reason,
            "the message cannot be matched and goes to the dead-letter queue"
        );
        match self.dead_letters.bury(delivery, reason).await {
            Ok(()) => {
                done.rejected += 1;
                true
            }
            Err(error) => {
                tracing::error!(
                    message = delivery.id,
                    %error,
                    "invalid message not sent to the dead-letter queue; it is redelivered"
                );
                false
            }
        }
    }
}

impl BatchReport {
    /// Adds the result of a match. Returns whether its message is finished.
    fn matched(&mut self, matched: &Matched) -> bool {
        let waits = matched.queued && matched.state == CallState::Pending;
        self.queued += u32::from(waits);
        self.expired += matched.expired;
        !matched.cut_short
    }

    fn add(&mut self, group: Self) {
        self.failed.extend(group.failed);
        self.queued += group.queued;
        self.expired += group.expired;
        self.rejected += group.rejected;
    }
}

/// Returns the delay before a failed message is visible again, from its number of receives.
fn shown_after(received: u32) -> Duration {
    let doublings = received.saturating_sub(SHOWN_SOON).min(10);
    (SHOWN_AFTER * (1 << doublings)).min(SHOWN_AT_LATEST)
}
