//! Reads the settings of topics, subscriptions and queues, and the messages of a queue.

use aws_sdk_sqs::types::{MessageAttributeValue, MessageSystemAttributeName, QueueAttributeName};
use serde_json::{Map, Value, json};

use super::Message;
use super::aws::{AwsStack, failed, found};
use crate::failure::Result;

/// Time in seconds for which messages are invisible during the search for one of them.
const HIDDEN: i32 = 20;

/// Maximum number of receive requests to find a message, for 200 messages in total.
const ROUNDS: usize = 20;

impl AwsStack {
    pub(super) async fn topic(&self, arn: &str) -> Result<Option<Value>> {
        let read = self.sns.get_topic_attributes().topic_arn(arn).send().await;
        let read = found("GetTopicAttributes", read)?;
        Ok(read.map(|read| attributes(read.attributes().into_iter().flatten())))
    }

    pub(super) async fn subscription(&self, arn: &str) -> Result<Option<Value>> {
        let read = self.sns.get_subscription_attributes().subscription_arn(arn);
        let read = found("GetSubscriptionAttributes", read.send().await)?;
        Ok(read.map(|read| attributes(read.attributes().into_iter().flatten())))
    }

    /// Reads the attributes of a queue by their SQS names, including the number of messages.
    pub(super) async fn queue(&self, url: &str) -> Result<Option<Value>> {
        let read = self.sqs.get_queue_attributes().queue_url(url);
        let read = read.attribute_names(QueueAttributeName::All).send().await;
        let read = found("GetQueueAttributes", read)?;
        Ok(read.map(|read| {
            let named = read.attributes().into_iter().flatten();
            attributes(named.map(|(name, value)| (name.as_str(), value)))
        }))
    }

    /// Receives messages until they include the requested one, because SQS cannot look up a message
    /// by id. The other messages stay invisible for [`HIDDEN`] seconds.
    pub(super) async fn one(&self, queue: &str, id: &str) -> Result<Option<Message>> {
        for _ in 0..ROUNDS {
            let messages = self.receive(queue, HIDDEN).await?;
            if messages.is_empty() {
                return Ok(None);
            }
            let found = messages.into_iter().find(|message| message.id == id);
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Receives messages and hides them from other receivers for `hidden` seconds.
    pub(super) async fn receive(&self, queue: &str, hidden: i32) -> Result<Vec<Message>> {
        let read = self.sqs.receive_message().queue_url(queue);
        let read = read
            .max_number_of_messages(Message::MOST)
            .visibility_timeout(hidden)
            // Only a long poll queries all servers of a queue.
            .wait_time_seconds(1)
            .message_attribute_names("All")
            .message_system_attribute_names(MessageSystemAttributeName::All);
        let read = found("ReceiveMessage", read.send().await)?;
        let messages = read.and_then(|read| read.messages).unwrap_or_default();
        Ok(messages.into_iter().map(Message::from).collect())
    }

    pub(super) async fn send(&self, queue: &str, message: &Message) -> Result<()> {
        let mut send = self.sqs.send_message().queue_url(queue);
        send = send.message_body(&message.body);
        for (name, value) in &message.attributes {
            let value = MessageAttributeValue::builder().string_value(value);
            let value = value.data_type("String").build();
            let value = value.map_err(|error| failed("SendMessage", error))?;
            send = send.message_attributes(name, value);
        }
        send = send
            .set_message_group_id(message.group.clone())
            .set_message_deduplication_id(message.deduplication.clone());
        let sent = send.send().await;
        sent.map_err(|error| failed("SendMessage", error))?;
        Ok(())
    }
}

/// Collects attributes by name. Parses values that are JSON objects.
fn attributes<N: ToString, V: AsRef<str>>(all: impl Iterator<Item = (N, V)>) -> Value {
    let read = |text: &str| match text.starts_with('{') {
        true => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        false => json!(text),
    };
    let named = all.map(|(name, value)| (name.to_string(), read(value.as_ref())));
    Value::Object(named.collect::<Map<_, _>>())
}
