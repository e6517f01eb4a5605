//! Keys: a newer state requests a wake-up like an insert, and none is lost, whatever the status of
//! the older one. Each rule is also broken once.

use model::property::{NO_STATE_LOST, NO_TASK_WAITS_ALONE};
use model::{Budget, Mutation, Protocol, Report, drain};

const ONE: Budget = Budget {
    crashes: 0,
    losses: 0,
    duplicates: 0,
    lost_responses: 0,
    errors: 0,
    slow_processors: 0,
    slow_runs: 0,
    give_backs: 0,
    time_ups: 0,
    marker_ends: 0,
    newer_states: 1,
    early_sweeps: 0,
};

fn keys(tasks: u8, budget: Budget) -> Protocol {
    Protocol {
        budget,
        ..Protocol::with_tasks(tasks)
    }
}

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
    holds(keys(
        2,
        Budget {
            newer_states: 2,
            ..ONE
        },
    ));
}

#[test]
fn properties_hold_with_newer_states_a_crash_and_a_slow_processor() {
    holds(keys(
        1,
        Budget {
            newer_states: 2,
            crashes: 1,
            slow_processors: 1,
            ..ONE
        },
    ));
}

#[test]
fn properties_hold_with_newer_states_lost_responses_and_returns() {
    let budget = Budget {
        newer_states: 2,
        lost_responses: 1,
        give_backs: 1,
        time_ups: 1,
        ..ONE
    };
    holds(keys(1, budget));
}

#[test]
fn properties_hold_with_newer_states_and_a_concurrent_sweep() {
    let budget = Budget {
        newer_states: 2,
        slow_runs: 1,
        early_sweeps: 1,
        ..ONE
    };
    let sweep = true;
    holds(Protocol {
        sweep,
        ..keys(1, budget)
    });
}

#[test]
fn a_queue_with_newer_states_can_always_be_emptied() {
    let budget = Budget {
        newer_states: 2,
        slow_processors: 1,
        time_ups: 1,
        ..ONE
    };
    let drain = drain::walk(&keys(1, budget));
    assert_eq!(drain.stuck, None);
    assert!(drain.drained > 0);
}

#[test]
fn a_newer_state_of_a_settled_key_requests_a_wake_up() {
    needs(
        keys(1, ONE),
        Mutation::NewerStateUnannounced,
        NO_TASK_WAITS_ALONE,
    );
}

#[test]
fn a_newer_state_of_a_pending_key_requests_a_wake_up() {
    needs(keys(1, ONE), Mutation::MoveUnannounced, NO_TASK_WAITS_ALONE);
}

#[test]
fn late_end_of_an_overtaken_run_requests_a_wake_up() {
    let budget = Budget {
        slow_processors: 1,
        ..ONE
    };
    needs(
        keys(2, budget),
        Mutation::OvertakenEndUnannounced,
        NO_TASK_WAITS_ALONE,
    );
}

#[test]
fn settlement_checks_for_newer_states() {
    needs(keys(1, ONE), Mutation::SettleOverNewerState, NO_STATE_LOST);
}
