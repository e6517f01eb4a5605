//! The guarantees of every store.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod control;
mod keys;
mod leases;
mod names;
mod operator;
mod redrive;
mod tasks;

mod checks {
    pub(crate) use super::control::*;
    pub(crate) use super::keys::*;
    pub(crate) use super::leases::*;
    pub(crate) use super::operator::*;
    pub(crate) use super::tasks::*;
}

/// Runs each check on each store.
macro_rules! on_every_store {
    ($($check:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test] async fn $check() { super::checks::$check(conformance::memory()).await; })*
        }
        mod dynamodb {
            $(#[tokio::test] async fn $check() { super::checks::$check(conformance::dynamodb().await).await; })*
        }
    };
}

on_every_store!(
    creating_is_idempotent,
    a_lost_acknowledgement_of_our_own_put_is_created,
    pages_are_newest_first_and_go_on_where_they_ended,
    pages_keep_to_their_bound_and_their_order,
    a_page_that_starts_below_its_bound_is_rejected,
    a_take_is_exclusive,
    a_taken_task_is_whole,
    a_lost_acknowledgement_of_a_take_is_recognised,
    a_task_that_is_not_due_or_expired_is_not_taken,
    settling_needs_the_token,
    a_lost_acknowledgement_of_a_settlement_is_recognised,
    a_task_given_back_keeps_its_place_and_waits,
    a_task_has_its_trace_at_every_attempt,
    a_busy_return_gives_the_attempt_back,
    a_late_worker_cannot_touch_what_another_holds,
    a_lease_is_reclaimed_once_it_ran_out_and_only_that_lease,
    a_lease_that_ran_out_is_a_failure_only_if_the_task_ran_alone,
    a_give_back_keeps_the_mark_of_an_expired_lease,
    a_repeated_take_has_the_lease_of_the_first,
    quarantine_is_for_pending_tasks,
    requests_are_counted,
    the_processor_lease_is_exclusive,
    a_release_notices_requests,
    idle_turns_are_counted,
    a_mark_holds_other_events_back,
    a_pause_keeps_processors_out_and_is_never_shortened,
    pauses_for_a_busy_downstream_are_counted_until_a_turn_recovers,
    renewals_and_releases_keep_an_open_breaker_and_an_overload,
    the_rate_limit_is_kept_at_its_worst_until_the_release,
    a_failed_task_is_redriven_with_new_attempts_and_its_old_age,
    only_a_failed_task_is_redriven,
    the_bound_remembers_the_oldest_redriven_task,
    only_a_waiting_task_is_cancelled,
    a_pause_is_ended_by_resume,
    an_operator_holds_the_breaker_open_and_closes_it,
    a_purge_deletes_all_but_taken_tasks,
    the_attributes_of_a_task_are_those_of_the_table,
    the_latest_state_wins_in_whatever_order_states_come,
    of_many_states_put_at_once_the_newest_stays,
    a_state_that_comes_during_a_run_waits_for_its_end,
    a_lost_acknowledgement_of_an_overtaken_end_is_recognised,
    an_overtaken_state_that_is_returned_is_superseded,
    an_overtaken_lease_that_ran_out_leaves_the_newer_state,
    a_newer_state_keeps_the_backoff_and_the_mark,
    a_failed_state_is_replaced,
    a_state_that_expired_is_shed_and_not_superseded,
    a_key_and_a_task_without_one_keep_apart,
    a_key_may_keep_its_place,
    a_state_starts_after_its_own_delay,
    a_state_has_its_own_trace,
    a_take_that_arrives_after_the_end_of_its_lease_is_lost,
);
