//! Assignments to the topic, expired calls to the dead-letter queue: at least once.
//!
//! An event is written to the outbox in the transaction of its change, and deleted after it was
//! published. A crash in between leaves it for the sweep; so it may be published twice, and
//! subscribers deduplicate by the call's id.

pub mod aws;

use std::error::Error;

use async_trait::async_trait;

use crate::call::{Assignment, News, Notice};
use crate::queue::{AgentQueue, QueueError};

/// Tells the world.
#[async_trait]
pub trait Teller: Send + Sync {
    /// Tells each; the answers are in the same order.
    async fn tell(&self, news: &[News]) -> Vec<Result<(), TellError>>;
}

/// Something was not told; it stays in the table, and the sweep tells it.
#[derive(Debug, thiserror::Error)]
#[error("call {call}: not told ({reason}); it is kept, and told by the next sweep")]
pub struct TellError {
    /// Which call it is about.
    pub call: String,
    /// What went wrong.
    pub reason: String,
}

/// The published events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Assignments published.
    pub published: u32,
    /// Calls put into the dead-letter queue.
    pub dead_lettered: u32,
    /// Events that are left in the outbox.
    pub failed: u32,
}

impl std::ops::AddAssign for Told {
    fn add_assign(&mut self, other: Self) {
        self.published += other.published;
        self.dead_lettered += other.dead_lettered;
        self.failed += other.failed;
    }
}

impl AgentQueue {
    /// Publishes new assignments, and deletes them from the outbox. The sweep publishes what fails
    /// here: the assignments are valid in any case.
    ///
    /// # Errors
    /// [`QueueError`] if a published event could not be deleted: it is published again.
    pub async fn tell_assignments(
        &self,
        teller: &dyn Teller,
        assignments: &[Assignment],
    ) -> Result<Told, QueueError> {
        let notices: Vec<_> = assignments
            .iter()
            .map(|assignment| Notice {
                at: assignment.assigned_at,
                news: News::Assigned(assignment.clone()),
            })
            .collect();
        self.tell(teller, &notices).await
    }

    /// Publishes, and deletes published events.
    pub(crate) async fn tell(
        &self,
        teller: &dyn Teller,
        notices: &[Notice],
    ) -> Result<Told, QueueError> {
        if notices.is_empty() {
            return Ok(Told::default());
        }
        let news: Vec<_> = notices.iter().map(|notice| notice.news.clone()).collect();
        let answers = teller.tell(&news).await;
        let mut told = Told::default();
        let mut done = vec![];
        for (notice, answer) in notices.iter().zip(answers) {
            match (answer, &notice.news) {
                (Ok(()), News::Assigned(made)) => {
                    tracing::info!(
                        agent = %made.agent_id,
                        call = %made.call_id,
                        criteria = %made.criteria,
                        "assignment published"
                    );
                    told.published += 1;
                }
                (Ok(()), News::Expired(_)) => {
                    let call = notice.news.call_id();
                    tracing::warn!(%call, "expired call sent to the dead-letter queue");
                    told.dead_lettered += 1;
                }
                (Err(error), _) => {
                    tracing::warn!(%error, "not told");
                    told.failed += 1;
                    continue;
                }
            }
            done.push(notice.clone());
        }
        self.store.told(&done).await?;
        Ok(told)
    }
}

/// An error and its causes on one line.
pub(crate) fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}
