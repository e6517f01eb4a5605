//! The group item: operators' overrides and the processors' state.

use lifo_queue::control::{
    Author, Cause, GroupChange, GroupChanged, GroupOverride, GroupPause, Health, LearnedGroup,
    LearnedGroups, OpenBreaker,
};
use lifo_queue::task::GroupName;
use lifo_queue::time::Millis;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use uuid::Uuid;

use super::operator::one_limit;
use super::{ReferenceQueue, done, lost};
use crate::answer::Answer;
use crate::draw::{Drawn, around, moment, reason};
use crate::machine::Machine;
use crate::operation::{Operation, Rule};

impl ReferenceQueue {
    pub(super) fn groups(&self) -> (Answer, Rule) {
        (Answer::Groups(self.groups.clone()), Rule::LookAtGroups)
    }

    /// Replaces one group's limit or pause, and deletes overrides that have ended. The number of
    /// drawn groups is far below the maximum.
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

    /// Replaces the processors' state if its last writer is the caller or the one that it read.
    pub(super) fn save_groups(
        &mut self,
        learned: &LearnedGroups,
        by: Uuid,
        seen: Option<Uuid>,
    ) -> (Answer, Rule) {
        let there = self.groups.learned_by;
        if there != Some(by) && there != seen {
            return lost(Rule::SaveGroupsLost);
        }
        self.groups.learned = learned.clone();
        self.groups.learned_by = Some(by);
        done(match there == Some(by) {
            true => Rule::SaveGroupsAgain,
            false => Rule::SaveGroups,
        })
    }
}

pub(crate) fn drawn(machine: &Machine) -> Drawn {
    vec![
        (2, change(machine)),
        (2, save(machine)),
        (1, Just(Operation::LookAtGroups).boxed()),
    ]
}

/// Draws an operator's change to one of three groups.
fn change(machine: &Machine) -> BoxedStrategy<Operation> {
    let names = ["acme", "globex", "ä b"].map(|name| GroupName::new(name).ok());
    let names: Vec<GroupName> = names.into_iter().flatten().collect();
    let by = around(machine, 0..1_000).prop_map(|at| Author {
        name: "an operator".to_owned(),
        at,
    });
    let pause = (around(machine, 1_000..20_000), reason(), by)
        .prop_map(|(until, reason, by)| GroupPause { until, reason, by });
    let change = prop_oneof![
        option::of(one_limit(machine)).prop_map(GroupChange::Limit),
        option::of(pause).prop_map(GroupChange::Pause),
    ];
    (select(names), change, moment(machine))
        .prop_map(|(group, change, now)| Operation::ChangeGroup { group, change, now })
        .boxed()
}

/// Draws a write by one of three processors, which mostly saw the last writer.
fn save(machine: &Machine) -> BoxedStrategy<Operation> {
    let there = machine.queue.groups.learned_by;
    let any = (1..4_u128).prop_map(Uuid::from_u128);
    let seen = prop_oneof![2 => Just(there), 1 => option::of(any.clone())];
    let time = || option::of(around(machine, 0..60_000));
    let names = select(&["", "acme", "globex"][..]);
    let group = (names, time(), time(), time(), time());
    let group =
        group.prop_map(
            |(name, rate_full_at, next_start, asked_until, lease)| LearnedGroup {
                name: name.to_owned(),
                rate_full_at,
                next_start,
                asked_until,
                breaker: lease.map(|since| OpenBreaker { since, probes: 3 }),
                health: Health {
                    asked_until,
                    cause: asked_until.map(|_| Cause::Busy),
                    ..Health::default()
                },
                leases: lease.into_iter().collect(),
            },
        );
    let learned = (option::of(group), time(), time());
    let learned = learned.prop_map(|(group, empty_at, count_at)| LearnedGroups {
        groups: group.into_iter().collect(),
        empty_at,
        count_at,
    });
    (learned, any, seen)
        .prop_map(|(learned, by, seen)| Operation::SaveGroups { learned, by, seen })
        .boxed()
}
