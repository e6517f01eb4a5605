//! The guarantees of every store.
#![allow(clippy::unwrap_used, clippy::panic)]

mod control;
mod crashes;
mod groups;
mod keys;
mod leases;
mod names;
mod operator;
mod quarantine;
mod redrive;
mod requests;
mod tasks;

mod checks {
    pub(crate) use super::control::*;
    pub(crate) use super::crashes::*;
    pub(crate) use super::groups::*;
    pub(crate) use super::keys::*;
    pub(crate) use super::leases::*;
    pub(crate) use super::operator::*;
    pub(crate) use super::quarantine::*;
    pub(crate) use super::requests::*;
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
    repeated_put_after_a_lost_acknowledgement_reports_created,
    pages_are_newest_first_and_continue_where_the_last_ended,
    pages_keep_to_their_bound_and_their_order,
    a_page_that_starts_below_its_bound_is_rejected,
    a_take_is_exclusive,
    take_returns_the_whole_task,
    a_lost_acknowledgement_of_a_take_is_recognised,
    only_a_due_and_unexpired_task_is_taken,
    settling_needs_the_token,
    a_lost_acknowledgement_of_a_settlement_is_recognised,
    returned_task_keeps_its_place_and_gets_its_delay,
    a_task_has_its_trace_at_every_attempt,
    busy_return_restores_the_attempt,
    worker_with_an_ended_lease_cannot_settle_or_return_the_task,
    expired_lease_is_reclaimed_once_and_only_with_its_token,
    expired_lease_fails_a_task_only_if_it_ran_alone,
    return_records_whether_a_lease_expired,
    a_repeated_take_has_the_lease_of_the_first,
    only_a_pending_task_is_quarantined,
    a_task_that_changed_since_it_was_seen_is_not_quarantined,
    a_newer_state_is_not_quarantined_for_an_older_one,
    requests_are_counted,
    the_processor_lease_is_exclusive,
    release_is_rejected_after_a_new_request,
    idle_turns_are_counted,
    marker_blocks_other_events,
    pause_blocks_new_leases_and_is_never_shortened,
    pauses_for_a_busy_downstream_are_counted_until_a_turn_recovers,
    renewals_and_releases_keep_an_open_breaker_and_an_overload,
    claim_stores_the_worst_rate_limit_state_until_the_release,
    redrive_resets_the_attempts_and_keeps_the_creation_time,
    only_a_failed_task_is_redriven,
    index_bound_covers_the_oldest_redriven_task,
    only_a_pending_task_is_cancelled,
    resume_ends_a_pause,
    an_operator_holds_the_breaker_open_and_closes_it,
    an_operator_limits_starts_and_ends_the_limit,
    operator_limits_and_pauses_single_groups,
    override_of_one_group_too_many_is_rejected,
    overrides_of_concurrent_operators_are_all_kept,
    only_one_processor_after_another_writes_what_it_learned,
    a_purge_deletes_all_but_taken_tasks,
    store_returns_the_attributes_of_a_task_as_in_the_table,
    latest_state_wins_in_any_order_of_arrival,
    newest_of_many_concurrent_states_wins,
    state_written_during_a_run_is_pending_after_its_end,
    lost_acknowledgement_of_an_overtaken_settlement_is_recognised,
    returned_state_is_superseded_by_a_newer_one,
    reclaim_of_an_overtaken_state_returns_the_newer_one,
    newer_state_keeps_the_backoff_and_the_expired_lease_mark,
    key_that_crashes_its_processes_fails_despite_newer_states,
    settled_run_resets_the_crashes_of_its_key,
    a_failed_state_is_replaced,
    a_state_that_expired_is_shed_and_not_superseded,
    key_and_task_without_a_key_cannot_share_an_id,
    a_key_may_keep_its_place,
    a_state_starts_after_its_own_delay,
    a_state_has_its_own_trace,
    take_repeated_after_its_lease_ended_is_lost,
    request_with_states_of_a_key_equals_single_requests_newest_first,
);
