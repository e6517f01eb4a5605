//! Sends a batch's shed and invalid tasks to their queues.

use aws::error_chain;

use super::{Ingest, Open, message};

impl Ingest {
    /// Sends the shed tasks of messages without a failed part to the sink, without counting them.
    pub(super) async fn hand_over(&self, open: &mut [Open<'_>]) {
        let (mut owners, mut tasks) = (vec![], vec![]);
        for (index, message) in open.iter().enumerate().filter(|(_, open)| !open.left) {
            owners.resize(owners.len() + message.shed.len(), index);
            tasks.extend_from_slice(&message.shed);
        }
        let failed = self.shed.hand_over(&tasks).await;
        // The sink stops at the first task that fails.
        let first = failed.iter().map(|task| task.index).min();
        for owner in owners.drain(first.unwrap_or(tasks.len())..) {
            open[owner].left = true;
        }
    }

    /// Sends invalid tasks to the dead-letter queue; returns their number.
    pub(super) async fn bury(&self, open: &mut [Open<'_>]) -> u64 {
        let mut rejected = 0;
        let wrong = |open: &Open<'_>| !open.left && !open.wrong.is_empty();
        let (owners, letters): (Vec<_>, Vec<_>) = open
            .iter()
            .enumerate()
            .filter(|(_, open)| wrong(open))
            .map(|(index, open)| (index, message::dead_letter(open.delivery, &open.wrong)))
            .unzip();
        let results = self.queue.bury(&letters).await;
        for ((owner, letter), result) in owners.into_iter().zip(letters).zip(results) {
            let (message_id, reason) = (letter.message_id, letter.reason);
            match result {
                Ok(()) => {
                    tracing::warn!(
                        message_id,
                        reason,
                        "invalid tasks sent to the dead-letter queue"
                    );
                    rejected += open[owner].wrong.len() as u64;
                }
                Err(error) => {
                    let error = error_chain::chain(&*error);
                    tracing::error!(
                        message_id,
                        reason,
                        error,
                        "invalid tasks not sent to the dead-letter queue; SQS redelivers them"
                    );
                    open[owner].left = true;
                }
            }
        }
        rejected
    }
}
