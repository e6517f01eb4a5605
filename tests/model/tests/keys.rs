//! Keys: a newer state requests a wake-up like an insert, and none is lost, whatever the status of
//! the older one. Each rule is also broken once.

use model::property::{NO_STATE_LOST, NO_TASK_WAITS_ALONE};
use model::{Mutation, Protocol, Report, budget, drain};

fn holds(world: Protocol) -> Report {
    let report = world.explore();
    eprintln!("wake protocol, keys: {report}");
    assert!(report.violations.is_empty(), "{report}");
    assert!(report.unique > 1, "nothing was explored");
    report
}

/// The correct protocol holds in the world, and the broken one does not.
fn needs(world: Protocol, mutation: Mutation, property: &'static str) {
    holds(world.clone());
    let mutation = Some(mutation);
    let broken = Protocol { mutation, ..world };
    let report = broken.explore_for(property);
    let found = report.violations.iter().any(|(name, _)| *name == property);
    assert!(found, "{mutation:?} was not noticed: {report}");
}

#[test]
fn properties_hold_with_newer_states() {
    holds(Protocol::with(2, budget!(newer_states: 2)));
}

#[test]
fn properties_hold_with_newer_states_a_crash_and_a_slow_processor() {
    holds(Protocol::with(
        1,
        budget!(newer_states: 2, crashes: 1, slow_processors: 1),
    ));
}

#[test]
fn properties_hold_with_newer_states_lost_responses_and_returns() {
    let budget = budget!(newer_states: 2, lost_responses: 1, returns: 1, time_ups: 1);
    holds(Protocol::with(1, budget));
}

#[test]
fn properties_hold_with_newer_states_and_a_concurrent_sweep() {
    let budget = budget!(newer_states: 2, slow_runs: 1, early_sweeps: 1);
    let sweep = true;
    holds(Protocol {
        sweep,
        ..Protocol::with(1, budget)
    });
}

#[test]
fn a_queue_with_newer_states_can_always_be_emptied() {
    let budget = budget!(newer_states: 2, slow_processors: 1, time_ups: 1);
    let drain = drain::walk(&Protocol::with(1, budget));
    assert_eq!(drain.stuck, None);
    assert!(drain.drained > 0);
}

#[test]
fn a_newer_state_of_a_settled_key_requests_a_wake_up() {
    needs(
        Protocol::with(1, budget!(newer_states: 1)),
        Mutation::NewerStateUnannounced,
        NO_TASK_WAITS_ALONE,
    );
}

#[test]
fn a_newer_state_of_a_pending_key_requests_a_wake_up() {
    needs(
        Protocol::with(1, budget!(newer_states: 1)),
        Mutation::MoveUnannounced,
        NO_TASK_WAITS_ALONE,
    );
}

#[test]
fn late_end_of_an_overtaken_run_requests_a_wake_up() {
    let budget = budget!(newer_states: 1, slow_processors: 1);
    needs(
        Protocol::with(2, budget),
        Mutation::OvertakenEndUnannounced,
        NO_TASK_WAITS_ALONE,
    );
}

#[test]
fn settlement_checks_for_newer_states() {
    needs(
        Protocol::with(1, budget!(newer_states: 1)),
        Mutation::SettleOverNewerState,
        NO_STATE_LOST,
    );
}
