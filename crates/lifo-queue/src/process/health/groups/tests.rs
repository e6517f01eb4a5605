use std::num::{NonZeroU16, NonZeroU32};

use super::unsaved::MAX_LEARNED;
use super::*;
use crate::process::health::tests::settings;
use crate::task::{Lease, LeaseToken};

const SECOND: Duration = Duration::from_secs(1);

/// Settings with these limits; 0 for no limit. The rate is per 100 seconds, with a burst of two.
fn limits(concurrency: u16, rate: u32) -> GroupSettings {
    GroupSettings {
        max_concurrency: NonZeroU16::new(concurrency),
        rate: (rate > 0).then(|| RateLimit {
            interval: 100 * SECOND / rate,
            burst: NonZeroU32::new(2).unwrap(),
        }),
        breaker: false,
    }
}

fn turn(limits: GroupSettings, states: GroupStates, released: bool, now: Millis) -> GroupLimits {
    GroupLimits::new(&settings(), limits, states, released, now)
}

fn task(id: &str) -> TaskId {
    TaskId::from_stored(id)
}

fn at(seconds: i64) -> Millis {
    Millis(1_800_000_000_000 + seconds * 1_000)
}

/// Ends a run with a busy response that requests a wait. Returns whether it concerns only the group.
fn busy(groups: &mut GroupLimits, id: &str, wait: Duration) -> bool {
    let retry_after = Some(wait);
    groups.run_ended(&task(id), Signal::Busy { retry_after }, at(0))
}

/// The state that a turn left in the table.
fn left(groups: &GroupLimits, now: Millis) -> GroupStates {
    let learned = groups.unsaved(None, now).map(|unsaved| unsaved.learned);
    GroupStates {
        learned: learned.unwrap_or_default(),
        ..GroupStates::default()
    }
}

/// Number of starts of a group within `seconds`, with a check every 100 ms.
fn starts(groups: &mut GroupLimits, from: i64, seconds: i64) -> u32 {
    let mut count = 0;
    for now in (at(from).0..at(from + seconds).0).step_by(100).map(Millis) {
        if groups.closed_until("a", now).is_none() {
            groups.started(&task("a/1"), now);
            groups.ended(&task("a/1"), true, now);
            count += 1;
        }
    }
    count
}

#[test]
fn group_runs_no_more_tasks_than_its_limit() {
    let mut groups = turn(limits(2, 0), GroupStates::default(), true, at(0));
    for id in ["a/1", "a/2", "b/1"] {
        assert_eq!(groups.closed_until(task(id).group(), at(0)), None);
        groups.started(&task(id), at(0));
    }
    assert_eq!(groups.closed_until("a", at(0)), Some(Millis::MAX));
    assert_eq!(groups.closed_until("b", at(0)), None);
    groups.ended(&task("a/1"), true, at(1));
    assert_eq!(groups.closed_until("a", at(1)), None);
    assert!(
        groups.unsaved(None, at(1)).is_some(),
        "a/2 and b/1 did not end"
    );
    groups.ended(&task("a/2"), true, at(1));
    groups.ended(&task("b/1"), true, at(1));
    assert!(groups.unsaved(None, at(1)).is_none());
}

#[test]
fn group_rate_limit_applies_across_turns() {
    let (mut total, mut states) = (0, GroupStates::default());
    for turn_number in 0..20 {
        let from = turn_number * 50;
        let mut groups = turn(limits(0, 10), states, true, at(from));
        total += starts(&mut groups, from, 50);
        states = left(&groups, at(from + 50));
    }
    // One start per ten seconds for 1,000 seconds, and one more at the beginning.
    assert!((100..=102).contains(&total), "{total}");
}

#[test]
fn stored_state_shows_when_the_rate_allows_the_next_start() {
    let mut groups = turn(limits(0, 1), GroupStates::default(), true, at(0));
    assert_eq!(starts(&mut groups, 0, 50), 2);
    let states = left(&groups, at(50));
    assert_eq!(states.closed_until("a", at(50)), Some(at(100)));
    assert_eq!(states.closed_until("b", at(50)), None);
}

#[test]
fn every_bucket_starts_empty_after_a_crash_even_if_a_turn_intervenes() {
    let mut crashed = turn(limits(0, 10), GroupStates::default(), true, at(0));
    starts(&mut crashed, 0, 5);
    let next = turn(limits(0, 10), GroupStates::default(), false, at(10));
    assert_eq!(next.closed_until("a", at(10)), Some(at(20)));
    // This turn starts no task of the group, but the following turn still knows the state.
    let mut after = turn(limits(0, 10), left(&next, at(11)), true, at(11));
    assert_eq!(after.closed_until("a", at(11)), Some(at(20)));
    assert_eq!(starts(&mut after, 11, 20), 2);
}

#[test]
fn forgotten_groups_start_with_an_empty_bucket() {
    let mut groups = turn(limits(0, 10), GroupStates::default(), true, at(0));
    for number in 0..MAX_LEARNED + 1 {
        groups.started(&task(&format!("g{number:03}/1")), at(0));
        groups.ended(&task(&format!("g{number:03}/1")), true, at(0));
    }
    let states = left(&groups, at(1));
    assert_eq!(states.learned.groups.len(), MAX_LEARNED);
    let names = states.learned.groups.iter().map(|one| &one.name);
    assert!(names.is_sorted());
    let next = turn(limits(0, 10), states, true, at(1));
    let forgotten = (0..=MAX_LEARNED).map(|number| format!("g{number:03}"));
    let closed = forgotten.filter(|name| next.closed_until(name, at(1)).is_some());
    assert_eq!(closed.count(), 1);
}

#[test]
fn group_closed_by_a_retry_after_stays_closed_although_others_are_forgotten() {
    let mut groups = turn(limits(0, 10), GroupStates::default(), true, at(0));
    for number in 0..MAX_LEARNED {
        groups.started(&task(&format!("g{number:03}/1")), at(0));
        groups.ended(&task(&format!("g{number:03}/1")), true, at(0));
    }
    assert!(busy(&mut groups, "a/1", 60 * SECOND) && busy(&mut groups, "a/2", 60 * SECOND));
    let next = turn(limits(0, 10), left(&groups, at(1)), true, at(1));
    assert_eq!(next.closed_until("a", at(1)), Some(at(60)));
}

#[test]
fn tasks_of_a_crashed_processor_count_until_their_leases_expire() {
    let settings = settings();
    let mut groups = turn(limits(2, 0), GroupStates::default(), false, at(0));
    let count_at = at(0).plus(settings.index_lag + settings.clock_skew);
    assert!(groups.closed_until("a", at(0)) >= Some(count_at));
    assert!(!groups.must_count(at(0)) && groups.must_count(count_at));
    // A task that this turn starts before the count is not counted twice.
    groups.overrides = BTreeMap::new();
    groups.started(&task("own/1"), at(0));
    let lease = |id: &str, until| StandingLease {
        lease: Lease {
            task: task(id),
            token: LeaseToken::fresh(),
            until,
        },
        attempts: 1,
    };
    let (soon, later) = (at(20), at(30));
    groups.counted(&[
        lease("a/1", later),
        lease("a/2", soon),
        lease("own/1", later),
    ]);
    assert!(!groups.must_count(at(60)));
    let skew = settings.clock_skew;
    assert_eq!(groups.closed_until("a", at(10)), Some(soon.plus(skew)));
    assert_eq!(groups.closed_until("own", at(10)), None);
    assert_eq!(groups.closed_until("a", soon.plus(skew)), None);
    // The next turn continues with the lease that is left.
    let next = turn(limits(1, 0), left(&groups, at(25)), true, at(25));
    assert_eq!(next.closed_until("a", at(25)), Some(later.plus(skew)));
}

#[test]
fn next_turn_counts_the_tasks_that_a_short_turn_did_not_count() {
    let crashed_before = turn(limits(1, 0), GroupStates::default(), false, at(0));
    let states = left(&crashed_before, at(2));
    let next = turn(limits(1, 0), states.clone(), true, at(3));
    assert!(next.closed_until("a", at(3)).is_some());
    assert!(next.must_count(at(60)));
    // By then, the leases of the crashed processor have expired.
    let later = at(5).plus(settings().task_lease());
    let next = turn(limits(1, 0), states, true, later);
    assert_eq!(next.closed_until("a", later), None);
}

#[test]
fn lease_of_a_task_in_an_unknown_state_counts_and_late_takes_are_blocked() {
    let mut groups = turn(limits(1, 0), GroupStates::default(), true, at(0));
    groups.started(&task("a/1"), at(0));
    groups.ended(&task("a/1"), false, at(1));
    let until = at(1).plus(settings().task_lease());
    assert_eq!(groups.closed_until("a", at(1)), Some(until));
    groups.take_until(at(5));
    assert_eq!(groups.closed_until("b", at(4)), None);
    assert!(groups.closed_until("b", at(5)).is_some());
}

#[test]
fn second_consecutive_busy_response_with_retry_after_closes_the_group_if_groups_have_limits() {
    let mut groups = turn(limits(9, 0), GroupStates::default(), true, at(0));
    assert!(busy(&mut groups, "a/1", 30 * SECOND));
    groups.run_ended(&task("a/2"), Signal::Result, at(0));
    assert!(busy(&mut groups, "a/1", 30 * SECOND));
    assert_eq!(groups.closed_until("a", at(0)), None);
    assert!(busy(&mut groups, "a/3", 30 * SECOND));
    assert!(busy(&mut groups, "a/4", Duration::ZERO));
    assert_eq!(groups.closed_until("a", at(0)), Some(at(30)));
    assert_eq!(groups.closed_until("b", at(0)), None);
    let next = turn(limits(9, 0), left(&groups, at(10)), true, at(10));
    assert_eq!(next.closed_until("a", at(10)), Some(at(30)));
    let mut none = turn(limits(0, 0), GroupStates::default(), true, at(0));
    assert!(!busy(&mut none, "a/1", SECOND));
}
