//! The item `#groups`: operators' overrides for individual groups, and the processors' group state.
//! Only queues with `processing.groups` have this item.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Author, Health, OpenBreaker, OperatorLimit};
use crate::task::GroupName;
use crate::time::Millis;

/// Maximum number of groups with an override, so that the item stays below DynamoDB's limit of
/// 400 KB.
pub const MAX_OVERRIDES: usize = 200;

/// Maximum length of an override's reason, in bytes. Longer reasons are truncated.
const MAX_OVERRIDE_REASON: usize = 256;

/// The item `#groups`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupStates {
    /// Operators' overrides, by group name.
    pub overrides: BTreeMap<String, GroupOverride>,
    /// Number of changes to the overrides so far. Never decreases.
    pub changes: u64,
    /// The processors' state.
    pub learned: LearnedGroups,
    /// Lease owner id of the processor that wrote [`learned`](Self::learned).
    pub learned_by: Option<Uuid>,
}

/// An operator's settings for one group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupOverride {
    /// Limit on the group's starts. Until it ends, it replaces the limits from the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<OperatorLimit>,
    /// The pause of the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<GroupPause>,
}

/// A pause of one group. No task of the group is due until the pause ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupPause {
    /// End of the pause.
    pub until: Millis,
    /// The reason, for operators.
    pub reason: String,
    /// The author and start time of the pause.
    pub by: Author,
}

/// An operator's change to the override of one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupChange {
    /// Replaces the limit; `None` ends it.
    Limit(Option<OperatorLimit>),
    /// Replaces the pause; `None` ends it.
    Pause(Option<GroupPause>),
}

/// The result of a group change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupChanged {
    /// The override is as requested.
    Done,
    /// Nothing changed, because [`MAX_OVERRIDES`] other groups have overrides.
    TooMany,
}

/// The processors' group state. A processor can discard part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LearnedGroups {
    /// The groups, ordered by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<LearnedGroup>,
    /// Time at which the rate buckets of all unlisted groups are assumed to be empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empty_at: Option<Millis>,
    /// Time from which all tasks that a crashed processor may have left running can be counted.
    /// `None` if no count is pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count_at: Option<Millis>,
}

/// The processors' state for one group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LearnedGroup {
    /// The name; empty for tasks without a group.
    pub name: String,
    /// Time at which the bucket of the group's rate is full again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_full_at: Option<Millis>,
    /// Earliest time of the next start that the group's rate and circuit breaker allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_start: Option<Millis>,
    /// Time until which the group is closed at the downstream's request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_until: Option<Millis>,
    /// The open circuit breaker of the group; `None` while it is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaker: Option<OpenBreaker>,
    /// Other facts about the group's downstream, in a queue with one circuit breaker per group.
    #[serde(default, skip_serializing_if = "Health::is_at_rest")]
    pub health: Health,
    /// Expiry times of leases that a turn could not end. Tasks with these leases count as running.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leases: Vec<Millis>,
}

impl GroupStates {
    /// Time until which the group is closed and none of its tasks is due; `None` if it is open.
    #[must_use]
    pub fn closed_until(&self, group: &str, now: Millis) -> Option<Millis> {
        let overridden = self.overrides.get(group);
        let pause = overridden.and_then(|one| one.pause.as_ref());
        let learned = self
            .learned
            .groups
            .binary_search_by(|one| one.name.as_str().cmp(group));
        let learned = learned.ok().and_then(|at| self.learned.groups.get(at));
        let learned = learned.and_then(|one| one.next_start.max(one.asked_until));
        let until = pause.map(|pause| pause.until).max(learned);
        until.filter(|until| *until > now)
    }

    /// Returns the overrides after a change at `now`, without those that have ended. `None` if the
    /// change would exceed [`MAX_OVERRIDES`].
    pub(crate) fn changed(
        &self,
        group: &GroupName,
        change: &GroupChange,
        now: Millis,
    ) -> Option<BTreeMap<String, GroupOverride>> {
        let mut overrides = self.overrides.clone();
        for one in overrides.values_mut() {
            one.limit.take_if(|limit| limit.until <= now);
            one.pause.take_if(|pause| pause.until <= now);
        }
        let one = overrides.entry(group.to_string()).or_default();
        match change.clone() {
            GroupChange::Limit(limit) => one.limit = limit.map(OperatorLimit::with_short_reason),
            GroupChange::Pause(pause) => one.pause = pause.map(GroupPause::with_short_reason),
        }
        overrides.retain(|_, one| *one != GroupOverride::default());
        (overrides.len() <= MAX_OVERRIDES).then_some(overrides)
    }
}

impl OperatorLimit {
    fn with_short_reason(self) -> Self {
        let reason = short(&self.reason);
        Self { reason, ..self }
    }
}

impl GroupPause {
    fn with_short_reason(self) -> Self {
        let reason = short(&self.reason);
        Self { reason, ..self }
    }
}

fn short(reason: &str) -> String {
    reason[..reason.floor_char_boundary(MAX_OVERRIDE_REASON)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pause(until: i64) -> GroupChange {
        GroupChange::Pause(Some(GroupPause {
            until: Millis(until),
            reason: "ü".repeat(200),
            by: Author {
                name: "ana".to_owned(),
                at: Millis(0),
            },
        }))
    }

    fn name(number: usize) -> GroupName {
        GroupName::new(format!("g{number}")).unwrap()
    }

    #[test]
    fn override_beyond_the_maximum_is_rejected_until_others_have_ended() {
        let mut states = GroupStates::default();
        for number in 0..MAX_OVERRIDES {
            let until = if number < 2 { 10 } else { 100 };
            states.overrides = states
                .changed(&name(number), &pause(until), Millis(0))
                .unwrap();
        }
        let one_more = name(MAX_OVERRIDES);
        assert_eq!(states.changed(&one_more, &pause(100), Millis(9)), None);
        assert!(states.changed(&name(5), &pause(200), Millis(9)).is_some());
        assert!(
            states
                .changed(&one_more, &GroupChange::Pause(None), Millis(9))
                .is_some()
        );
        let left = states.changed(&one_more, &pause(100), Millis(10)).unwrap();
        assert_eq!(left.len(), MAX_OVERRIDES - 1);
        let pause = left["g5"].pause.as_ref().unwrap();
        assert_eq!(pause.reason, "ü".repeat(128));
    }

    #[test]
    fn group_is_closed_by_its_pause_or_by_learned_state() {
        let mut states = GroupStates::default();
        states.overrides = states.changed(&name(1), &pause(100), Millis(0)).unwrap();
        let learned = |name: &str, next_start, asked_until| LearnedGroup {
            name: name.to_owned(),
            next_start: Some(Millis(next_start)),
            asked_until: Some(Millis(asked_until)),
            ..LearnedGroup::default()
        };
        states.learned.groups = vec![
            learned("", 50, 10),
            learned("g1", 200, 10),
            learned("g2", 10, 300),
        ];
        let closed = |group, now| states.closed_until(group, Millis(now));
        assert_eq!(closed("", 49), Some(Millis(50)));
        assert_eq!(closed("", 50), None);
        assert_eq!(closed("g1", 0), Some(Millis(200)));
        assert_eq!(closed("g2", 0), Some(Millis(300)));
        assert_eq!(closed("g3", 0), None);
    }
}
