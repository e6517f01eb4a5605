use std::collections::HashMap;
use std::ops::Range;

use super::*;
use crate::process::filter::Pass;
use crate::task::Ttl;

pub(in crate::process) fn task(group: &str, created: i64) -> Candidate {
    Candidate {
        id: TaskId::from_stored(format!("{group}/{created}")),
        created: Millis(created),
        ttl: Ttl::Missing,
        not_before: None,
        attempts: 0,
        lease_expired: false,
    }
}

/// Tasks of a group, newest first.
pub(in crate::process) fn tasks(group: &str, created: Range<i64>) -> Vec<Candidate> {
    created.rev().map(|at| task(group, at)).collect()
}

fn newest_first() -> Groups {
    Groups::new(Order::NewestFirst)
}

/// Returns the id of the next task, while the group `closed` is closed.
fn pop(groups: &mut Groups, closed: &str, now: i64) -> Option<String> {
    let (mut pass, skip) = (Pass::default(), HashMap::new());
    let mut any = |_: &Candidate| true;
    let mut filter = Filter::new(&mut pass, &skip, Millis(now), &mut any);
    let gates = |group: &str| (group == closed).then_some(Millis::MAX);
    let task = groups.pop(Millis(now), &mut filter, &gates)?;
    Some(task.id.to_string())
}

/// Starts tasks of a group, which keep running.
fn start(groups: &mut Groups, group: &str, starts: i64, now: i64) {
    for number in 0..starts {
        groups.started(&task(group, number).id, Millis(now));
    }
}

/// Starts tasks of a group. Their attempts end immediately, without a run.
fn serve(groups: &mut Groups, group: &str, starts: i64, now: i64) {
    start(groups, group, starts, now);
    for number in 0..starts {
        groups.ended(&task(group, number).id, None, Millis(now));
    }
}

/// Whether group `a` received less service than group `b`. In a tie, `b` is first.
fn is_a_first(groups: &mut Groups, now: i64) -> bool {
    groups.add(vec![task("b", 2), task("a", 1)], None, None, Millis(now));
    pop(groups, "", now).unwrap() == "a/1"
}

#[test]
fn number_of_known_candidates_is_bounded() {
    let mut groups = newest_first();
    for page in 0..100 {
        let from = page * 1_000;
        let tasks = (from..from + 1_000).map(|at| task(&format!("g{}", at % 3_000), at));
        groups.add(tasks.collect(), None, Some(Millis(from)), Millis(from));
    }
    let known: usize = groups.groups.values().map(|group| group.tasks.len()).sum();
    assert!(known <= KEPT_OF_ALL + 1_000, "{known}");
    assert!(pop(&mut groups, "", 200_000).is_some());
}

#[test]
fn head_forgets_all_but_the_first_tasks_of_each_group() {
    let mut groups = newest_first();
    let kept = i64::try_from(KEPT).unwrap();
    let index = [tasks("a", 0..kept + 2), tasks("b", 100..100 + kept)].concat();
    let added = groups.add(index, None, None, Millis(1_000));
    assert_eq!((added.unseen, added.forgot), (2 * KEPT + 2, false));
    let next_head = |groups: &mut Groups, tasks| {
        let added = groups.add(tasks, None, Some(Millis(200)), Millis(1_000));
        let len = |name| groups.groups[name].tasks.len();
        (added.forgot, len("a"), len("b"))
    };
    assert_eq!(next_head(&mut groups, vec![]), (true, KEPT, KEPT));
    assert_eq!(next_head(&mut groups, vec![]), (false, KEPT, KEPT));
    // The newest tasks stay.
    assert_eq!(groups.groups["a"].tasks.back(), Some(&task("a", 2)));
    // A pass need not find the tasks of a closed group again, because they are not due.
    next_head(&mut groups, tasks("a", 200..202));
    assert_eq!(
        pop(&mut groups, "a", 1_000).unwrap(),
        format!("b/{}", 99 + kept)
    );
    assert_eq!(next_head(&mut groups, vec![]), (false, KEPT, KEPT - 1));
}

#[test]
fn group_is_forgotten_without_tasks_and_recent_service() {
    let mut groups = newest_first();
    serve(&mut groups, "served", 1, 0);
    start(&mut groups, "running", 1, 0);
    // Service below a hundredth of a start counts as zero: after 6.6 half-lives of 10 s each.
    for (now, expected) in [(66_000, 2), (67_000, 1)] {
        groups.add(vec![], None, None, Millis(now));
        assert_eq!(groups.groups.len(), expected, "{now}");
    }
    assert!(groups.groups.contains_key("running"));
}

#[test]
fn service_is_halved_every_ten_mean_runs() {
    // The mean run is assumed to take a second until the first run ends.
    for (ran, half_life) in [(None, 10_000), (Some(Duration::from_millis(100)), 1_000)] {
        // The weight is reset at no time, between the two services, and before them.
        for begin in [0, 63 * half_life + half_life / 2, 300 * half_life] {
            for (starts, expected) in [(39, true), (41, false)] {
                let mut groups = newest_first();
                start(&mut groups, "other", 1, 0);
                groups.ended(&task("other", 0).id, ran, Millis(0));
                serve(&mut groups, "a", starts, begin);
                serve(&mut groups, "other", 1, begin + half_life / 3);
                serve(&mut groups, "b", 20, begin + half_life);
                let is_first = is_a_first(&mut groups, begin + half_life);
                assert_eq!(is_first, expected, "{starts} starts, {ran:?}, {begin}");
            }
        }
    }
}

#[test]
fn running_tasks_receive_service_for_their_time_in_slots() {
    // At 3 s, the two starts of group `a` count 1.6, and their time in slots 6. Then one task ends.
    // At 5 s, the starts count 1.4, and the time in slots 5.2 and 2.
    for (now, starts, expected) in [
        (3_000, 7, false),
        (3_000, 8, true),
        (5_000, 8, false),
        (5_000, 9, true),
    ] {
        let mut groups = newest_first();
        start(&mut groups, "a", 2, 0);
        groups.ended(&task("a", 0).id, None, Millis(3_000));
        serve(&mut groups, "b", starts, now);
        let is_first = is_a_first(&mut groups, now);
        assert_eq!(is_first, expected, "{starts} starts of b at {now}");
    }
}

#[test]
fn service_of_long_ago_counts_less_than_a_long_run() {
    let mut groups = newest_first();
    // The weight of service at 640 s is the highest one, and is not reset.
    serve(&mut groups, "a", 500, 640_000);
    start(&mut groups, "b", 1, 640_000);
    // The 500 starts count 7.8 at 700 s, and the run of 60 s counts 60.
    assert!(is_a_first(&mut groups, 700_000));
}

#[test]
fn mean_run_follows_the_latest_runs() {
    let mut decay = newest_first().decay;
    assert_eq!(decay.mean(), 1_000.0);
    decay.ran(Duration::from_millis(100));
    assert_eq!(decay.mean(), 100.0);
    decay.ran(Duration::from_millis(200));
    assert_eq!(decay.mean(), 110.0);
    let mut decay = newest_first().decay;
    decay.ran(Duration::ZERO);
    assert_eq!(decay.mean(), 1.0, "a run counts as at least a millisecond");
}

#[test]
fn tasks_created_before_the_bound_are_forgotten() {
    let mut groups = newest_first();
    groups.add(tasks("a", 1..5), None, None, Millis(10));
    groups.forget_before(Millis(3));
    assert_eq!(groups.groups["a"].tasks, tasks("a", 3..5));
}

#[test]
fn groups_are_empty_if_every_task_is_in_a_closed_group() {
    let mut groups = newest_first();
    assert!(groups.is_empty());
    groups.add(vec![task("a", 1)], None, None, Millis(10));
    assert!(!groups.is_empty());
    assert_eq!(pop(&mut groups, "a", 10), None);
    assert!(groups.is_empty());
    groups.add(vec![task("b", 2)], Some(Millis(3)), None, Millis(10));
    assert!(!groups.is_empty());
    assert_eq!(pop(&mut groups, "a", 10).unwrap(), "b/2");
    assert!(groups.is_empty());
}
