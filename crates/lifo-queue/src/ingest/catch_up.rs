//! Receives messages directly from SQS while the queue has a backlog.
//!
//! SQS delivers messages roughly in the order of arrival, and AWS does not publish how many
//! messages per second Lambda's pollers receive by default. In a backlog, new messages wait behind
//! old ones, which [backpressure](super::backpressure) cannot postpone before something receives
//! them. Therefore, an invocation whose batch contains *late* messages, which are old at their
//! first receive, calls ReceiveMessage itself after that batch, until the queue is nearly empty:
//!
//! - Each round makes several requests for ten messages at the same time. The new messages of a
//!   round are written first. Old ones are written for [`OLD_WRITES`] and then postponed.
//! - A backlog of postponed messages that become visible again is received as well, because new
//!   messages would wait behind it. It does not make an invocation start.
//! - The tasks of a round are counted before its messages are deleted. If the process dies in
//!   between, SQS redelivers the messages, and their shed tasks are created or counted again.
//! - SQS hides a received message a few seconds longer than the invocation can last. Then it
//!   redelivers the messages that the process neither deleted nor postponed.

use std::time::Duration;

use aws::batch::MAX_MESSAGES;
use aws::error_chain;
use futures::StreamExt;
use futures::stream::iter;
use tokio::time::{Instant, timeout_at};

use super::backpressure::is_late;
use super::{Deadlines, Delivery, Ingest, IngestReport};

/// Number of concurrent receive requests. Ten messages of 1 MiB per response fit into the memory
/// of a function with 256 MB.
const RECEIVES: usize = 8;
/// Time for which a round writes old messages, so that it soon reaches new ones.
const OLD_WRITES: Duration = Duration::from_millis(100);
/// Minimum time before the deadline of the writes in which a round starts.
const ROUND: Duration = Duration::from_secs(2);
/// Time from the report to the end of the invocation, and five seconds.
const HIDDEN_LONGER: Duration = Duration::from_secs(6);

impl Ingest {
    /// Receives and processes messages until the queue has no backlog or the deadline is near, if
    /// the invocation's `batch` contains a late message. Passes the report of each round to
    /// `count` before the round's messages are deleted.
    ///
    /// `first` is the report of the batch, which the caller must already have counted.
    pub async fn catch_up(
        &self,
        batch: &[Delivery],
        first: &IngestReport,
        deadlines: Deadlines,
        count: impl Fn(&IngestReport),
    ) {
        // Lambda deletes the batch only after the response. If the process died before, SQS would
        // redeliver the whole batch.
        if !batch.iter().any(is_late) || !self.deleted(batch, first, deadlines).await {
            return;
        }
        let mut receives = 1;
        while Instant::now() + ROUND < deadlines.writes {
            let round = self.receive(receives, deadlines).await;
            if round.is_empty() {
                return;
            }
            let old_until = Instant::now() + OLD_WRITES;
            let report = self.process(&round, deadlines, old_until).await;
            count(&report);
            let deleted = self.deleted(&round, &report, deadlines).await;
            let is_backlog = 2 * round.len() >= receives * MAX_MESSAGES;
            if !deleted || !is_backlog {
                return;
            }
            receives = RECEIVES;
        }
    }

    async fn receive(&self, requests: usize, deadlines: Deadlines) -> Vec<Delivery> {
        let left = deadlines.report.duration_since(Instant::now());
        let requests = (0..requests).map(|_| self.queue.receive(left + HIDDEN_LONGER));
        let responses = iter(requests).buffer_unordered(RECEIVES);
        let responses = responses.take_until(tokio::time::sleep_until(deadlines.writes));
        let mut received = vec![];
        for response in responses.collect::<Vec<_>>().await {
            match response {
                Ok(messages) => received.extend(messages),
                Err(error) => {
                    let error = error_chain::chain(&*error);
                    tracing::warn!(
                        error,
                        "messages not received; Lambda's pollers receive them"
                    );
                }
            }
        }
        received
    }

    /// Deletes the messages that were processed. Returns whether all of them were deleted.
    async fn deleted(&self, batch: &[Delivery], report: &IngestReport, limits: Deadlines) -> bool {
        let done = |message: &&Delivery| !report.returned.contains(&message.id);
        let done = batch.iter().filter(done);
        let receipts: Vec<_> = done.map(|message| message.receipt.clone()).collect();
        let failed = timeout_at(limits.report, self.queue.delete(&receipts)).await;
        let error = match failed {
            Ok(failed) => failed.first().map(|error| error_chain::chain(&**error)),
            Err(_) => Some("no response in time".to_owned()),
        };
        if let Some(error) = &error {
            tracing::error!(
                error,
                "messages not deleted; SQS redelivers them, and their tasks are counted again"
            );
        }
        error.is_none()
    }
}
