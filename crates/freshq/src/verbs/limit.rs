//! `freshq limit`: temporarily limits the rate and the concurrency of starts.

use std::num::NonZeroU16;
use std::time::Duration;

use async_trait::async_trait;
use clap::builder::NonEmptyStringValueParser;
use clap::{ArgGroup, Args};
use lifo_queue::control::{Author, Control, GroupChange, OperatorLimit, OperatorRate};
use lifo_queue::task::GroupName;
use lifo_queue::time::Millis;
use serde_json::{Value, json};

use super::{VerbOnQueue, group_name, groups};
use crate::confirm::Prompt;
use crate::exit::Exit;
use crate::failure::Result;
use crate::overrides;
use crate::queue::Queue;
use crate::report::Report;
use crate::time_format::parse_duration;

/// Maximum time between two starts that an operator can enter.
const LONGEST_INTERVAL: Duration = Duration::from_secs(24 * 3600);

/// Limits the rate and the concurrency of starts temporarily, or ends the limit. Running tasks
/// finish. A processor applies it with its next heartbeat, within 5 s by default. A limit only
/// lowers: a value above the deployed setting has no effect. Replaces an earlier limit. With
/// --group, limits one group of a queue with groups, instead of the limits of its settings.
#[derive(Debug, Default, Args)]
#[command(group(
    ArgGroup::new("limits").args(["rate", "concurrency", "off"]).required(true).multiple(true)
))]
pub(crate) struct Limit {
    /// Maximum number of starts per second, for example 5 or 0.5
    #[arg(long, value_name = "PER_SECOND", value_parser = parse_rate)]
    pub(crate) rate: Option<OperatorRate>,
    /// Maximum number of concurrent tasks
    #[arg(long, value_name = "TASKS", value_parser = parse_concurrency)]
    pub(crate) concurrency: Option<NonZeroU16>,
    /// Limits only this group
    #[arg(long, value_parser = group_name)]
    pub(crate) group: Option<GroupName>,
    /// The duration of the limit, for example 1h
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration, required_unless_present = "off")]
    pub(crate) time: Option<Duration>,
    /// The reason, for other operators
    #[arg(long, value_parser = NonEmptyStringValueParser::new(), required_unless_present = "off")]
    pub(crate) reason: Option<String>,
    /// Ends the limit
    #[arg(long, conflicts_with_all = ["rate", "concurrency", "time", "reason"])]
    pub(crate) off: bool,
}

/// Parses a number of starts per second.
pub(crate) fn parse_rate(text: &str) -> Result<OperatorRate, String> {
    let rate: f64 = text
        .parse()
        .map_err(|_| "write a number of starts per second, such as 5 or 0.5".to_owned())?;
    if rate == 0.0 {
        return Err("to start no tasks, use freshq pause".to_owned());
    }
    let interval = Duration::try_from_secs_f64(rate.recip()).ok();
    let interval = interval.filter(|at| !at.is_zero() && *at <= LONGEST_INTERVAL);
    let interval =
        interval.ok_or("write a rate from 0.0000116, which is one start per day, to 1000000000")?;
    Ok(OperatorRate { interval })
}

/// Parses a number of concurrent tasks.
pub(crate) fn parse_concurrency(text: &str) -> Result<NonZeroU16, String> {
    let tasks: u16 = text
        .parse()
        .map_err(|_| "write a number of tasks, from 1 to 65535".to_owned())?;
    NonZeroU16::new(tasks).ok_or("to start no tasks, use freshq pause".to_owned())
}

#[async_trait]
impl VerbOnQueue for Limit {
    async fn run(&self, queue: &Queue, _: &mut dyn Prompt) -> Result<Report> {
        let limit = match (self.time, &self.reason) {
            (Some(time), Some(reason)) => {
                let name = queue.caller.principal().await.to_owned();
                let at = queue.clock.now();
                Some(OperatorLimit {
                    concurrency: self.concurrency,
                    rate: self.rate,
                    until: at.plus(time),
                    reason: reason.clone(),
                    by: Author { name, at },
                })
            }
            _ => None,
        };
        if let Some(group) = &self.group {
            return groups::change(queue, group, GroupChange::Limit(limit)).await;
        }
        let is_off = limit.is_none();
        queue.operator.limit(limit).await?;
        if is_off {
            return Ok(Report::done(
                "the limit has ended; an active processor applies the deployed settings with its next heartbeat",
                json!({ "limit": null }),
            ));
        }
        // Report the stored limit, because operators and processors act on it.
        let control = queue.store.control().await?;
        let now = queue.clock.now();
        let json = json!({ "limit": as_json(&control, now) });
        Ok(match stands(&control, now) {
            Some(limit) => Report::done(
                format!(
                    "limited to {limit}\na value above the deployed setting has no effect; freshq limit --off ends the limit"
                ),
                json,
            ),
            None => Report::new(
                Exit::NotAll,
                "not limited: another operator ended the limit at the same time",
                json,
            ),
        })
    }
}

/// Formats the operator's limit as text: its values, end, reason and author.
pub(crate) fn stands(control: &Control, now: Millis) -> Option<String> {
    control.limit(now).map(|limit| overrides::limit(limit, now))
}

/// Formats the operator's limit as JSON.
pub(crate) fn as_json(control: &Control, now: Millis) -> Option<Value> {
    control
        .limit(now)
        .map(|limit| overrides::limit_json(limit, now))
}
