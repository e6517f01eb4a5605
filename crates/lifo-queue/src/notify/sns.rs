//! Notifications through Amazon SNS.

use async_trait::async_trait;
use aws_sdk_sns::Client;

use super::{Notification, Notifier, NotifyError};

/// Publishes to the queue's two topics. Only a function that publishes tail calls requires
/// TriggerTopic.
#[derive(Clone, Debug)]
pub struct SnsNotifier {
    client: Client,
    process_tasks_topic: String,
    trigger_topic: Option<String>,
}

impl SnsNotifier {
    /// Creates a notifier for the topics with these ARNs. Only tail calls require `trigger_topic`.
    pub fn new(client: Client, process_tasks_topic: String, trigger_topic: Option<String>) -> Self {
        Self {
            client,
            process_tasks_topic,
            trigger_topic,
        }
    }

    async fn publish(&self, topic: &str, notification: &Notification) -> Result<(), NotifyError> {
        let failed = |source| NotifyError {
            topic: topic.to_owned(),
            source,
        };
        let body = serde_json::to_string(notification).map_err(|error| failed(error.into()))?;
        let published = self
            .client
            .publish()
            .topic_arn(topic)
            .message(body)
            .send()
            .await;
        published.map(drop).map_err(|error| failed(error.into()))
    }
}

#[async_trait]
impl Notifier for SnsNotifier {
    async fn wake_processor(&self, notification: &Notification) -> Result<(), NotifyError> {
        self.publish(&self.process_tasks_topic, notification).await
    }

    async fn tail_call(&self, notification: &Notification) -> Result<(), NotifyError> {
        match &self.trigger_topic {
            Some(topic) => self.publish(topic, notification).await,
            None => Err(NotifyError {
                topic: "TriggerTopic".to_owned(),
                source: "this notifier was built without a TriggerTopic".into(),
            }),
        }
    }
}
