//! The guarantees of every store.
#![allow(clippy::unwrap_used)]

mod agents;
mod calls;
mod changes;
mod leases;
mod queues;
mod rejections;

mod checks {
    pub(crate) use super::agents::*;
    pub(crate) use super::calls::*;
    pub(crate) use super::changes::*;
    pub(crate) use super::leases::*;
    pub(crate) use super::queues::*;
    pub(crate) use super::rejections::*;
}

/// Runs each check on each store.
macro_rules! on_every_store {
    ($($check:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test] async fn $check() { super::checks::$check(agents::memory()).await; })*
        }
        mod dynamodb {
            $(#[tokio::test] async fn $check() { super::checks::$check(agents::dynamodb()).await; })*
        }
    };
}

on_every_store!(
    a_new_agent_is_stored_whole_and_only_once,
    every_agent_state_is_stored_completely,
    transition_requires_its_status_ticket_and_call,
    agents_are_listed_by_id_page_by_page,
    queue_version_counts_joins_and_departures,
    queue_version_keeps_the_joins_of_an_earlier_profile,
    entry_joins_and_leaves_a_queue_only_once,
    peek_is_ordered_and_reads_at_most_the_limit,
    two_agents_queued_in_one_microsecond_are_both_kept,
    call_is_created_only_once,
    only_a_pending_call_can_end,
    pending_calls_are_ordered_by_age_within_their_criteria,
    calls_of_one_microsecond_are_ordered_by_sequence,
    pending_calls_are_counted_per_line,
    line_is_closed_unless_it_was_opened_again,
    expired_leases_are_read_in_order_of_expiry,
    outbox_entries_are_kept_until_published,
    more_outbox_entries_than_a_batch_are_deleted_together,
    repeated_change_is_applied_once,
    rejected_change_can_succeed_later,
    one_unmet_condition_rejects_the_whole_change,
    call_of_another_assignment_is_not_returned,
    every_rejection_names_its_step,
    an_assignment_is_one_change,
    the_largest_agent_is_matched_in_one_change,
    one_of_many_calls_wins_an_agent,
);
