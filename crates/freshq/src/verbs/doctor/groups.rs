//! Checks of a queue's groups: limits and pauses by operators, and open circuit breakers.

use lifo_queue::control::GroupStates;
use lifo_queue::time::Millis;

use super::Finding;
use crate::overrides::{limit_of_group, pause_of_group};

/// Maximum number of groups that a finding names.
const NAMED: usize = 5;

/// Finds groups that an operator limits or pauses, and those with an open circuit breaker.
pub(super) fn check(states: &GroupStates, now: Millis) -> (usize, Vec<Finding>) {
    let overrides = states.overrides.iter();
    let changed = overrides.filter_map(|(name, one)| {
        let limited = limit_of_group(one, now).map(|limit| format!("limited to {limit}"));
        let parts: Vec<_> = pause_of_group(one, now)
            .into_iter()
            .chain(limited)
            .collect();
        (!parts.is_empty()).then(|| format!("{name} is {}", parts.join(", and ")))
    });
    let changed = finding(
        changed.collect(),
        "fewer of its tasks start than the settings allow, and the others may expire",
        "freshq limit --off --group <name> ends a limit, and freshq resume --group <name> a pause",
    );
    let learned = states.learned.groups.iter();
    let open = learned.filter(|group| group.breaker.is_some());
    let open = finding(
        open.map(|group| format!("the circuit breaker of {} is open", group.name))
            .collect(),
        "the downstream is unavailable for this group, so only probes of its tasks start",
        "freshq groups names the reason; the breaker closes by itself when a probe succeeds",
    );
    (2, changed.into_iter().chain(open).collect())
}

fn finding(mut groups: Vec<String>, why: &str, remedy: &str) -> Option<Finding> {
    let more = groups.len().saturating_sub(NAMED);
    groups.truncate(NAMED);
    if more > 0 {
        groups.push(format!("{more} more; freshq groups lists all"));
    }
    (!groups.is_empty()).then(|| Finding {
        place: "the groups".to_owned(),
        what: groups.join("; "),
        why: why.to_owned(),
        remedy: remedy.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use lifo_queue::control::{
        Author, GroupOverride, GroupPause, LearnedGroup, LearnedGroups, OpenBreaker, OperatorLimit,
    };
    use std::num::NonZeroU16;

    use super::*;

    const NOW: Millis = Millis(1_800_000_000_000);

    fn by() -> Author {
        let name = "ana".to_owned();
        Author { name, at: NOW }
    }

    #[test]
    fn limited_and_paused_groups_and_open_breakers_are_findings() {
        let until = Millis(NOW.0 + 60_000);
        let limit = OperatorLimit {
            concurrency: NonZeroU16::new(2),
            rate: None,
            until,
            reason: "they asked".to_owned(),
            by: by(),
        };
        let pause = GroupPause {
            until,
            reason: "maintenance".to_owned(),
            by: by(),
        };
        let one = |limit, pause| GroupOverride { limit, pause };
        let open = LearnedGroup {
            name: "umbrella".to_owned(),
            breaker: Some(OpenBreaker {
                since: NOW,
                probes: 3,
            }),
            ..LearnedGroup::default()
        };
        // A group at its rate limit is closed briefly, which is not a finding.
        let busy = LearnedGroup {
            name: "acme".to_owned(),
            next_start: Some(until),
            ..LearnedGroup::default()
        };
        let states = GroupStates {
            overrides: [
                ("globex".to_owned(), one(None, Some(pause))),
                ("initech".to_owned(), one(Some(limit), None)),
            ]
            .into(),
            learned: LearnedGroups {
                groups: vec![busy, open],
                ..LearnedGroups::default()
            },
            ..GroupStates::default()
        };
        let whats = |now| -> Vec<String> {
            let (_, found) = check(&states, now);
            found.into_iter().map(|finding| finding.what).collect()
        };
        let times = "until 2027-01-15T08:01:00.000Z, 1m left";
        let at = "(by ana at 2027-01-15T08:00:00.000Z)";
        let open = "the circuit breaker of umbrella is open";
        assert_eq!(
            whats(NOW),
            [
                &format!(
                    "globex is paused {times}: maintenance {at}; initech is limited to 2 concurrent tasks {times}: they asked {at}"
                ),
                open
            ]
        );
        assert_eq!(whats(until), [open], "both have ended");
    }
}
