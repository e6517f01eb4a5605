//! The item of groups: operators' overrides, and what processors learned.

use lifo_queue::control::{GroupChange, GroupChanged, GroupOverride, LearnedGroups};
use lifo_queue::task::GroupName;
use lifo_queue::time::Millis;
use uuid::Uuid;

use super::{ReferenceQueue, done, lost};
use crate::operation::Answer;
use crate::rule::Rule;

impl ReferenceQueue {
    /// Replaces the limit or the pause of one group, and deletes overrides that have ended. The
    /// drawn groups are far fewer than the maximum.
    pub(super) fn change_group(
        &mut self,
        group: &GroupName,
        change: &GroupChange,
        now: Millis,
    ) -> (Answer, Rule) {
        let before = self.groups.overrides.clone();
        let overrides = &mut self.groups.overrides;
        for GroupOverride { limit, pause } in overrides.values_mut() {
            if limit.as_ref().is_some_and(|limit| limit.until <= now) {
                *limit = None;
            }
            if pause.as_ref().is_some_and(|pause| pause.until <= now) {
                *pause = None;
            }
        }
        let one = overrides.entry(group.as_str().to_owned()).or_default();
        match change.clone() {
            GroupChange::Limit(limit) => one.limit = limit,
            GroupChange::Pause(pause) => one.pause = pause,
        }
        if let Some(limit) = &mut one.limit {
            limit.reason.truncate(256);
        }
        if let Some(pause) = &mut one.pause {
            pause.reason.truncate(256);
        }
        overrides.retain(|_, one| one.limit.is_some() || one.pause.is_some());
        if *overrides == before {
            return (
                Answer::GroupChanged(GroupChanged::Done),
                Rule::ChangeGroupSame,
            );
        }
        self.groups.changes += 1;
        (Answer::GroupChanged(GroupChanged::Done), Rule::ChangeGroup)
    }

    /// Replaces what processors learned, unless a process wrote it that the caller did not see.
    pub(super) fn learn_groups(
        &mut self,
        learned: &LearnedGroups,
        by: Uuid,
        seen: Option<Uuid>,
    ) -> (Answer, Rule) {
        let there = self.groups.learned_by;
        if there != Some(by) && there != seen {
            return lost(Rule::LearnLost);
        }
        self.groups.learned = learned.clone();
        self.groups.learned_by = Some(by);
        done(match there == Some(by) {
            true => Rule::LearnAgain,
            false => Rule::Learn,
        })
    }
}
