//! `freshq resume`: ends any pause and wakes the queue.

use async_trait::async_trait;
use clap::Args;
use lifo_queue::control::GroupChange;
use lifo_queue::task::GroupName;
use serde_json::json;

use super::{VerbOnQueue, group_name, groups, pause, wake};
use crate::confirm::Prompt;
use crate::failure::Result;
use crate::queue::Queue;
use crate::report::Report;

/// Ends any pause of the queue, or with --group the pause of one group, and wakes the queue.
#[derive(Debug, Default, Args)]
pub(crate) struct Resume {
    /// Ends only the pause of this group
    #[arg(long, value_parser = group_name)]
    pub(crate) group: Option<GroupName>,
}

#[async_trait]
impl VerbOnQueue for Resume {
    async fn run(&self, queue: &Queue, _: &mut dyn Prompt) -> Result<Report> {
        if let Some(group) = &self.group {
            return groups::change(queue, group, GroupChange::Pause(None)).await;
        }
        let control = queue.store.control().await?;
        let ended = pause::stands(&control, queue.clock.now());
        let wake = queue.operator.resume().await?;
        let ended = ended.filter(|_| control.is_paused(queue.clock.now()));
        let ended = ended.map(|pause| format!("\nprevious pause: {pause}"));
        let ended = ended.unwrap_or_default();
        Ok(Report::new(
            wake::exit(wake),
            format!("resumed: {}{ended}", wake::text(wake)),
            json!({ "resumed": true, "wake": wake::name(wake) }),
        ))
    }
}
