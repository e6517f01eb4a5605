//! `freshq resume`: ends any pause, and wakes the queue.

use async_trait::async_trait;
use clap::Args;

use super::wake::WakeUp;
use super::{VerbOnQueue, pause};
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
        let control = queue.store.control().await?;
        let ended = pause::stands(&control, queue.clock.now());
        let wake = queue.operator.resume().await?;
        Ok(Box::new(WakeUp {
            resumed: true,
            ended: ended.filter(|_| control.is_paused(queue.clock.now())),
            wake,
        }))
    }
}
