//! The messages of SQS queues.

use std::collections::BTreeMap;

use aws_sdk_sqs::types::{self, MessageSystemAttributeName};
use lifo_queue::time::Millis;
use serde_json::Value;

/// Names of attributes in which a function or a service explains why a message is in its queue.
const REASONS: [&str; 3] = ["reason", "ErrorMessage", "ERROR_MESSAGE"];

/// Fields that Lambda and AWS IoT add to the body of a failed event: display name and JSON pointer.
const CAUSES: [(&str, &str); 3] = [
    ("condition", "/requestContext/condition"),
    ("error", "/responsePayload/errorMessage"),
    ("error", "/failures/0/errorMessage"),
];

#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    pub(crate) id: String,
    /// Time at which the message was sent to this queue, as SQS reports it.
    pub(crate) sent: Option<Millis>,
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) body: String,
    /// The message group id; `None` in a standard queue.
    pub(crate) group: Option<String>,
    /// The deduplication id; `None` in a standard queue.
    pub(crate) deduplication: Option<String>,
    pub(crate) receipt: String,
}

impl Message {
    /// Maximum number of messages that SQS returns in one response.
    pub(crate) const MOST: i32 = 10;

    /// Returns the causes that Lambda or AWS IoT added to the body, by name, most specific last.
    pub(crate) fn causes(&self) -> Vec<(String, String)> {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_default();
        let causes = CAUSES.iter().filter_map(|(name, path)| {
            let cause = body.pointer(path)?.as_str()?;
            Some(((*name).to_owned(), cause.to_owned()))
        });
        causes.collect()
    }

    /// Returns the reason why the message is in its queue; `None` if SQS moved it there.
    pub(crate) fn error(&self) -> Option<String> {
        let reason = REASONS.iter().find_map(|name| self.attributes.get(*name));
        let cause = || self.causes().pop().map(|(_, cause)| cause);
        reason.cloned().or_else(cause)
    }
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
