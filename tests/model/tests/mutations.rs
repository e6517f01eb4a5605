//! Proves that every rule is necessary. Each test breaks one rule, and the checker must find the
//! violation in a small world.
//!
//! In each world, the correct protocol holds. [`finds`] checks this first with the same faults, so
//! the violation comes from the broken rule, not from the faults.

use model::property::{
    NO_ENDLESS_IDLING, NO_STATE_LOST, NO_TASK_STRANDED, NO_TASK_WAITS_ALONE, NO_TRESPASS,
    ONE_PROCESSOR, WAKE_UPS_BY_ACTIVATION,
};
use model::{Budget, Mutation, Protocol, budget, drain};

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

/// Defines tests, each with the broken rule, a world with this number of tasks, these faults and
/// these [`Protocol`] fields, and the violated property.
macro_rules! broken {
    ($($test:ident:
        $mutation:ident in ($tasks:expr $(, $fault:ident: $most:expr)*) $({$($part:ident: $value:expr),*})? => $property:ident;)*) => {$(
        #[test]
        fn $test() {
            let world = Protocol { $($($part: $value,)*)? ..Protocol::with($tasks, budget!($($fault: $most),*)) };
            finds(world, Mutation::$mutation, $property);
        }
    )*};
}

broken! {
    rule_1_a_request_is_counted_even_while_a_lease_is_live:
        RequestWithoutAdd in (2) => NO_TASK_WAITS_ALONE;
    rule_1_one_write_counts_the_request_and_reads_the_lease:
        LeaseReadBeforeAdd in (2) => NO_TASK_WAITS_ALONE;
    rule_1_a_failed_publish_is_an_error:
        PublishErrorSwallowed in (1, errors: 1) => NO_TASK_WAITS_ALONE;
    rule_1_late_return_requests_a_wake_up:
        LateReturnUnannounced in (2, slow_processors: 1, returns: 1) => NO_TASK_WAITS_ALONE;
    rule_1_newer_state_of_a_settled_key_requests_a_wake_up:
        NewerStateUnannounced in (1, newer_states: 1) => NO_TASK_WAITS_ALONE;
    rule_1_newer_state_of_a_pending_key_requests_a_wake_up:
        MoveUnannounced in (1, newer_states: 1) => NO_TASK_WAITS_ALONE;
    rule_1_late_end_of_an_overtaken_run_requests_a_wake_up:
        OvertakenEndUnannounced in (2, newer_states: 1, slow_processors: 1) => NO_TASK_WAITS_ALONE;
    rule_2_each_attempt_has_its_own_owner_id:
        OwnerIsMessageId in (1, duplicates: 1) => ONE_PROCESSOR;
    rule_2_processor_does_not_acquire_a_live_lease:
        AcquireOverLiveLease in (1, duplicates: 1) => ONE_PROCESSOR;
    rule_2_processor_with_an_expired_lease_publishes_a_tail_call:
        LeavesWhenLeaseExpired in (1, slow_processors: 1) => NO_TASK_WAITS_ALONE;
    rule_3_attempt_fails_if_its_message_has_a_live_lease:
        BusyWithOwnMessageLeaves in (1, crashes: 1) => NO_TASK_WAITS_ALONE;
    rule_4_pass_reads_to_the_end_of_the_index:
        OnePageCountsAsEmpty in (2, slow_processors: 1, crashes: 1) => NO_TASK_WAITS_ALONE;
    rule_4_a_take_recognises_its_own_token:
        OwnTakeNotRecognised in (1, lost_responses: 1) => NO_TASK_STRANDED;
    rule_4_take_requires_a_pending_task:
        TakeWithoutStatus in (2, slow_processors: 1) => NO_TRESPASS;
    rule_4_settle_requires_its_token:
        SettleWithoutToken in (1, slow_runs: 1, early_sweeps: 1) {sweep: true} => NO_TRESPASS;
    rule_4_settle_checks_for_newer_states:
        SettleOverNewerState in (1, newer_states: 1) => NO_STATE_LOST;
    rule_5_processor_queries_an_empty_queue_again_after_the_lag:
        NoLinger in (1) => NO_TASK_WAITS_ALONE;
    rule_5_a_release_compares_requested_with_seen:
        ReleaseIgnoresRequested in (2) => NO_TASK_WAITS_ALONE;
    rule_5_heartbeat_does_not_change_seen:
        SeenRenewedByHeartbeat in (2) => NO_TASK_WAITS_ALONE;
    rule_5_query_does_not_change_seen:
        SeenRenewedByQuery in (2) => NO_TASK_WAITS_ALONE;
    rule_6_the_release_comes_before_the_tail_call:
        TailCallBeforeRelease in (1, time_ups: 1) => NO_TASK_WAITS_ALONE;
    rule_6_tail_call_follows_a_rejected_release_too:
        NoTailCallAfterRejectedRelease in (1, time_ups: 1, lost_responses: 1) => NO_TASK_WAITS_ALONE;
    rule_6_a_tail_call_that_cannot_be_published_fails_the_invocation:
        TailCallErrorSwallowed in (1, time_ups: 1, errors: 1) => NO_TASK_WAITS_ALONE;
    rule_8_sweep_returns_only_the_lease_that_it_read:
        SweepWithoutCondition in (1, slow_runs: 1, early_sweeps: 1) {sweep: true} => NO_TRESPASS;
    rule_9_the_marker_bounds_notifications:
        NoMarker in (3) {counts: true} => WAKE_UPS_BY_ACTIVATION;
    rule_9_marker_does_not_block_its_own_event:
        MarkerWithoutOwner in (1, crashes: 1) => NO_TASK_WAITS_ALONE;
    rule_9_a_release_clears_the_marker:
        MarkerKeptByRelease in (3, slow_processors: 1) => NO_TASK_WAITS_ALONE;
    rule_10_number_of_turns_without_a_settled_task_is_bounded:
        NoIdleBound in (1, time_ups: Budget::UNLIMITED) {idle_bound: Some(3)} => NO_ENDLESS_IDLING;
    rule_10_turn_that_only_waited_does_not_reset_the_count:
        WaitIsProgress in (1, time_ups: Budget::UNLIMITED, returns: 3) {idle_bound: Some(2), rate_limited: true} => NO_ENDLESS_IDLING;
}

#[test]
fn rule_8_sweep_wakes_the_queue() {
    let lossy = Protocol {
        sweep: true,
        ..Protocol::with(1, budget!(losses: 1))
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
