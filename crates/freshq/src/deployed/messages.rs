//! Reads the settings of topics, subscriptions and queues, and the messages of a queue.

use aws_sdk_sqs::types::{self, MessageSystemAttributeName, QueueAttributeName};
use serde_json::{Map, Value, json};

use super::Message;
use super::aws::{AwsStack, failed, found};
use crate::failure::Failure;

/// Seconds for which messages are invisible while one of them is looked for.
const HIDDEN: i32 = 20;

/// Maximum number of receives to find a message: 200 messages.
const ROUNDS: usize = 20;

impl AwsStack {
    pub(super) async fn topic(&self, arn: &str) -> Result<Option<Value>, Failure> {
        let read = self.sns.get_topic_attributes().topic_arn(arn).send().await;
        let read = found("GetTopicAttributes", read)?;
        Ok(read.map(|read| attributes(read.attributes().into_iter().flatten())))
    }

    pub(super) async fn subscription(&self, arn: &str) -> Result<Option<Value>, Failure> {
        let read = self.sns.get_subscription_attributes().subscription_arn(arn);
        let read = found("GetSubscriptionAttributes", read.send().await)?;
        Ok(read.map(|read| attributes(read.attributes().into_iter().flatten())))
    }

    /// The attributes of a queue by their SQS names, among them the number of messages.
    pub(super) async fn queue(&self, url: &str) -> Result<Option<Value>, Failure> {
        let read = self.sqs.get_queue_attributes().queue_url(url);
        let read = read.attribute_names(QueueAttributeName::All).send().await;
        let read = found("GetQueueAttributes", read)?;
        Ok(read.map(|read| {
            let named = read.attributes().into_iter().flatten();
            attributes(named.map(|(name, value)| (name.as_str(), value)))
        }))
    }

    pub(super) async fn received(&self, queue: &str) -> Result<Vec<Message>, Failure> {
        let read = self.sqs.receive_message().queue_url(queue);
        let read = read
            .max_number_of_messages(Message::MOST)
            .visibility_timeout(0)
            // Only a long poll queries all servers of a queue.
            .wait_time_seconds(1)
            .message_attribute_names("All")
            .message_system_attribute_names(MessageSystemAttributeName::SentTimestamp);
        let read = found("ReceiveMessage", read.send().await)?;
        let messages = read.and_then(|read| read.messages).unwrap_or_default();
        Ok(messages.into_iter().map(Message::from).collect())
    }

    /// Receives messages until the wanted one is among them, and deletes it. SQS has no operation by
    /// message id. The others are invisible for [`HIDDEN`] seconds.
    pub(super) async fn deleted(&self, queue: &str, id: &str) -> Result<bool, Failure> {
        for _ in 0..ROUNDS {
            let read = self.sqs.receive_message().queue_url(queue);
            let read = read
                .max_number_of_messages(Message::MOST)
                .visibility_timeout(HIDDEN)
                .wait_time_seconds(1);
            let read = found("ReceiveMessage", read.send().await)?;
            let messages = read.and_then(|read| read.messages).unwrap_or_default();
            if messages.is_empty() {
                return Ok(false);
            }
            let is_it = |message: &&types::Message| message.message_id() == Some(id);
            let handle = messages.iter().find(is_it);
            if let Some(handle) = handle.and_then(types::Message::receipt_handle) {
                let delete = self.sqs.delete_message().queue_url(queue);
                let deleted = delete.receipt_handle(handle).send().await;
                deleted.map_err(|error| failed("DeleteMessage", error))?;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Attributes by their names. A value that is a JSON object is parsed.
fn attributes<N: ToString, V: AsRef<str>>(all: impl Iterator<Item = (N, V)>) -> Value {
    let read = |text: &str| match text.starts_with('{') {
        true => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        false => json!(text),
    };
    let named = all.map(|(name, value)| (name.to_string(), read(value.as_ref())));
    Value::Object(named.collect::<Map<_, _>>())
}
