//! The queue's behaviour, on every store. Tokio's paused clock makes the tests fast and
//! deterministic.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod agents;
mod answers;
mod calls;
mod crashes;
mod defects;
mod misfits;
mod order;
mod sweeps;
mod walk_through;

mod scenes {
    pub(crate) use super::agents::*;
    pub(crate) use super::answers::*;
    pub(crate) use super::calls::*;
    pub(crate) use super::crashes::*;
    pub(crate) use super::defects::*;
    pub(crate) use super::misfits::*;
    pub(crate) use super::order::*;
    pub(crate) use super::sweeps::*;
    pub(crate) use super::walk_through::*;
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
                let still = ::agents::world::Still::hold();
                let store = ::agents::dynamodb().await;
                let world = ::agents::world::World::on(store);
                drop(still);
                super::scenes::$scene(world).await;
            })*
        }
    };
}

on_every_store!(
    the_published_walk_through,
    first_in_is_first_out,
    last_in_is_first_out_where_that_is_the_order,
    any_gender_is_the_oldest_among_the_heads_as_read,
    any_gender_is_the_newest_where_that_is_the_order,
    an_agent_in_several_queues_that_fit_is_tried_once,
    outdated_entries_are_passed_over,
    a_redelivered_call_gets_its_first_answer,
    a_redelivered_call_that_waits_looks_again,
    a_waiting_call_gets_the_next_queued_agent,
    the_longest_waiting_call_that_fits_comes_first,
    a_new_call_never_overtakes_one_that_waits_for_the_same,
    calls_are_given_up_while_they_wait_and_not_later,
    a_call_that_was_cancelled_before_it_arrived_meets_no_agent,
    a_call_that_arrives_too_late_is_expired,
    calls_that_waited_too_long_leave_when_somebody_looks,
    available_alone_never_matches,
    a_late_finish_never_frees_an_agent_in_a_new_call,
    a_finished_agent_is_available_and_not_queued,
    an_agent_leaves_all_queues_at_once,
    a_profile_changes_only_while_not_queued,
    a_profile_changes_in_a_call_without_its_ticket,
    what_is_not_possible_is_refused_and_changes_nothing,
    everybody_available_is_queued_in_the_order_they_became_so,
    many_who_are_queued_at_once_keep_their_order,
    an_unanswered_call_returns_to_its_place_and_is_assigned_again,
    an_answered_call_stays_with_its_agent,
    a_lease_is_extended_by_call_and_ticket_only,
    a_call_without_a_lease_may_be_extended,
    a_call_that_waited_too_long_before_its_answer_expires,
    a_lease_that_is_extended_in_time_is_not_ended_by_the_sweep,
    an_outdated_place_in_the_line_assigns_nothing,
    a_finished_call_is_kept_for_fifteen_days_and_a_waiting_one_without_limit,
    an_agent_comes_back_from_a_call_that_never_ends,
    a_finish_in_time_ends_the_lease,
    the_sweep_expires_calls_and_tells_the_dead_letters,
    the_sweep_tells_forgotten_assignments_after_the_grace,
    a_teller_that_fails_is_asked_again,
    the_sweep_measures,
    a_failing_step_stops_no_other_step_of_the_sweep,
    a_page_that_cannot_be_published_holds_back_no_other,
    a_sweep_ends_at_its_deadline_and_says_so,
    a_call_whose_matcher_died_before_its_look_is_served_by_the_sweep,
    an_agent_whose_desk_died_before_its_look_is_served_by_the_sweep,
    a_dead_matcher_s_call_is_served_by_the_next_agent,
    a_dead_desk_s_agent_is_served_by_the_next_wish,
    a_dead_desk_s_agent_goes_to_the_longest_waiting_by_the_next_call,
    two_sweeps_at_once_do_everything_once,
    a_conflict_is_repeated_and_crashes_nobody,
    conflicts_without_end_are_an_error_to_repeat,
    the_queue_s_version_locks_nobody_out,
    a_match_reads_a_page_however_many_wait,
    one_timestamp_overwrites_nobody,
    concurrent_enqueues_of_one_agent_give_one_caller_the_agent,
    the_id_is_the_key_and_not_the_name,
    a_call_that_never_ends_has_a_lease,
    a_page_of_entries_that_outlived_their_stay_hides_no_agent,
    a_place_that_outlived_its_call_s_wait_blocks_no_line,
    a_place_that_outlived_its_call_s_wait_blocks_no_sweep,
    a_waiting_call_without_an_item_of_its_own_is_served,
    wrong_numbers_of_joins_keep_no_agent_from_a_call,
    an_agent_without_one_of_its_entries_is_matched,
    a_sweep_gives_a_queued_agent_back_what_entries_are_missing,
    an_agent_who_leaves_gets_no_entry_back,
    a_thousand_lines_are_the_most_and_empty_ones_are_closed_after_a_day,
    a_look_serves_every_call_that_an_agent_fits,
    a_look_ends_at_its_deadline_and_keeps_what_it_did,
);
