//! Publishes the assignments of groups that end at nearly the same time with one request.

use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, timeout_at};

use super::Intake;
use crate::call::Assignment;
use crate::publish::Published;

/// How long the first assignments wait for those of other groups. The wait ends early when every
/// group has ended.
pub(super) const JOINED: Duration = Duration::from_millis(5);

/// Passes the assignments of a group to the publisher. Publishing ends when the last `Made` is
/// dropped.
#[derive(Clone)]
pub(super) struct Made(UnboundedSender<Vec<Assignment>>);

impl Made {
    /// Passes on the assignments of a group.
    pub(super) fn publish(self, assignments: Vec<Assignment>) {
        if !assignments.is_empty() && self.0.send(assignments).is_err() {
            tracing::warn!("publishing has ended; the sweep publishes a group's assignments");
        }
    }
}

impl Intake {
    /// Publishes until every group has ended, at most until `end`.
    pub(super) fn publishing(&self, end: Instant) -> (Made, impl Future<Output = Published>) {
        let (made, groups) = unbounded_channel();
        (Made(made), self.publish(groups, end))
    }

    async fn publish(
        &self,
        mut groups: UnboundedReceiver<Vec<Assignment>>,
        end: Instant,
    ) -> Published {
        let mut published = Published::default();
        while let Some(mut assignments) = groups.recv().await {
            let joined = Instant::now() + JOINED;
            while let Ok(Some(more)) = timeout_at(joined, groups.recv()).await {
                assignments.extend(more);
            }
            let publishing = self
                .queue
                .publish_assignments(&*self.publisher, &assignments);
            match timeout_at(end, publishing).await {
                Ok(Ok(more)) => published += more,
                // The assignments are valid, and redelivered messages would not publish them.
                Ok(Err(error)) => tracing::warn!(
                    %error,
                    "outbox entries not deleted; the sweep publishes the assignments again"
                ),
                Err(error) => tracing::warn!(
                    %error,
                    "publishing timed out; the sweep publishes the assignments"
                ),
            }
        }
        published
    }
}
