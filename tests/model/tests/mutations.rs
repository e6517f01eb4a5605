//! Every rule is necessary: each test breaks one, and the checker must find the damage in a small
//! world.
//!
//! In each world the correct protocol holds. [`finds`] checks this first with the same faults, so
//! the violation comes from the broken rule and not from the fault.

use model::property::{
    NO_ENDLESS_IDLING, NO_TASK_STRANDED, NO_TASK_WAITS_ALONE, NO_TRESPASS, ONE_PROCESSOR,
    WAKE_UPS_BY_ACTIVATION,
};
use model::{Budget, Mutation, Protocol, drain};

const NONE: Budget = Budget {
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
    newer_states: 0,
    early_sweeps: 0,
};

fn world(tasks: u8, budget: Budget) -> Protocol {
    Protocol {
        budget,
        ..Protocol::with_tasks(tasks)
    }
}

fn finds(world: Protocol, mutation: Mutation, property: &'static str) {
    let right = world.clone().explore();
    assert!(
        right.violations.is_empty(),
        "the right protocol fails in this world: {right}"
    );
    let wrong = Protocol {
        mutation: Some(mutation),
        ..world
    }
    .explore_for(property);
    eprintln!("wake protocol, {mutation:?}: {wrong}");
    let found = wrong
        .violations
        .iter()
        .any(|(name, path)| *name == property && !path.is_empty());
    assert!(
        found,
        "{mutation:?} was not noticed; the right protocol: {right}"
    );
}

#[test]
fn rule_1_a_request_is_counted_even_while_a_lease_is_live() {
    finds(
        world(2, NONE),
        Mutation::RequestWithoutAdd,
        NO_TASK_WAITS_ALONE,
    );
}

#[test]
fn rule_1_one_write_counts_the_request_and_reads_the_lease() {
    finds(
        world(2, NONE),
        Mutation::LeaseReadBeforeAdd,
        NO_TASK_WAITS_ALONE,
    );
}

#[test]
fn rule_1_a_failed_publish_is_an_error() {
    let budget = Budget { errors: 1, ..NONE };
    finds(
        world(1, budget),
        Mutation::PublishErrorSwallowed,
        NO_TASK_WAITS_ALONE,
    );
}

#[test]
fn rule_1_late_return_requests_a_wake_up() {
    let budget = Budget {
        slow_processors: 1,
        give_backs: 1,
        ..NONE
    };
    finds(
        world(2, budget),
        Mutation::LateGiveBackUnannounced,
        NO_TASK_WAITS_ALONE,
    );
}

#[test]
fn rule_2_each_attempt_has_its_own_owner_id() {
    let budget = Budget {
        duplicates: 1,
        ..NONE
    };
    finds(world(1, budget), Mutation::OwnerIsMessageId, ONE_PROCESSOR);
}

#[test]
fn rule_2_processor_does_not_acquire_a_live_lease() {
    let budget = Budget {
        duplicates: 1,
        ..NONE
    };
    finds(
        world(1, budget),
        Mutation::AcquireOverLiveLease,
        ONE_PROCESSOR,
    );
}

#[test]
fn rule_2_processor_with_an_expired_lease_publishes_a_tail_call() {
    let budget = Budget {
        slow_processors: 1,
        ..NONE
    };
    finds(
        world(1, budget),
        Mutation::LeavesWhenLeaseRanOut,
        NO_TASK_WAITS_ALONE,
    );
}

#[test]
fn rule_3_attempt_fails_if_its_message_has_a_live_lease() {
    let budget = Budget { crashes: 1, ..NONE };
    finds(
        world(1, budget),
        Mutation::BusyWithOwnMessageLeaves,
        NO_TASK_WAITS_ALONE,
    );
}

#[test]
fn rule_4_pass_reads_to_the_end_of_the_index() {
    let budget = Budget {
        slow_processors: 1,
        crashes: 1,
        ..NONE
    };
    finds(
        world(2, budget),
        Mutation::OnePageCountsAsEmpty,
        NO_TASK_WAITS_ALONE,
    );
}

#[test]
fn rule_4_a_take_recognises_its_own_token() {
    let budget = Budget {
        lost_responses: 1,
        ..NONE
    };
    finds(
        world(1, budget),
        Mutation::OwnTakeNotRecognised,
        NO_TASK_STRANDED,
    );
}

#[test]
fn rule_4_take_requires_a_pending_task() {
    let budget = Budget {
        slow_processors: 1,
        ..NONE
    };
    finds(world(2, budget), Mutation::TakeWithoutStatus, NO_TRESPASS);
}

#[test]
fn rule_4_settle_requires_its_token() {
    let budget = Budget {
        slow_runs: 1,
        early_sweeps: 1,
        ..NONE
    };
    let world = Protocol {
        sweep: true,
        ..world(1, budget)
    };
    finds(world, Mutation::SettleWithoutToken, NO_TRESPASS);
}

#[test]
fn rule_5_processor_queries_an_empty_queue_again_after_the_lag() {
    finds(world(1, NONE), Mutation::NoLinger, NO_TASK_WAITS_ALONE);
}

#[test]
fn rule_5_a_release_compares_requested_with_seen() {
    finds(
        world(2, NONE),
        Mutation::ReleaseIgnoresRequested,
        NO_TASK_WAITS_ALONE,
    );
}

#[test]
fn rule_5_heartbeat_does_not_change_seen() {
    finds(
        world(2, NONE),
        Mutation::SeenRenewedByHeartbeat,
        NO_TASK_WAITS_ALONE,
    );
}

#[test]
fn rule_5_query_does_not_change_seen() {
    finds(
        world(2, NONE),
        Mutation::SeenRenewedByQuery,
        NO_TASK_WAITS_ALONE,
    );
}

#[test]
fn rule_6_the_release_comes_before_the_tail_call() {
    let budget = Budget {
        time_ups: 1,
        ..NONE
    };
    finds(
        world(1, budget),
        Mutation::TailCallBeforeRelease,
        NO_TASK_WAITS_ALONE,
    );
}

#[test]
fn rule_6_tail_call_follows_a_rejected_release_too() {
    let budget = Budget {
        time_ups: 1,
        lost_responses: 1,
        ..NONE
    };
    finds(
        world(1, budget),
        Mutation::NoTailCallAfterRefusedRelease,
        NO_TASK_WAITS_ALONE,
    );
}

#[test]
fn rule_6_a_tail_call_that_cannot_be_published_fails_the_invocation() {
    let budget = Budget {
        time_ups: 1,
        errors: 1,
        ..NONE
    };
    finds(
        world(1, budget),
        Mutation::TailCallErrorSwallowed,
        NO_TASK_WAITS_ALONE,
    );
}

#[test]
fn rule_8_sweep_returns_only_the_lease_that_it_read() {
    let budget = Budget {
        slow_runs: 1,
        early_sweeps: 1,
        ..NONE
    };
    let world = Protocol {
        sweep: true,
        ..world(1, budget)
    };
    finds(world, Mutation::SweepWithoutCondition, NO_TRESPASS);
}

#[test]
fn rule_8_sweep_wakes_the_queue() {
    let lossy = Protocol {
        sweep: true,
        ..world(1, Budget { losses: 1, ..NONE })
    };
    assert_eq!(drain::walk(&lossy).stuck, None);
    let wrong = Protocol {
        mutation: Some(Mutation::SweepNeverWakes),
        ..lossy
    };
    let stuck = drain::walk(&wrong).stuck;
    eprintln!(
        "wake protocol, {:?}: stuck after {stuck:?}",
        Mutation::SweepNeverWakes
    );
    assert!(stuck.is_some_and(|path| !path.is_empty()));
}

#[test]
fn rule_9_the_marker_bounds_notifications() {
    let counted = Protocol {
        counts: true,
        ..world(3, NONE)
    };
    finds(counted, Mutation::NoMarker, WAKE_UPS_BY_ACTIVATION);
}

#[test]
fn rule_9_marker_does_not_block_its_own_event() {
    let budget = Budget { crashes: 1, ..NONE };
    finds(
        world(1, budget),
        Mutation::MarkerWithoutOwner,
        NO_TASK_WAITS_ALONE,
    );
}

#[test]
fn rule_9_a_release_clears_the_marker() {
    let budget = Budget {
        slow_processors: 1,
        ..NONE
    };
    finds(
        world(3, budget),
        Mutation::MarkerKeptByRelease,
        NO_TASK_WAITS_ALONE,
    );
}

#[test]
fn rule_10_number_of_turns_without_a_settled_task_is_bounded() {
    let budget = Budget {
        time_ups: Budget::UNLIMITED,
        ..NONE
    };
    let bounded = Protocol {
        idle_bound: Some(3),
        ..world(1, budget)
    };
    finds(bounded, Mutation::NoIdleBound, NO_ENDLESS_IDLING);
}

#[test]
fn rule_10_turn_that_only_waited_does_not_reset_the_count() {
    let budget = Budget {
        time_ups: Budget::UNLIMITED,
        give_backs: 3,
        ..NONE
    };
    let limited = Protocol {
        idle_bound: Some(2),
        rate_limited: true,
        ..world(1, budget)
    };
    finds(limited, Mutation::WaitIsProgress, NO_ENDLESS_IDLING);
}
