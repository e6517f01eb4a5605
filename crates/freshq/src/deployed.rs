//! A deployed stack: its template, and its resources as they are now.

mod aws;
mod functions;
mod message;
mod messages;
mod table;
mod template;

use async_trait::async_trait;
use serde_json::Value;

pub(crate) use self::aws::AwsStack;
pub(crate) use self::message::Message;
pub(crate) use self::template::{Kind, Resource, Stack};
use crate::failure::Failure;

/// Reads a deployed stack.
#[async_trait]
pub(crate) trait Deployed: Send + Sync {
    /// The stack with the resources of its template.
    ///
    /// # Errors
    /// [`Failure`]: CloudFormation did not answer.
    async fn stack(&self) -> Result<Stack, Failure>;

    /// What AWS says of a resource now, spelt as in a template; `None` if it does not exist.
    ///
    /// # Errors
    /// [`Failure`]: its service did not answer.
    async fn now(&self, kind: Kind, id: &str) -> Result<Option<Value>, Failure>;

    /// Some messages of a queue, at most [`Message::MOST`]; they stay in the queue, and visible.
    ///
    /// # Errors
    /// [`Failure`]: SQS did not answer.
    async fn messages(&self, queue: &str) -> Result<Vec<Message>, Failure>;
}
