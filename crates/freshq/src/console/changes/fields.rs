//! Parses the fields of a request into a change.

use std::time::Duration;

use lifo_queue::task::GroupName;

use crate::console::page::{Fields, task_of};
use crate::failure::{Failure, Result};
use crate::time_format::parse_duration;
use crate::verbs::limit::{parse_concurrency, parse_rate};
use crate::verbs::{Limit, Redrive, group_name};

pub(super) fn redrive(fields: &Fields, ttl: Duration) -> Result<Redrive> {
    let task = fields.contains_key("task");
    let all = fields.contains_key("all");
    let (task, error) = match (task, all) {
        (true, _) => (Some(task_of(fields, "task")?), None),
        (false, true) => (None, None),
        (false, false) => (None, Some(text(fields, "error")?)),
    };
    Ok(Redrive {
        all: task.is_none() && error.is_none(),
        tasks: task.into_iter().collect(),
        error,
        dry_run: false,
        yes: true,
        ttl,
    })
}

pub(super) fn text(fields: &Fields, name: &str) -> Result<String> {
    let text = fields.get(name).filter(|text| !text.trim().is_empty());
    text.cloned()
        .ok_or_else(|| Failure::input(name, "it must not be empty"))
}

/// Parses the limit in the fields.
pub(super) fn limit_of(fields: &Fields) -> Result<Limit> {
    let limit = Limit {
        rate: optional(fields, "rate", parse_rate)?,
        concurrency: optional(fields, "concurrency", parse_concurrency)?,
        time: Some(time(fields, "for")?),
        reason: Some(text(fields, "reason")?),
        group: group(fields)?,
        off: false,
    };
    match (limit.rate, limit.concurrency) {
        (None, None) => Err(Failure::input("rate", "give it, or the concurrency")),
        _ => Ok(limit),
    }
}

/// Parses a field that may be empty.
fn optional<T>(
    fields: &Fields,
    name: &str,
    parse: fn(&str) -> Result<T, String>,
) -> Result<Option<T>> {
    let text = fields.get(name).map(|text| text.trim());
    let value = text.filter(|text| !text.is_empty()).map(parse);
    value
        .transpose()
        .map_err(|fault| Failure::input(name, fault))
}

pub(super) fn time(fields: &Fields, name: &str) -> Result<Duration> {
    parse_duration(&text(fields, name)?).map_err(|fault| Failure::input(name, fault))
}

/// Returns the group to change; `None` for the whole queue.
pub(super) fn group(fields: &Fields) -> Result<Option<GroupName>> {
    optional(fields, "group", group_name)
}
