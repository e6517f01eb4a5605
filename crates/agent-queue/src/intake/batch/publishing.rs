//! Publishes assignments made within a few milliseconds of each other in one request.

use std::time::Duration;

use futures::stream::{StreamExt, unfold};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, timeout_at};

use super::Intake;
use crate::call::Assignment;
use crate::publish::Published;

/// Time for which the first assignments wait for others, unless all groups end earlier.
pub(super) const JOINED: Duration = Duration::from_millis(5);

/// Maximum number of concurrent requests, so that a slow request does not delay the next ones.
const AT_ONCE: usize = 8;

impl Intake {
    /// Publishes assignments until their sender is dropped. No request lasts beyond `end`. Returns
    /// the number of assignments and the counts of published events.
    pub(super) async fn publish(
        &self,
        made: UnboundedReceiver<Vec<Assignment>>,
        end: Instant,
    ) -> (u32, Published) {
        let together = unfold(made, |mut made| async move {
            let mut assignments = made.recv().await?;
            let joined = Instant::now() + JOINED;
            while let Ok(Some(more)) = timeout_at(joined, made.recv()).await {
                assignments.extend(more);
            }
            Some((assignments, made))
        });
        let published: Vec<_> = together
            .map(|assignments| self.publish_in_time(assignments, end))
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        let mut sum = (0, Published::default());
        for (made, published) in published {
            sum.0 += made;
            sum.1 += published;
        }
        sum
    }

    async fn publish_in_time(&self, made: Vec<Assignment>, end: Instant) -> (u32, Published) {
        let publishing = self.queue.publish_assignments(&*self.publisher, &made);
        let published = match timeout_at(end, publishing).await {
            Ok(Ok(published)) => published,
            // Only warn, because the assignments are valid and a redelivery would not publish them.
            Ok(Err(error)) => {
                tracing::warn!(
                    %error,
                    "outbox entries not deleted; the sweep publishes the assignments again"
                );
                Published::default()
            }
            Err(error) => {
                tracing::warn!(%error, "publishing timed out; the sweep publishes the assignments");
                Published::default()
            }
        };
        (u32::try_from(made.len()).unwrap_or(u32::MAX), published)
    }
}
