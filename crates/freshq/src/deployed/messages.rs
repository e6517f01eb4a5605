//! The settings of topics and queues.

use aws_sdk_sqs::types::QueueAttributeName;
use serde_json::{Map, Value, json};

use super::aws::{AwsStack, found};
use crate::failure::Failure;

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

    /// Also the number of its messages, under the name that SQS gives it.
    pub(super) async fn queue(&self, url: &str) -> Result<Option<Value>, Failure> {
        let read = self.sqs.get_queue_attributes().queue_url(url);
        let read = read.attribute_names(QueueAttributeName::All).send().await;
        let read = found("GetQueueAttributes", read)?;
        Ok(read.map(|read| {
            let named = read.attributes().into_iter().flatten();
            attributes(named.map(|(name, value)| (name.as_str(), value)))
        }))
    }
}

/// Attributes by their names; those that are JSON as such.
fn attributes<N: ToString, V: AsRef<str>>(all: impl Iterator<Item = (N, V)>) -> Value {
    let read = |text: &str| match text.starts_with('{') {
        true => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        false => json!(text),
    };
    let named = all.map(|(name, value)| (name.to_string(), read(value.as_ref())));
    Value::Object(named.collect::<Map<_, _>>())
}
