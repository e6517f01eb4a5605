//! Formats limits and pauses set by operators, as text and as JSON.

use std::time::Duration;

use lifo_queue::control::{Author, GroupOverride, GroupPause, GroupStates, OperatorLimit};
use lifo_queue::time::Millis;
use serde_json::{Value, json};

use crate::time_format::{exact, rough};

/// Maximum number of groups per kind that `freshq status` names.
const NAMED: usize = 5;

/// Formats a limit as text: its values, end, reason and author.
pub(crate) fn limit(limit: &OperatorLimit, now: Millis) -> String {
    let stands = stands(limit.until, &limit.reason, &limit.by, now);
    format!("{} {stands}", limit_values(limit))
}

/// Formats the end of a limit or a pause, its reason and its author.
fn stands(until: Millis, reason: &str, by: &Author, now: Millis) -> String {
    let left = rough(until.since(now));
    let (name, at) = (&by.name, exact(by.at));
    format!(
        "until {}, {left} left: {reason} (by {name} at {at})",
        exact(until)
    )
}

/// Formats the values of a limit as text.
pub(crate) fn limit_values(limit: &OperatorLimit) -> String {
    let rate = limit.rate.map(|rate| match rate.interval.as_millis() {
        0..=1_000 => format!("{} starts/s", rounded(rate.per_second())),
        ms => {
            let interval = Duration::from_millis(u64::try_from(ms).unwrap_or(u64::MAX));
            format!("one start every {}", humantime::format_duration(interval))
        }
    });
    let concurrency = limit.concurrency.map(|tasks| match tasks.get() {
        1 => "1 concurrent task".to_owned(),
        tasks => format!("{tasks} concurrent tasks"),
    });
    let values: Vec<_> = rate.into_iter().chain(concurrency).collect();
    values.join(" and ")
}

/// Removes the rounding error of a rate that is calculated from an interval in nanoseconds.
fn rounded(rate: f64) -> f64 {
    (rate * 1_000.0).round() / 1_000.0
}

/// Formats a limit as JSON.
pub(crate) fn limit_json(limit: &OperatorLimit, now: Millis) -> Value {
    json!({
        "ratePerSecond": limit.rate.map(|rate| rounded(rate.per_second())),
        "concurrency": limit.concurrency,
        "until": exact(limit.until),
        "remainingMs": limit.until.since(now).as_millis(),
        "reason": limit.reason,
        "by": limit.by.name,
        "since": exact(limit.by.at),
    })
}

/// Returns the display name of a group.
pub(crate) fn shown(name: &str) -> &str {
    match name {
        "" => "(no group)",
        name => name,
    }
}

/// Returns the group's limit if it is still in effect.
pub(crate) fn limit_of(one: &GroupOverride, now: Millis) -> Option<&OperatorLimit> {
    one.limit.as_ref().filter(|limit| limit.until > now)
}

/// Returns the group's pause if it is still in effect.
pub(crate) fn pause_of(one: &GroupOverride, now: Millis) -> Option<&GroupPause> {
    one.pause.as_ref().filter(|pause| pause.until > now)
}

/// Formats a group's pause as text.
pub(crate) fn pause(pause: &GroupPause, now: Millis) -> String {
    let stands = stands(pause.until, &pause.reason, &pause.by, now);
    format!("paused {stands}")
}

/// Formats a group's limit as text, if it is still in effect.
pub(crate) fn limit_of_group(one: &GroupOverride, now: Millis) -> Option<String> {
    limit_of(one, now).map(|there| limit(there, now))
}

/// Formats a group's pause as text, if it is still in effect.
pub(crate) fn pause_of_group(one: &GroupOverride, now: Millis) -> Option<String> {
    pause_of(one, now).map(|there| pause(there, now))
}

/// Formats a group's pause as JSON.
pub(crate) fn pause_json(pause: &GroupPause, now: Millis) -> Value {
    json!({
        "until": exact(pause.until),
        "remainingMs": pause.until.since(now).as_millis(),
        "reason": pause.reason,
        "by": pause.by.name,
        "since": exact(pause.by.at),
    })
}

/// Groups that are paused, limited or closed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unusual {
    paused: Vec<String>,
    limited: Vec<String>,
    /// Groups that a processor closed.
    closed: Vec<String>,
}

impl Unusual {
    pub(crate) fn of(states: &GroupStates, now: Millis) -> Self {
        let mut unusual = Self::default();
        for (name, one) in &states.overrides {
            unusual
                .paused
                .extend(pause_of(one, now).map(|_| name.clone()));
            unusual
                .limited
                .extend(limit_of(one, now).map(|_| name.clone()));
        }
        let closed = states.learned.groups.iter().filter(|group| {
            let overridden = states.overrides.get(&group.name);
            overridden.and_then(|one| pause_of(one, now)).is_none()
                && (group.breaker.is_some() || states.closed_until(&group.name, now).is_some())
        });
        unusual.closed = closed.map(|group| shown(&group.name).to_owned()).collect();
        unusual
    }

    /// Formats the groups as text; `None` if there are none.
    pub(crate) fn text(&self) -> Option<String> {
        let named = |what: &str, names: &[String]| {
            let more = names.len().saturating_sub(NAMED);
            let names = &names[..names.len() - more];
            (!names.is_empty()).then(|| match more {
                0 => format!("{what}: {}", names.join(", ")),
                more => format!("{what}: {} and {more} more", names.join(", ")),
            })
        };
        let parts = [
            named("paused", &self.paused),
            named("limited", &self.limited),
            named("closed", &self.closed),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| format!("{}; see freshq groups", parts.join("; ")))
    }

    /// Formats the groups as JSON.
    pub(crate) fn json(&self) -> Value {
        json!({ "paused": self.paused, "limited": self.limited, "closed": self.closed })
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use lifo_queue::control::{LearnedGroup, LearnedGroups};

    use super::*;

    #[test]
    fn limited_and_closed_group_is_listed_as_both() {
        let limit = OperatorLimit {
            concurrency: NonZeroU16::new(3),
            rate: None,
            until: Millis(50),
            reason: "migration".to_owned(),
            by: Author {
                name: "ana".to_owned(),
                at: Millis(0),
            },
        };
        let overridden = GroupOverride {
            limit: Some(limit),
            pause: None,
        };
        let closed = LearnedGroup {
            name: "acme".to_owned(),
            next_start: Some(Millis(100)),
            ..LearnedGroup::default()
        };
        let states = GroupStates {
            overrides: [("acme".to_owned(), overridden)].into(),
            learned: LearnedGroups {
                groups: vec![closed],
                ..LearnedGroups::default()
            },
            ..GroupStates::default()
        };
        let text = |now| Unusual::of(&states, Millis(now)).text();
        let both = "limited: acme; closed: acme; see freshq groups";
        assert_eq!(text(0).as_deref(), Some(both));
        let closed = "closed: acme; see freshq groups";
        assert_eq!(text(50).as_deref(), Some(closed));
        assert_eq!(text(100), None);
    }
}
