use super::*;
use crate::process::health::tests::settings;

fn domains() -> Domains {
    Domains::new(&settings(), &[], Millis(0))
}

/// Starts and ends a run with this signal. Returns whether it costs an attempt.
fn run(domains: &mut Domains, task: &str, signal: Signal, now: i64) -> bool {
    let (task, now) = (TaskId::from_stored(task), Millis(now));
    domains.of(&task).attempt_started(&task, now);
    let run = Run {
        started: now,
        ended: now,
        first: false,
    };
    let ruling = domains.run_ended(&run, &task, signal);
    domains.rest(task.group());
    ruling.charged
}

#[test]
fn outage_of_one_group_costs_no_attempt_and_does_not_affect_another() {
    let mut domains = domains();
    for second in 0..5 {
        run(&mut domains, "b/1", Signal::Result, second * 1_000);
        let charged = run(&mut domains, "a/1", Signal::Unavailable, second * 1_000 + 1);
        assert!(!charged, "{second} s");
    }
    let waits = |name, now| domains.waits_until(name, 0, Millis(now));
    assert_eq!(waits("a", 4_001), Some(Millis(5_001)));
    assert_eq!(waits("a", 5_001), None);
    assert_eq!(waits("b", 4_001), None);
}

#[test]
fn task_that_always_fails_uses_up_its_attempts_in_a_group_with_results() {
    let mut domains = domains();
    let mut attempts = 0;
    for second in 1..=10 {
        let at = second * 1_000;
        attempts += u32::from(run(&mut domains, "a/poison", Signal::Unavailable, at));
        run(&mut domains, "a/other", Signal::Result, at + 1);
    }
    assert_eq!(attempts, 9, "all but the first");
}

#[test]
fn health_at_rest_is_removed_and_others_are_left_for_the_next_turn() {
    let mut domains = domains();
    run(&mut domains, "a/1", Signal::Result, 0);
    run(&mut domains, "b/1", Signal::Unavailable, 0);
    assert!(domains.get("a").is_none());
    let b = domains.get("b").unwrap();
    let left = LearnedGroup {
        name: "b".to_owned(),
        health: b.left(),
        ..LearnedGroup::default()
    };
    let mut next = Domains::new(&settings(), &[left], Millis(60_000));
    for number in 0..4 {
        assert_eq!(next.open("b"), None);
        run(&mut next, "b/1", Signal::Unavailable, 60_000 + number);
    }
    assert!(next.open("b").is_some());
}
