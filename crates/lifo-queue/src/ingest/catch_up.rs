//! Receives messages directly from SQS while the queue has a backlog.
//!
//! SQS delivers messages roughly in the order of arrival, and AWS does not publish how many
//! messages per second Lambda's pollers receive by default. In a backlog, new messages wait behind
//! old ones, which [backpressure](super::backpressure) cannot postpone before something receives
//! them. Therefore, an invocation whose batch contains *late* messages, which are old at their
//! first receive, calls ReceiveMessage itself after that batch, until the queue is nearly empty:
//!
//! - Each round makes several requests for ten messages at the same time. While there is a backlog
//!   and no new message among them, the invocation keeps the messages and receives further ones.
//! - Then it writes the new messages, or the newest if none is new, and receives again. So new
//!   messages overtake old ones in the memory of the function, where they have not been written yet.
//!   If it keeps too many, it postpones the oldest, as if the table had throttled them.
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

use super::backpressure::{is_late, is_new};
use super::{Deadlines, Delivery, Ingest, IngestReport};

/// Number of concurrent receive requests. Ten messages of 1 MiB per response fit into the memory
/// of a function with 256 MB.
const RECEIVES: usize = 8;
/// Number of messages, and bytes of their bodies, from which on an invocation postpones the oldest
/// of what it keeps.
const KEPT: usize = 1_000;
const KEPT_BYTES: usize = 16 * 1024 * 1024;
/// Minimum number of messages that it writes at a time, beside all new ones. It is small, so that it
/// soon receives new ones.
const WRITTEN: usize = 2 * MAX_MESSAGES;
/// Maximum number of the oldest messages that it postpones if it keeps too many: as many as it then
/// receives, less those that it writes.
const EXCESS: usize = RECEIVES * MAX_MESSAGES - WRITTEN;
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
        let (mut kept, mut receives) = (vec![], 1);
        while Instant::now() + ROUND < deadlines.writes {
            let round = self.receive(receives, deadlines).await;
            let is_backlog = 2 * round.len() >= receives * MAX_MESSAGES;
            receives = if is_backlog { RECEIVES } else { 1 };
            kept.extend(round);
            let new = kept.iter().filter(|message| is_new(message)).count();
            let is_full = is_full(&kept);
            if is_backlog && new == 0 && !is_full {
                continue;
            }
            kept.sort_by_key(|message: &Delivery| message.sent);
            let newest = kept.split_off(kept.len().saturating_sub(new.max(WRITTEN)));
            if newest.is_empty() {
                return;
            }
            let report = self.work(&newest, deadlines).await;
            count(&report);
            let deleted = self.deleted(&newest, &report, deadlines).await;
            if !deleted || (kept.is_empty() && !is_backlog) {
                break;
            }
            if is_full {
                let oldest: Vec<_> = kept.drain(..EXCESS.min(kept.len())).collect();
                count(&self.return_kept(&oldest, true, deadlines).await);
            }
        }
        if !kept.is_empty() {
            count(&self.return_kept(&kept, false, deadlines).await);
        }
    }

    /// Returns messages to the queue that were not written: for as long as throttled ones if newer
    /// messages come first, and otherwise for as long as failed ones.
    async fn return_kept(
        &self,
        kept: &[Delivery],
        newer_first: bool,
        deadlines: Deadlines,
    ) -> IngestReport {
        let left: Vec<_> = kept.iter().map(|message| (message, newer_first)).collect();
        self.postpone_in_time(&left, deadlines).await;
        IngestReport {
            messages: kept.len(),
            postponed: if newer_first { kept.len() as u64 } else { 0 },
            returned: kept.iter().map(|message| message.id.clone()).collect(),
            ..IngestReport::default()
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

    /// Deletes the messages that were processed. Returns `false` if no deletion succeeded. SQS rejects
    /// the deletion of single messages, for example if it delivered them again in the meantime.
    async fn deleted(&self, batch: &[Delivery], report: &IngestReport, limits: Deadlines) -> bool {
        let done = |message: &&Delivery| !report.returned.contains(&message.id);
        let done = batch.iter().filter(done);
        let receipts: Vec<_> = done.map(|message| message.receipt.clone()).collect();
        let failed = timeout_at(limits.report, self.queue.delete(&receipts)).await;
        let late = |_| {
            receipts
                .iter()
                .map(|_| "no response in time".into())
                .collect()
        };
        let failed = failed.unwrap_or_else(late);
        if let Some(error) = failed.first() {
            tracing::error!(
                error = error_chain::chain(&**error),
                "messages not deleted; SQS redelivers them, and their tasks are counted again"
            );
        }
        receipts.is_empty() || failed.len() < receipts.len()
    }
}

fn is_full(kept: &[Delivery]) -> bool {
    let bytes: usize = kept.iter().map(|message| message.body.len()).sum();
    kept.len() >= KEPT || bytes >= KEPT_BYTES
}
