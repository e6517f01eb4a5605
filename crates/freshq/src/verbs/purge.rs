//! `freshq purge`: deletes all pending and settled tasks.

use std::time::Duration;

use async_trait::async_trait;
use clap::Args;
use indicatif::ProgressBar;
use lifo_queue::control::Control;
use lifo_queue::depth;
use lifo_queue::operate::PurgeReport;
use lifo_queue::task::TaskStatus;
use lifo_queue::time::Millis;
use serde_json::json;

use super::{VerbOnQueue, failed_changes, pause};
use crate::confirm::Prompt;
use crate::exit::Exit;
use crate::failure::Result;
use crate::queue::Queue;
use crate::report::Report;

/// Duration of the pause, unless a longer pause exists: enough time to check the outcome.
const PAUSE: Duration = Duration::from_secs(3_600);

/// Deletes every pending and settled task, never a running one or the queue's own items. Pauses the
/// queue first for an hour and leaves it paused. Asks for the name of the table.
#[derive(Debug, Args)]
pub(crate) struct Purge {
    /// The name of the table; skips the prompt for confirmation
    #[arg(long, value_name = "TABLE")]
    pub(crate) confirm: Option<String>,
}

#[async_trait]
impl VerbOnQueue for Purge {
    async fn run(&self, queue: &Queue, prompt: &mut dyn Prompt) -> Result<Report> {
        let name = match &self.confirm {
            Some(name) => name.clone(),
            None => prompt.answer(&self.question(queue).await?, "--confirm TABLE")?,
        };
        if name.trim() != queue.table {
            let text = format!(
                "nothing was deleted: the given name does not match the table name, {}",
                queue.table
            );
            let json = json!({ "deleted": 0, "declined": true });
            return Ok(Report::new(Exit::Declined, text, json));
        }
        let author = queue.caller.principal().await;
        queue.operator.pause(PAUSE, "freshq purge", author).await?;
        let progress = ProgressBar::new_spinner();
        let purged = queue.operator.purge(|report| {
            progress.set_message(format!("{} tasks deleted", report.deleted));
            progress.tick();
        });
        let purged = purged.await;
        progress.finish_and_clear();
        let (purged, now) = (purged?, queue.clock.now());
        Ok(report(&purged, &queue.store.control().await?, now))
    }
}

impl Purge {
    async fn question(&self, queue: &Queue) -> Result<String> {
        let now = queue.clock.now();
        let depth = async |status| depth::measure(&*queue.store, status, None, now).await;
        let pending = depth(TaskStatus::Pending).await?;
        let success = depth(TaskStatus::Success).await?;
        let failure = depth(TaskStatus::Failure).await?;
        Ok(format!(
            "This deletes {pending} PENDING, {success} SUCCESS and {failure} FAILURE tasks of {}.\n\
             Type the name of its table, {}, to continue: ",
            queue.place().await,
            queue.table
        ))
    }
}

/// Reports the outcome of a purge, with the control item read afterwards.
fn report(purged: &PurgeReport, control: &Control, now: Millis) -> Report {
    let PurgeReport {
        deleted,
        gone,
        left,
        replaced,
        failed,
    } = purged;
    let exit = match left + replaced {
        _ if !failed.is_empty() => Exit::Failed,
        0 => Exit::Done,
        _ => Exit::NotAll,
    };
    let mut text = format!("deleted: {deleted}");
    if *gone > 0 {
        text += &format!("; already deleted: {gone}");
    }
    if *left > 0 {
        text += &format!("; now running, not deleted: {left}");
    }
    if *replaced > 0 {
        text += &format!("; replaced by a newer state, not deleted: {replaced}");
    }
    text += &failed_changes::text(failed);
    if let Some(stands) = pause::stands(control, now) {
        text += &format!("\nthe queue is paused {stands}; freshq resume ends the pause");
    }
    let failed = failed_changes::json(failed);
    let json = json!({ "deleted": deleted, "gone": gone, "left": left, "replaced": replaced, "failed": failed });
    Report::new(exit, text, json)
}
