//! The messages of SQS queues.

use std::collections::BTreeMap;

use aws_sdk_sqs::types::{self, MessageSystemAttributeName};
use lifo_queue::time::Millis;

#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    pub(crate) id: String,
    /// Time at which the message was sent to this queue, as SQS reports it.
    pub(crate) sent: Option<Millis>,
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) body: String,
    /// The message group; `None` in a standard queue.
    pub(crate) group: Option<String>,
    /// The deduplication id; `None` in a standard queue.
    pub(crate) deduplication: Option<String>,
    pub(crate) receipt: String,
}

impl Message {
    /// Maximum number of messages that SQS returns at once.
    pub(crate) const MOST: i32 = 10;
}

impl From<types::Message> for Message {
    fn from(message: types::Message) -> Self {
        let system = |name| message.attributes()?.get(&name).cloned();
        let sent = system(MessageSystemAttributeName::SentTimestamp);
        let sent = sent.and_then(|text| text.parse().ok());
        let group = system(MessageSystemAttributeName::MessageGroupId);
        let deduplication = system(MessageSystemAttributeName::MessageDeduplicationId);
        let attributes = message.message_attributes.unwrap_or_default().into_iter();
        let text = |value: &types::MessageAttributeValue| {
            value.string_value().unwrap_or("(binary)").to_owned()
        };
        Self {
            id: message.message_id.unwrap_or_default(),
            sent: sent.map(Millis),
            attributes: attributes
                .map(|(name, value)| (name, text(&value)))
                .collect(),
            body: message.body.unwrap_or_default(),
            group,
            deduplication,
            receipt: message.receipt_handle.unwrap_or_default(),
        }
    }
}
