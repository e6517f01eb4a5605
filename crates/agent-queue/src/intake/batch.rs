//! A batch of messages: groups side by side, each group in its order.
//!
//! Where a message fails, its group's later ones are left for the next time, or they would
//! overtake it; the other groups go on
//! (<https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html#services-sqs-batchfailurereporting>).
//! A message that is no call would fail every time: it goes to the dead-letter queue at once,
//! with the reason.

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::join_all;
use tokio::time::Instant;

use super::{Message, read};
use crate::call::{Assignment, CallState};
use crate::queue::AgentQueue;
use crate::tell::{TellError, Teller, Told};
use crate::time::Micros;

/// A message of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// What a failure is reported by.
    pub id: String,
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

/// Where messages go that are no calls.
#[async_trait]
pub trait DeadLetters: Send + Sync {
    /// Keeps a message, with the reason.
    async fn bury(&self, letter: &Delivery, reason: &str) -> Result<(), TellError>;
}

/// What a batch did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchReport {
    /// The ids of the messages that must come again: exactly those that are not done.
    pub failed: Vec<String>,
    /// Calls that met their agents.
    pub assigned: u32,
    /// New calls that wait.
    pub queued: u32,
    /// Calls that had waited for too long.
    pub expired: u32,
    /// Messages that are no calls.
    pub refused: u32,
    /// What was told.
    pub told: Told,
}

/// Works through batches of the call queue.
pub struct Intake {
    queue: Arc<AgentQueue>,
    teller: Arc<dyn Teller>,
    dead_letters: Arc<dyn DeadLetters>,
}

/// What one group came to.
#[derive(Default)]
struct Group {
    report: BatchReport,
    assignments: Vec<Assignment>,
}

impl Intake {
    /// An intake of a queue, which tells its assignments at once.
    #[must_use]
    pub fn new(
        queue: Arc<AgentQueue>,
        teller: Arc<dyn Teller>,
        dead_letters: Arc<dyn DeadLetters>,
    ) -> Self {
        Self {
            queue,
            teller,
            dead_letters,
        }
    }

    /// Works through a batch. No message is begun after `deadline`; what is left comes again.
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
        let groups = groups.iter().map(|group| self.group(group, deadline));
        let mut all = Group::default();
        for group in join_all(groups).await {
            all.report.add(group.report);
            all.assignments.extend(group.assignments);
        }
        all.report.assigned = u32::try_from(all.assignments.len()).unwrap_or(u32::MAX);
        let told = self
            .queue
            .tell_assignments(&*self.teller, &all.assignments)
            .await;
        match told {
            Ok(told) => all.report.told = told,
            // The assignments stand; a message that came again could not tell them better.
            Err(error) => tracing::warn!(%error, "told again by the sweep"),
        }
        all.report
    }

    async fn group(&self, group: &[&Delivery], deadline: Instant) -> Group {
        let mut done = Group::default();
        for (number, delivery) in group.iter().enumerate() {
            let in_time = Instant::now() < deadline;
            if !in_time || !self.one(delivery, &mut done).await {
                let left = group[number..].iter().map(|left| left.id.clone());
                done.report.failed.extend(left);
                break;
            }
        }
        done
    }

    /// Whether a message is done with.
    async fn one(&self, delivery: &Delivery, done: &mut Group) -> bool {
        let message = Message {
            body: &delivery.body,
            group: &delivery.group,
            deduplication: &delivery.deduplication,
            sent: delivery.sent,
            sequence: delivery.sequence,
        };
        let call = match read(message, &self.queue.settings().dimensions) {
            Ok(call) => call,
            Err(refused) => return self.refuse(delivery, &refused.to_string(), done).await,
        };
        match self.queue.match_call(&call).await {
            Ok(matched) => {
                done.report.queued +=
                    u32::from(matched.queued && matched.state == CallState::Waiting);
                done.report.expired += matched.expired;
                done.assignments.extend(matched.assignments);
                true
            }
            Err(error) => {
                tracing::warn!(call = %call.id, %error, "comes again");
                false
            }
        }
    }

    async fn refuse(&self, delivery: &Delivery, reason: &str, done: &mut Group) -> bool {
        tracing::warn!(
            message = delivery.id,
            reason,
            "no call: into the dead-letter queue"
        );
        match self.dead_letters.bury(delivery, reason).await {
            Ok(()) => {
                done.report.refused += 1;
                true
            }
            Err(error) => {
                tracing::error!(message = delivery.id, %error, "comes again");
                false
            }
        }
    }
}

impl BatchReport {
    fn add(&mut self, group: Self) {
        self.failed.extend(group.failed);
        self.queued += group.queued;
        self.expired += group.expired;
        self.refused += group.refused;
    }
}

#[cfg(test)]
mod tests;
