//! The queue's behaviour, on every store. Tokio's paused clock makes the tests fast and
//! deterministic.
#![allow(clippy::unwrap_used)]

mod agents;
mod answers;
mod calls;
mod crashes;
mod defects;
mod misfits;
mod order;
mod sweeps;
mod unpublished;

mod scenes {
    pub(crate) use super::agents::*;
    pub(crate) use super::answers::*;
    pub(crate) use super::calls::*;
    pub(crate) use super::crashes::*;
    pub(crate) use super::defects::*;
    pub(crate) use super::misfits::*;
    pub(crate) use super::order::*;
    pub(crate) use super::sweeps::*;
    pub(crate) use super::unpublished::*;
}

/// Runs each scene on each store.
macro_rules! on_every_store {
    ($($scene:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test(start_paused = true)] async fn $scene() {
                super::scenes::$scene(::agents::world::World::on(::agents::memory())).await;
            })*
        }
        mod dynamodb {
            $(#[tokio::test(start_paused = true)] async fn $scene() {
                super::scenes::$scene(::agents::world::World::on(::agents::dynamodb())).await;
            })*
        }
    };
}

on_every_store!(
    fifo_order_assigns_the_first_queued_agent_first,
    lifo_order_assigns_the_last_queued_agent_first,
    wildcard_call_gets_the_oldest_of_the_queue_heads,
    agent_in_several_matching_queues_is_tried_once,
    outdated_entries_are_passed_over,
    a_redelivered_call_gets_its_first_response,
    pending_call_gets_the_next_queued_agent,
    oldest_matching_pending_call_is_assigned_first,
    new_call_never_overtakes_a_pending_call_of_the_same_criteria,
    call_cancelled_before_arrival_is_not_assigned,
    calls_past_their_maximum_wait_expire_at_the_next_match,
    a_late_finish_never_frees_an_agent_in_a_new_call,
    an_agent_leaves_all_queues_at_once,
    agents_queued_together_keep_their_order,
    an_unanswered_call_returns_to_its_place_and_is_assigned_again,
    a_call_without_a_lease_may_be_extended,
    a_call_that_waited_too_long_before_its_answer_expires,
    a_lease_that_is_extended_in_time_is_not_ended_by_the_sweep,
    outdated_line_entry_assigns_nothing,
    five_minutes_without_the_topic_cost_no_agent_its_place,
    unpublished_assignment_of_an_available_agent_queues_it,
    unpublished_assignment_without_a_place_queues_its_agent_last,
    cancelled_unanswered_call_returns_its_agent_to_its_place,
    agent_of_a_cancelled_unanswered_call_gets_a_pending_call,
    agent_of_a_cancelled_call_without_a_place_is_queued_last,
    answer_within_the_clock_difference_keeps_the_call,
    cancel_of_an_inconsistent_call_ends_with_an_error,
    answer_before_the_cancellation_keeps_the_call,
    finished_call_is_not_cancelled_while_its_agent_attends_the_next,
    ended_call_is_kept_for_fifteen_days_and_a_pending_one_without_limit,
    sweep_makes_an_agent_available_when_its_call_lease_expires,
    sweep_expires_calls_and_sends_them_to_the_dead_letter_queue,
    sweep_publishes_missed_assignments_after_the_grace_period,
    sweep_retries_failed_publications,
    a_failing_step_stops_no_other_step_of_the_sweep,
    unpublishable_page_does_not_delay_other_pages,
    sweep_ends_at_its_deadline_and_reports_it_is_incomplete,
    sweep_assigns_a_call_whose_matcher_crashed,
    sweep_assigns_an_agent_whose_desk_crashed,
    next_enqueue_assigns_the_call_of_a_crashed_matcher,
    repeated_enqueue_assigns_a_call_after_a_desk_crash,
    next_call_assigns_oldest_calls_to_agents_of_a_crashed_desk,
    two_sweeps_at_once_do_everything_once,
    match_is_retried_after_a_conflict,
    repeated_conflicts_end_in_a_retryable_error,
    queue_version_changes_do_not_block_matches,
    match_reads_one_page_for_any_queue_length,
    concurrent_enqueues_of_one_agent_give_one_caller_the_agent,
    expired_call_lease_lets_the_agent_be_queued_again,
    page_of_outdated_entries_hides_no_agent,
    outdated_line_entry_does_not_block_the_line,
    outdated_line_entry_does_not_block_the_sweep,
    line_entry_without_a_call_item_is_assigned,
    an_agent_without_one_of_its_entries_is_matched,
    sweep_restores_missing_entries_of_a_queued_agent,
    sweep_restores_no_entry_of_an_agent_who_leaves,
    lines_are_limited_to_1000_and_empty_ones_close_after_an_hour,
    unanswered_call_returns_to_its_line_beyond_the_limit_of_lines,
    one_match_assigns_every_call_with_a_matching_agent,
    match_stops_at_its_deadline_and_keeps_its_assignments,
    match_begins_no_change_after_its_deadline,
);
