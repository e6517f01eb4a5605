//! Assignments to the topic, expired calls to the dead-letter queue: at least once.
//!
//! What is to be told is written in the very transaction that makes it so, and deleted after it
//! was told. Whoever dies in between leaves it for the sweep; so it may be told twice, and
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

/// What was told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Assignments published.
    pub published: u32,
    /// Calls put into the dead-letter queue.
    pub dead_lettered: u32,
    /// What is left to be told.
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
    /// Publishes assignments that were just made, and forgets that they were to be told. What
    /// fails is told by the sweep: the assignments stand in any case.
    ///
    /// # Errors
    /// [`QueueError`] if what was told could not be forgotten: it is told again.
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

    /// Tells, and forgets what was told.
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
                (Ok(()), News::Assigned(_)) => told.published += 1,
                (Ok(()), News::Expired(_)) => told.dead_lettered += 1,
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
