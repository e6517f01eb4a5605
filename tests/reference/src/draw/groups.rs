//! Draws operations on the item of groups.

use lifo_queue::control::{
    Author, GroupChange, GroupPause, LearnedGroup, LearnedGroups, OpenBreaker,
};
use lifo_queue::task::GroupName;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use uuid::Uuid;

use super::{around, moment, operator, reason};
use crate::machine::Machine;
use crate::operation::Operation;

/// An operator's change of one of three groups.
pub(super) fn change(machine: &Machine) -> BoxedStrategy<Operation> {
    let names = ["acme", "globex", "ä b"].map(|name| GroupName::new(name).ok());
    let names: Vec<GroupName> = names.into_iter().flatten().collect();
    let by = around(machine, 0..1_000).prop_map(|at| Author {
        name: "an operator".to_owned(),
        at,
    });
    let pause = (around(machine, 1_000..20_000), reason(), by)
        .prop_map(|(until, reason, by)| GroupPause { until, reason, by });
    let change = prop_oneof![
        option::of(operator::one_limit(machine)).prop_map(GroupChange::Limit),
        option::of(pause).prop_map(GroupChange::Pause),
    ];
    (select(names), change, moment(machine))
        .prop_map(|(group, change, now)| Operation::ChangeGroup { group, change, now })
        .boxed()
}

/// A write of what one of three processors learned. Mostly it saw the last writer.
pub(super) fn learn(machine: &Machine) -> BoxedStrategy<Operation> {
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
                reason: asked_until.map(|_| "closed".to_owned()),
                breaker: lease.map(|since| OpenBreaker { since, probes: 3 }),
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
        .prop_map(|(learned, by, seen)| Operation::Learn { learned, by, seen })
        .boxed()
}
