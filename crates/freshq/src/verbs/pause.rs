//! `freshq pause`: pauses the queue temporarily.

use std::time::Duration;

use async_trait::async_trait;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use lifo_queue::control::{Author, Control, GroupChange, GroupPause};
use lifo_queue::depth;
use lifo_queue::store::Written;
use lifo_queue::task::{GroupName, TaskStatus};
use lifo_queue::time::Millis;
use serde_json::json;

use super::{VerbOnQueue, group_name, groups};
use crate::confirm::Prompt;
use crate::exit::Exit;
use crate::failure::Result;
use crate::queue::Queue;
use crate::report::Report;
use crate::time_format::{exact, parse_duration, rough};

/// Longest pause that needs no confirmation: the default of `tasks.defaultTtl`. During a longer
/// pause, tasks can expire.
const UNASKED: Duration = Duration::from_secs(3_600);

/// Pauses the queue temporarily; running tasks finish. A longer pause is kept. Asks before a pause
/// of more than 1 h, the default time until a task expires. With --group, pauses one group of a queue
/// with groups; the new pause replaces an earlier one.
#[derive(Debug, Args)]
pub(crate) struct Pause {
    /// The duration of the pause, for example 30m
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    pub(crate) time: Duration,
    /// The reason, for other operators
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) reason: String,
    /// Pauses only this group
    #[arg(long, value_parser = group_name)]
    pub(crate) group: Option<GroupName>,
    /// Skips the confirmation of a long pause
    #[arg(long)]
    pub(crate) yes: bool,
}

impl Pause {
    /// Asks for confirmation of a long pause. Returns whether the operator declined.
    async fn declines(&self, queue: &Queue, prompt: &mut dyn Prompt) -> Result<bool> {
        if self.yes || self.time <= UNASKED {
            return Ok(false);
        }
        let now = queue.clock.now();
        let pending = depth::measure(&*queue.store, TaskStatus::Pending, None, now).await?;
        let (pending, which) = match &self.group {
            None => (format!("{pending}"), String::new()),
            Some(group) => (
                format!("{pending} of all groups"),
                format!("group {group} of "),
            ),
        };
        let question = format!(
            "In a pause of {}, tasks that expire earlier never start: by default tasks expire after {}, and {pending} are pending. Pause {which}{}?",
            rough(self.time),
            rough(UNASKED),
            queue.place().await,
        );
        Ok(!prompt.confirms(&question, "--yes")?)
    }
}

#[async_trait]
impl VerbOnQueue for Pause {
    async fn run(&self, queue: &Queue, prompt: &mut dyn Prompt) -> Result<Report> {
        if self.declines(queue, prompt).await? {
            let json = json!({ "paused": false, "declined": true });
            return Ok(Report::new(Exit::Declined, "not paused", json));
        }
        let author = queue.caller.principal().await;
        if let Some(group) = &self.group {
            let at = queue.clock.now();
            let pause = GroupPause {
                until: at.plus(self.time),
                reason: self.reason.clone(),
                by: Author {
                    name: author.to_owned(),
                    at,
                },
            };
            return groups::change(queue, group, GroupChange::Pause(Some(pause))).await;
        }
        let earliest = queue.clock.now().plus(self.time);
        let written = queue
            .operator
            .pause(self.time, &self.reason, author)
            .await?;
        let latest = queue.clock.now().plus(self.time);
        // Report the stored pause, because operators and processors act on it.
        let control = queue.store.control().await?;
        // If the client retried a write that had succeeded, the table rejected the retry. The
        // stored pause is then the requested one.
        let is_ours = |until| written == Written::Done || (earliest..=latest).contains(&until);
        let stands = stands(&control, queue.clock.now()).unwrap_or_default();
        let (exit, text) = match control.paused_until {
            None => (
                Exit::NotAll,
                "not paused: another operator resumed the queue at the same time".to_owned(),
            ),
            Some(until) if is_ours(until) => (
                Exit::Done,
                format!("paused {stands}\nrunning tasks finish; freshq resume ends the pause"),
            ),
            Some(_) => (
                Exit::NotAll,
                format!(
                    "not changed: a longer pause exists, {stands}\nto shorten it, end it first with freshq resume"
                ),
            ),
        };
        let json = json!({
            "paused": exit == Exit::Done,
            "until": control.paused_until.map(exact),
            "reason": control.pause_reason,
        });
        Ok(Report::new(exit, text, json))
    }
}

/// Formats the stored pause as text: its end, the remaining time, the author and the reason.
pub(crate) fn stands(control: &Control, now: Millis) -> Option<String> {
    let until = control.paused_until?;
    let left = rough(until.since(now));
    Some(format!(
        "until {}, {left} left: {}",
        exact(until),
        reason(control)
    ))
}

/// Formats the reason and the author of the stored pause as text.
pub(crate) fn reason(control: &Control) -> String {
    let reason = control.pause_reason.as_deref().unwrap_or("no reason given");
    let Some(author) = &control.paused_by else {
        return reason.to_owned();
    };
    format!("{reason} (by {} at {})", author.name, exact(author.at))
}
