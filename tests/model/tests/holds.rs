//! The protocol's properties hold in every reachable state of these worlds.
//!
//! Each test prints the number of states. `FRESHQ_SOAK=1` makes the worlds larger, with more tasks
//! and more combined faults. The tests then take minutes instead of seconds.

use model::{Budget, Protocol, budget, drain};

fn soaks() -> bool {
    std::env::var("FRESHQ_SOAK").is_ok_and(|value| value == "1")
}

fn holds(world: Protocol) {
    let tasks = world.tasks;
    let report = world.explore();
    eprintln!("wake protocol: {report} ({tasks} tasks)");
    assert!(report.violations.is_empty(), "{report}");
    assert!(report.unique > 1, "nothing was explored");
}

fn drains(world: Protocol) {
    let tasks = world.tasks;
    let drain = drain::walk(&world);
    let drain::Drain {
        states,
        transitions,
        drained,
        stuck,
    } = &drain;
    eprintln!(
        "wake protocol: {states} unique states, {transitions} transitions, each leads to one of \
         {drained} drained states ({tasks} tasks)"
    );
    assert_eq!(
        *stuck, None,
        "a state from which the queue cannot be emptied"
    );
    assert!(*drained > 0);
}

/// Creates a world with this number of tasks, these faults and these [`Protocol`] fields.
macro_rules! world {
    ({$tasks:expr $(, $fault:ident: $most:expr)* $(; $($part:ident: $value:expr),*)?}) => {
        Protocol { $($($part: $value,)*)? ..Protocol::with($tasks, budget!($($fault: $most),*)) }
    };
}

/// Defines tests, each with its name, its description, its world, and the larger world for `FRESHQ_SOAK=1`.
macro_rules! worlds {
    ($($test:ident: $check:ident in $world:tt $(or $larger:tt)?;)*) => {$(
        #[test]
        fn $test() {
            let world = world!($world);
            $(let world = if soaks() { world!($larger) } else { world };)?
            $check(world);
        }
    )*};
}

worlds! {
    without_faults: holds in {4}
        or {4, time_ups: 1};
    crash_and_duplicate: holds in {2, crashes: 1, duplicates: 1}
        or {3, crashes: 1, duplicates: 1};
    crash_and_failed_publish_around_the_tail_call: holds in {2, crashes: 1, errors: 1, time_ups: 1}
        or {3, crashes: 1, errors: 1, time_ups: 1};
    slow_processor_that_returns_a_task: holds in {2, slow_processors: 1, slow_runs: 1, returns: 1, time_ups: 1}
        or {2, slow_processors: 1, slow_runs: 1, returns: 1, time_ups: 1, crashes: 1};
    slow_processor_that_crashes: holds in {2, crashes: 1, slow_processors: 1, returns: 1}
        or {2, crashes: 1, slow_processors: 1, errors: 1, time_ups: 1, marker_ends: 1};
    lost_response: holds in {2, lost_responses: 1, time_ups: 1}
        or {2, lost_responses: 1, time_ups: 1, duplicates: 1};
    lost_response_of_a_slow_processor: holds in {2, lost_responses: 1, slow_processors: 1}
        or {2, lost_responses: 1, slow_processors: 1, returns: 1, time_ups: 1};
    lost_notification: holds in {2, losses: 1, crashes: 1, marker_ends: 1}
        or {3, losses: 1, crashes: 1, marker_ends: 1};
    sweep_during_running_tasks: holds in {2, slow_runs: 1, returns: 1, early_sweeps: 1; sweep: true}
        or {2, slow_runs: 1, returns: 1, early_sweeps: 1, slow_processors: 1; sweep: true};
    notifications_by_activation: holds in {3, duplicates: 1; counts: true}
        or {3, duplicates: 1, crashes: 1; counts: true};
    turns_without_a_settled_task: holds in {2, time_ups: Budget::UNLIMITED, crashes: 1; idle_bound: Some(3)}
        or {3, time_ups: Budget::UNLIMITED; idle_bound: Some(3)};
    turns_that_only_wait_for_the_rate_limit: holds
        in {1, time_ups: Budget::UNLIMITED, returns: 3; idle_bound: Some(2), rate_limited: true}
        or {2, time_ups: Budget::UNLIMITED, returns: 3; idle_bound: Some(2), rate_limited: true};
    newer_states: holds in {2, newer_states: 2};
    newer_states_beside_a_sweep: holds in {1, newer_states: 2, slow_runs: 1, early_sweeps: 1; sweep: true};
    newer_states_with_a_crash_and_a_slow_processor: holds in {1, newer_states: 2, crashes: 1, slow_processors: 1};
    newer_states_with_lost_responses_and_returns: holds
        in {1, newer_states: 2, lost_responses: 1, returns: 1, time_ups: 1};
    a_queue_with_newer_states_can_always_be_emptied: drains in {1, newer_states: 2, slow_processors: 1, time_ups: 1};
    the_queue_can_always_be_emptied: drains in {2, slow_processors: 1, returns: 1, time_ups: 1}
        or {2, slow_processors: 1, returns: 1, duplicates: 1};
    the_sweep_can_always_empty_the_queue: drains in {2, losses: 1, crashes: 1, slow_runs: 1; sweep: true}
        or {2, losses: 1, crashes: 1, slow_runs: 1, returns: 1, early_sweeps: 1; sweep: true};
}
