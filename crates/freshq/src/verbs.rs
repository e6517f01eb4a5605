//! The verbs of the task queue, one per file.

mod breaker;
mod cancel;
pub(crate) mod cause;
mod create;
mod doctor;
mod errors;
mod export;
mod failed_changes;
pub(crate) mod groups;
pub(crate) mod limit;
mod list;
mod logs;
mod matches;
mod messages;
pub(crate) mod pause;
mod purge;
mod redrive;
mod resume;
mod show;
mod smoke;
mod status;
mod task_outcomes;
mod wake;
mod watch;

use async_trait::async_trait;
use lifo_queue::task::{GroupName, TaskId};

pub(crate) use self::breaker::{Close, Open};
pub(crate) use self::cancel::Cancel;
pub(crate) use self::create::Create;
#[cfg(test)]
pub(crate) use self::doctor::tests::{fake::Fake, open_breaker};
pub(crate) use self::doctor::{Checkup, Doctor, check_agents};
pub(crate) use self::errors::{Errors, Group};
pub(crate) use self::export::Export;
pub(crate) use self::groups::Groups;
pub(crate) use self::limit::Limit;
pub(crate) use self::list::{List, StatusName, payload_preview, run};
pub(crate) use self::logs::Logs;
pub(crate) use self::messages::Messages;
pub(crate) use self::pause::Pause;
pub(crate) use self::purge::Purge;
pub(crate) use self::redrive::Redrive;
pub(crate) use self::resume::Resume;
pub(crate) use self::show::{Show, Shown, missing};
pub(crate) use self::smoke::Smoke;
pub(crate) use self::status::{Status, StatusReport, longest_run, start_limits};
pub(crate) use self::wake::Wake;
pub(crate) use self::watch::Watch;
use crate::confirm::Prompt;
use crate::failure::Failure;
use crate::queue::Queue;
use crate::report::Report;

pub(crate) fn task_id(text: &str) -> Result<TaskId, String> {
    TaskId::new(text).map_err(|error| format!("it {error}"))
}

pub(crate) fn group_name(text: &str) -> Result<GroupName, String> {
    GroupName::new(text).map_err(|error| format!("it {error}"))
}

/// A verb with its arguments.
#[async_trait]
pub(crate) trait VerbOnQueue: Send + Sync {
    /// Runs the verb. `prompt` asks for the confirmation that some verbs require.
    ///
    /// # Errors
    /// [`Failure`]: the verb may or may not have taken effect, unless the failure states which.
    async fn run(&self, queue: &Queue, prompt: &mut dyn Prompt) -> Result<Report, Failure>;
}

#[cfg(test)]
mod tests;
