//! The guarantees of every store.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod agents;
mod calls;
mod changes;
mod leases;
mod queues;
mod refusals;

mod checks {
    pub(crate) use super::agents::*;
    pub(crate) use super::calls::*;
    pub(crate) use super::changes::*;
    pub(crate) use super::leases::*;
    pub(crate) use super::queues::*;
    pub(crate) use super::refusals::*;
}

/// Runs each check on each store.
macro_rules! on_every_store {
    ($($check:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test] async fn $check() { super::checks::$check(agents::memory()).await; })*
        }
        mod dynamodb {
            $(#[tokio::test] async fn $check() { super::checks::$check(agents::dynamodb().await).await; })*
        }
    };
}

on_every_store!(
    a_new_agent_is_stored_whole_and_only_once,
    an_agent_is_whole_in_every_state,
    an_arrow_needs_its_status_its_ticket_and_its_call,
    agents_are_listed_by_id_page_by_page,
    a_queue_is_opened_once_and_then_left_alone,
    a_queue_s_version_counts_joins_and_departures,
    an_entry_joins_one_place_once_and_leaves_it_once,
    a_peek_is_in_order_and_reads_no_more_than_it_was_asked_for,
    two_agents_of_one_microsecond_both_wait,
    a_call_is_new_once,
    only_a_waiting_call_ends,
    calls_wait_by_their_age_each_for_its_own_criteria,
    calls_of_one_moment_wait_by_their_sequence,
    waiting_calls_are_counted_by_their_lines,
    a_line_is_closed_unless_it_was_opened_since,
    leases_that_ran_out_come_first_to_last,
    news_are_kept_until_they_were_told,
    more_news_than_a_batch_takes_are_forgotten_together,
    a_change_happens_once,
    a_change_that_was_refused_may_happen_later,
    one_condition_that_is_not_met_undoes_every_step,
    every_refusal_is_told_with_its_step,
    an_assignment_is_one_change,
    a_wait_and_its_end_are_one_change_each,
    the_largest_agent_is_matched_in_one_change,
    one_of_many_calls_wins_an_agent,
);
