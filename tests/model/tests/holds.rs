//! The protocol's properties hold in every reachable state of these worlds.
//!
//! Each test prints the number of states. `FRESHQ_SOAK=1` makes the worlds larger, with more tasks
//! and more faults together. The tests then take minutes instead of seconds.

use model::{Budget, Protocol, budget, drain};

/// The larger world with `FRESHQ_SOAK=1`, else the small one.
fn world(everyday: Protocol, soak: Protocol) -> Protocol {
    let soaks = std::env::var("FRESHQ_SOAK").is_ok_and(|value| value == "1");
    if soaks { soak } else { everyday }
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

#[test]
fn without_faults() {
    holds(world(
        Protocol::with(4, Budget::default()),
        Protocol::with(4, budget!(time_ups: 1)),
    ));
}

#[test]
fn crash_and_duplicate() {
    let budget = budget!(crashes: 1, duplicates: 1);
    holds(world(Protocol::with(2, budget), Protocol::with(3, budget)));
}

#[test]
fn crash_and_failed_publish_around_the_tail_call() {
    let budget = budget!(crashes: 1, errors: 1, time_ups: 1);
    holds(world(Protocol::with(2, budget), Protocol::with(3, budget)));
}

#[test]
fn slow_processor_that_returns_a_task() {
    let budget = budget!(slow_processors: 1, slow_runs: 1, returns: 1, time_ups: 1);
    let more = budget!(crashes: 1, ..budget);
    holds(world(Protocol::with(2, budget), Protocol::with(2, more)));
}

#[test]
fn slow_processor_that_crashes() {
    let budget = budget!(crashes: 1, slow_processors: 1, returns: 1);
    let more = budget!(errors: 1, time_ups: 1, marker_ends: 1, returns: 0, ..budget);
    holds(world(Protocol::with(2, budget), Protocol::with(2, more)));
}

#[test]
fn lost_response() {
    let budget = budget!(lost_responses: 1, time_ups: 1);
    let more = budget!(duplicates: 1, ..budget);
    holds(world(Protocol::with(2, budget), Protocol::with(2, more)));
}

#[test]
fn lost_response_of_a_slow_processor() {
    let budget = budget!(lost_responses: 1, slow_processors: 1);
    let more = budget!(returns: 1, time_ups: 1, ..budget);
    holds(world(Protocol::with(2, budget), Protocol::with(2, more)));
}

#[test]
fn lost_notification() {
    let budget = budget!(losses: 1, crashes: 1, marker_ends: 1);
    holds(world(Protocol::with(2, budget), Protocol::with(3, budget)));
}

#[test]
fn sweep_during_running_tasks() {
    let budget = budget!(slow_runs: 1, returns: 1, early_sweeps: 1);
    let more = budget!(slow_processors: 1, ..budget);
    let sweeping = |budget| Protocol {
        sweep: true,
        ..Protocol::with(2, budget)
    };
    holds(world(sweeping(budget), sweeping(more)));
}

#[test]
fn notifications_by_activation() {
    let budget = budget!(duplicates: 1);
    let more = budget!(crashes: 1, ..budget);
    let counting = |budget| Protocol {
        counts: true,
        ..Protocol::with(3, budget)
    };
    holds(world(counting(budget), counting(more)));
}

#[test]
fn turns_without_a_settled_task() {
    let budget = budget!(time_ups: Budget::UNLIMITED, crashes: 1);
    let bounded = |tasks| Protocol {
        idle_bound: Some(3),
        ..Protocol::with(tasks, budget)
    };
    let without_crash = budget!(crashes: 0, ..budget);
    let more = Protocol {
        budget: without_crash,
        ..bounded(3)
    };
    holds(world(bounded(2), more));
}

#[test]
fn turns_that_only_wait_for_the_rate_limit() {
    let budget = budget!(time_ups: Budget::UNLIMITED, returns: 3);
    let limited = |tasks| Protocol {
        idle_bound: Some(2),
        rate_limited: true,
        ..Protocol::with(tasks, budget)
    };
    holds(world(limited(1), limited(2)));
}

#[test]
fn newer_states() {
    holds(Protocol::with(2, budget!(newer_states: 2)));
    let sweep_beside = Protocol {
        sweep: true,
        ..Protocol::with(1, budget!(newer_states: 2, slow_runs: 1, early_sweeps: 1))
    };
    holds(sweep_beside);
}

#[test]
fn newer_states_with_a_crash_and_a_slow_processor() {
    let budget = budget!(newer_states: 2, crashes: 1, slow_processors: 1);
    holds(Protocol::with(1, budget));
}

#[test]
fn newer_states_with_lost_responses_and_returns() {
    let budget = budget!(newer_states: 2, lost_responses: 1, returns: 1, time_ups: 1);
    holds(Protocol::with(1, budget));
}

#[test]
fn a_queue_with_newer_states_can_always_be_emptied() {
    let budget = budget!(newer_states: 2, slow_processors: 1, time_ups: 1);
    drains(Protocol::with(1, budget));
}

#[test]
fn the_queue_can_always_be_emptied() {
    let budget = budget!(slow_processors: 1, returns: 1, time_ups: 1);
    let more = budget!(duplicates: 1, time_ups: 0, ..budget);
    drains(world(Protocol::with(2, budget), Protocol::with(2, more)));
}

#[test]
fn the_sweep_can_always_empty_the_queue() {
    let budget = budget!(losses: 1, crashes: 1, slow_runs: 1);
    let more = budget!(returns: 1, early_sweeps: 1, ..budget);
    let sweeping = |budget| Protocol {
        sweep: true,
        ..Protocol::with(2, budget)
    };
    drains(world(sweeping(budget), sweeping(more)));
}
