//! Group state that a turn collects for the next turn.

use uuid::Uuid;

use super::{Group, GroupLimits};
use crate::control::{Health, LearnedGroup, LearnedGroups};
use crate::process::health::domains::Domains;
use crate::process::rate::whole_millis;
use crate::time::Millis;

/// Maximum number of groups whose state a processor stores for the next processor.
pub(super) const MAX_LEARNED: usize = 500;

/// The group state that a processor writes before it releases its lease.
#[derive(Debug)]
pub(in crate::process) struct UnsavedGroups {
    pub(in crate::process) learned: LearnedGroups,
    /// The most recent writer of the group state that this turn knows of.
    pub(in crate::process) seen: Option<Uuid>,
}

impl GroupLimits {
    /// Returns the state that the next processor needs; `None` if the table already contains it.
    pub(in crate::process::health) fn unsaved(
        &self,
        domains: Option<&Domains>,
        now: Millis,
    ) -> Option<UnsavedGroups> {
        let learned = |(name, group): (&String, &Group)| {
            let mut learned = self.learned_group(name, group, now);
            if let Some(health) = domains.and_then(|domains| domains.get(name)) {
                learned.breaker = health.open_breaker();
                learned.health = health.left();
            }
            if let Some(domains) = domains {
                let waits = domains.waits_until(name, group.running.len(), now);
                let waits = waits.filter(|until| *until < Millis::MAX);
                learned.next_start = learned.next_start.max(waits);
            }
            let nothing = LearnedGroup {
                name: name.clone(),
                ..LearnedGroup::default()
            };
            (learned != nothing).then_some(learned)
        };
        let mut groups: Vec<LearnedGroup> = self.groups.iter().filter_map(learned).collect();
        let mut empty_at = self.empty_at;
        if groups.len() > MAX_LEARNED {
            let forgotten = groups.len() - MAX_LEARNED;
            tracing::warn!(
                forgotten,
                "too many limited groups to remember; the rates of the others start empty"
            );
            // Groups with the most leases first, then open breakers, then the latest `Retry-After`.
            // A forgotten bucket matters least, because it starts empty.
            groups.sort_by_key(|one| {
                let is_open = one.breaker.is_some();
                std::cmp::Reverse((one.leases.len(), is_open, one.asked_until, one.rate_full_at))
            });
            groups.truncate(MAX_LEARNED);
            groups.sort_by(|a, b| a.name.cmp(&b.name));
            empty_at = Some(now);
        }
        let learned = LearnedGroups {
            groups,
            empty_at,
            count_at: self.count_at,
        };
        (learned != self.left).then_some(UnsavedGroups {
            learned,
            seen: self.left_by,
        })
    }

    /// Records that this turn, the lease owner `by`, wrote the state `learned` to the table.
    pub(in crate::process) fn saved(&mut self, learned: LearnedGroups, by: Uuid) {
        self.left = learned;
        self.left_by = Some(by);
    }

    fn learned_group(&self, name: &str, group: &Group, now: Millis) -> LearnedGroup {
        let next_start = |rate| self.next_start(name, rate, now);
        let next_start = self.bounds(name, now).rate.map(next_start);
        let after = |until: &Millis| *until > now;
        let lost = now.plus(self.task_lease);
        let asked_until = group.asked_until.filter(after);
        LearnedGroup {
            name: name.to_owned(),
            rate_full_at: group.full_at.map(whole_millis).filter(after),
            next_start: next_start.filter(after),
            asked_until,
            breaker: None,
            health: Health::default(),
            // A task whose attempt panicked still counts as running, so add a lease for it.
            leases: group
                .leases
                .iter()
                .copied()
                .filter(after)
                .chain(group.running.iter().map(|_| lost))
                .collect(),
        }
    }
}
