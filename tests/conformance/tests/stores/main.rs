//! What every store promises, held to by each.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod control;
mod tasks;

mod checks {
    pub(crate) use super::control::*;
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
    a_take_is_exclusive,
    a_taken_task_is_whole,
    a_lost_acknowledgement_of_a_take_is_recognised,
    a_task_that_is_not_due_or_expired_is_not_taken,
    settling_needs_the_token,
    a_lost_acknowledgement_of_a_settlement_is_recognised,
    a_task_given_back_keeps_its_place_and_waits,
    a_busy_return_gives_the_attempt_back,
    a_late_worker_cannot_touch_what_another_holds,
    a_lease_is_reclaimed_once_it_ran_out_and_only_that_lease,
    quarantine_is_for_pending_tasks,
    requests_are_counted,
    the_processor_lease_is_exclusive,
    a_release_notices_requests,
    idle_turns_are_counted,
    a_mark_holds_other_events_back,
    a_pause_keeps_processors_out_and_is_never_shortened,
);
