//! The call queue on Amazon SQS. It makes unfinished messages visible again with
//! `ChangeMessageVisibilityBatch`, ten at a time, the limit of that request.

use std::time::Duration;

use async_trait::async_trait;
use aws::{batch, error_chain};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::ChangeMessageVisibilityBatchRequestEntry;

use super::batch::{CallQueue, Delivery};

#[derive(Clone, Debug)]
pub struct SqsCallQueue {
    client: Client,
    url: String,
}

impl SqsCallQueue {
    pub fn new(client: Client, url: impl Into<String>) -> Self {
        let url = url.into();
        Self { client, url }
    }

    async fn change(&self, messages: &[&Delivery], after: Duration) -> Result<(), String> {
        let seconds = i32::try_from(after.as_secs()).unwrap_or(i32::MAX);
        let entries = messages.iter().enumerate().map(|(index, message)| {
            ChangeMessageVisibilityBatchRequestEntry::builder()
                .id(index.to_string())
                .receipt_handle(&message.receipt)
                .visibility_timeout(seconds)
                .build()
                .map_err(|error| error.to_string())
        });
        let entries = entries.collect::<Result<Vec<_>, _>>()?;
        let request = self.client.change_message_visibility_batch();
        let request = request.queue_url(&self.url).set_entries(Some(entries));
        let response = request.send().await.map_err(|e| error_chain::chain(&e))?;
        let changed = response.successful().iter().map(|entry| entry.id());
        let outcomes = batch::outcomes(messages.len(), changed, response.failed());
        let failed: Vec<_> = outcomes.into_iter().filter_map(Result::err).collect();
        match failed.first() {
            None => Ok(()),
            Some(first) => Err(format!(
                "{} of {} messages: {first}",
                failed.len(),
                messages.len()
            )),
        }
    }
}

#[async_trait]
impl CallQueue for SqsCallQueue {
    async fn show_again(&self, messages: &[&Delivery], after: Duration) -> Result<(), String> {
        let mut result = Ok(());
        for batch in messages.chunks(batch::MAX_MESSAGES) {
            result = result.and(self.change(batch, after).await);
        }
        result
    }
}
