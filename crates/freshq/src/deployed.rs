//! A deployed stack, with its template and the current settings of its resources.

mod aws;
mod compare;
mod functions;
mod message;
mod messages;
mod table;
mod template;
mod transaction;

use async_trait::async_trait;
use serde_json::Value;

pub(crate) use self::aws::AwsStack;
pub(crate) use self::message::Message;
pub(crate) use self::table::MISSPELLED;
pub(crate) use self::template::{Kind, Resource, Stack};
use crate::failure::Failure;

#[async_trait]
pub(crate) trait Deployed: Send + Sync {
    /// Reads the stack, with the resources of its template.
    async fn stack(&self) -> Result<Stack, Failure>;

    /// Reads a resource's current settings, named as in templates; `None` if it does not exist.
    ///
    /// # Errors
    /// [`Failure`]: the service did not respond, or a local AWS does not support the resource.
    async fn now(&self, kind: Kind, id: &str) -> Result<Option<Value>, Failure>;

    /// Reads up to [`Message::MOST`] messages from a queue. The messages stay visible.
    async fn messages(&self, queue: &str) -> Result<Vec<Message>, Failure>;

    /// Receives the message with this id, so that it can be deleted; `None` if it was not found.
    async fn message(&self, queue: &str, id: &str) -> Result<Option<Message>, Failure>;

    /// Deletes a message that [`message`](Self::message) returned.
    ///
    /// # Errors
    /// [`Failure`]: SQS did not respond; the message may or may not be deleted.
    async fn delete_message(&self, queue: &str, message: &Message) -> Result<(), Failure>;

    /// Sends a message with the same body, attributes and group to a queue.
    ///
    /// # Errors
    /// [`Failure`]: SQS did not respond; the message may or may not be sent.
    async fn send_message(&self, queue: &str, message: &Message) -> Result<(), Failure>;

    /// Invokes a function asynchronously with an event, a JSON text.
    ///
    /// # Errors
    /// [`Failure`]: Lambda did not respond; the function may or may not be invoked.
    async fn invoke(&self, function: &str, event: &str) -> Result<(), Failure>;

    /// Returns which of these alarms fire, with the AWS CLI, because the Cloud Control API does not
    /// return their states.
    ///
    /// # Errors
    /// [`Failure`]: a local AWS, no AWS CLI, or CloudWatch did not respond.
    async fn firing(&self, alarms: &[&str]) -> Result<Vec<String>, Failure>;

    /// Cancels a transaction on an item of its own in a table, and repeats it with the same token
    /// after its condition became true. Returns whether the repetition succeeds.
    ///
    /// # Errors
    /// [`Failure`]: DynamoDB did not respond; it deletes the item within days.
    async fn repeats_cancelled_transaction(&self, table: &str) -> Result<bool, Failure>;
}
