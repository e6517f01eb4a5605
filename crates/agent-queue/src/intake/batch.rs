//! A batch of messages: groups side by side, each group in its order.
//!
//! Where a message fails, its group's later ones are left for the next time, or they would
//! overtake it; the other groups go on
//! (<https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html#services-sqs-batchfailurereporting>).
//! What is left becomes visible again soon, not after the queue's visibility timeout: the calls
//! of its group wait for it. The assignments of a group are published when it has ended, together
//! with those of groups that end at the same time ([`publishing`]). A message that is not a call
//! would fail every time: it goes to the dead-letter queue at once, with the reason.

mod publishing;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::join_all;
use tokio::time::{Instant, timeout_at};

use self::publishing::Made;
use super::{Message, read};
use crate::call::{Assignment, Call, CallState};
use crate::lane::Claims;
use crate::matcher::Matched;
use crate::publish::{PublishError, Published, Publisher};
use crate::queue::AgentQueue;
use crate::time::Micros;

/// A message of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// What a failure is reported by.
    pub id: String,
    /// What its visibility is changed by.
    pub receipt: String,
    /// How often it was received, this time included.
    pub received: u32,
    /// Its body.
    pub body: String,
    /// Its message group.
    pub group: String,
    /// Its deduplication id.
    pub deduplication: String,
    /// When it was sent.
    pub sent: Micros,
    /// Its sequence number.
    pub sequence: u128,
}

/// Where calls come from.
#[async_trait]
pub trait CallQueue: Send + Sync {
    /// Lets messages become visible again after a while.
    ///
    /// # Errors
    /// The reason: they become visible after the queue's visibility timeout.
    async fn show_again(&self, messages: &[&Delivery], after: Duration) -> Result<(), String>;
}

/// Where messages go that are not calls.
#[async_trait]
pub trait DeadLetters: Send + Sync {
    /// Keeps a message, with the reason.
    async fn bury(&self, letter: &Delivery, reason: &str) -> Result<(), PublishError>;
}

/// What a batch did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchReport {
    /// The ids of the messages to be redelivered: exactly those that are not done.
    pub failed: Vec<String>,
    /// Calls that met their agents.
    pub assigned: u32,
    /// New calls that wait.
    pub queued: u32,
    /// Calls that had waited for too long.
    pub expired: u32,
    /// Messages that are not calls.
    pub refused: u32,
    /// What was published.
    pub published: Published,
}

/// Works through batches of the call queue.
pub struct Intake {
    queue: Arc<AgentQueue>,
    publisher: Arc<dyn Publisher>,
    dead_letters: Arc<dyn DeadLetters>,
    calls: Option<Arc<dyn CallQueue>>,
}

/// The time that an invocation needs after the deadline of [`Intake::work`]: for the match that
/// is under way, for publishing and for what is shown again.
pub const MARGIN: Duration = Duration::from_secs(6);

/// So long after the deadline a match ends, whatever DynamoDB does.
const MATCH_ENDS: Duration = Duration::from_secs(1);

/// So long after the deadline publishing ends; the sweep publishes what is left.
const PUBLISHING_ENDS: Duration = Duration::from_millis(3_500);

/// So long after the deadline the report is there.
const REPORT_ENDS: Duration = Duration::from_millis(5_500);

/// After how long a message becomes visible again that failed the first few times.
const SHOWN_AFTER: Duration = Duration::from_secs(2);

/// How often a message may fail before the pause grows.
const SHOWN_SOON: u32 = 5;

/// The longest pause.
const SHOWN_AT_LATEST: Duration = Duration::from_secs(30);

/// What one group came to.
#[derive(Default)]
struct Group {
    report: BatchReport,
    assignments: Vec<Assignment>,
}

impl Intake {
    /// An intake of a queue, which publishes its assignments at once.
    #[must_use]
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

    /// The same intake, whose failed messages become visible again soon.
    #[must_use]
    pub fn showing_again(mut self, calls: Arc<dyn CallQueue>) -> Self {
        self.calls = Some(calls);
        self
    }

    /// Works through a batch. No try is begun after `deadline`; what is left is redelivered. The
    /// report is there within [`MARGIN`] of the deadline.
    pub async fn work(&self, batch: &[Delivery], deadline: Instant) -> BatchReport {
        // In the order in which each group first comes.
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
        let claims = Claims::default();
        let (made, publishing) = self.publishing(deadline + PUBLISHING_ENDS);
        let groups: Vec<_> = groups
            .iter()
            .map(|group| self.group(group, deadline, &claims, made.clone()))
            .collect();
        drop(made);
        let (groups, published) = tokio::join!(join_all(groups), publishing);
        let mut report = BatchReport {
            published,
            ..BatchReport::default()
        };
        for group in groups {
            report.add(group);
        }
        report
    }

    async fn group(
        &self,
        group: &[&Delivery],
        deadline: Instant,
        claims: &Claims,
        made: Made,
    ) -> BatchReport {
        let queue = self.queue.until(deadline);
        let mut done = Group::default();
        let (mut begun, mut calls, mut read) = (vec![], vec![], 0);
        while read < group.len() && Instant::now() < deadline {
            // Where a message is not done with, its group's later ones would overtake it.
            let Ok(call) = self.read(group[read], deadline, &mut done).await else {
                break;
            };
            begun.extend(call.is_some().then_some(group[read]));
            calls.extend(call);
            read += 1;
        }
        let answers = queue.match_lane(&calls, claims);
        let answers = timeout_at(deadline + MATCH_ENDS, answers).await;
        let mut answers = answers.unwrap_or_default().into_iter();
        let mut left = vec![];
        for delivery in begun {
            let matched = match answers.next() {
                Some(Ok(matched)) => done.matched(matched),
                Some(Err(error)) => {
                    let call = &delivery.deduplication;
                    tracing::warn!(call, %error, "the message is redelivered");
                    false
                }
                None => false,
            };
            left.extend((!matched).then_some(delivery));
        }
        left.extend(&group[read..]);
        let Group {
            mut report,
            assignments,
        } = done;
        report.failed = left.iter().map(|left| left.id.clone()).collect();
        report.assigned = u32::try_from(assignments.len()).unwrap_or(u32::MAX);
        made.publish(assignments);
        self.show_again(&left, deadline).await;
        report
    }

    /// Otherwise the calls behind a failure would wait for the queue's visibility timeout.
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
                "they are redelivered only after the queue's visibility timeout"
            );
        }
    }

    /// The call of a message. `None`: the message is invalid and in the dead-letter queue.
    ///
    /// # Errors
    /// It could not be put there.
    async fn read(
        &self,
        delivery: &Delivery,
        deadline: Instant,
        done: &mut Group,
    ) -> Result<Option<Call>, ()> {
        let message = Message {
            body: &delivery.body,
            group: &delivery.group,
            deduplication: &delivery.deduplication,
            sent: delivery.sent,
            sequence: delivery.sequence,
        };
        match read(message, &self.queue.settings().dimensions) {
            Ok(call) => Ok(Some(call)),
            Err(refused) => {
                let reason = refused.to_string();
                let refuse = self.refuse(delivery, &reason, done);
                let refused = timeout_at(deadline + MATCH_ENDS, refuse).await;
                refused.unwrap_or(false).then_some(None).ok_or(())
            }
        }
    }

    async fn refuse(&self, delivery: &Delivery, reason: &str, done: &mut Group) -> bool {
        tracing::warn!(
            message = delivery.id,
            reason,
            "the message is not a call and goes to the dead-letter queue"
        );
        match self.dead_letters.bury(delivery, reason).await {
            Ok(()) => {
                done.report.refused += 1;
                true
            }
            Err(error) => {
                tracing::error!(message = delivery.id, %error, "the message is redelivered");
                false
            }
        }
    }
}

impl Group {
    /// Takes a match in. Whether its message is done with.
    fn matched(&mut self, matched: Matched) -> bool {
        let waits = matched.queued && matched.state == CallState::Waiting;
        self.report.queued += u32::from(waits);
        self.report.expired += matched.expired;
        self.assignments.extend(matched.assignments);
        !matched.cut_short
    }
}

impl BatchReport {
    fn add(&mut self, group: Self) {
        self.failed.extend(group.failed);
        self.assigned += group.assigned;
        self.queued += group.queued;
        self.expired += group.expired;
        self.refused += group.refused;
        self.published += group.published;
    }
}

/// After how long a message becomes visible again that was received so often.
fn shown_after(received: u32) -> Duration {
    let doublings = received.saturating_sub(SHOWN_SOON).min(10);
    (SHOWN_AFTER * (1 << doublings)).min(SHOWN_AT_LATEST)
}

#[cfg(test)]
mod tests;
