//! `freshq resume`: ends any pause, and wakes the queue.

use async_trait::async_trait;
use clap::Args;

use super::VerbOnQueue;
use super::wake::WakeUp;
use crate::confirm::Prompt;
use crate::failure::Failure;
use crate::queue::Queue;
use crate::report::Report;

/// Ends any pause, and wakes the queue.
#[derive(Debug, Args)]
pub(crate) struct Resume {}

#[async_trait]
impl VerbOnQueue for Resume {
    async fn run(&self, queue: &Queue, _: &mut dyn Prompt) -> Result<Box<dyn Report>, Failure> {
        let wake = queue.operator.resume().await?;
        Ok(Box::new(WakeUp {
            resumed: true,
            wake,
        }))
    }
}
