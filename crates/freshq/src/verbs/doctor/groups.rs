//! Checks of the groups of a queue: limits and pauses by operators, and open circuit breakers.

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
