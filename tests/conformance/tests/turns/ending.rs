//! The end of a turn, and the notifications that follow it.

use std::time::Duration;

use conformance::{NOW, claim, renewal};
use lifo_queue::notify::WakeReason;
use lifo_queue::process::{Exit, TurnError};
use lifo_queue::runner::Outcome;
use lifo_queue::task::TaskStatus;
use lifo_queue::time::{Clock, Millis};
use lifo_queue::wake::Wake;
use simulator::fault::Fault;

use super::world::*;

conformance::on_both_stores! {
    out_of_time_turn_releases_its_lease_before_the_tail_call,
    a_tail_call_that_is_not_published_fails_the_turn,
    turns_without_a_settled_task_end_the_loop,
    live_lease_of_another_processor_ends_the_turn_without_an_error,
    duplicate_message_starts_no_second_processor,
    request_during_the_wait_for_the_index_keeps_the_turn_active,
    processor_that_lost_its_lease_takes_no_more_tasks,
    processor_with_an_expired_lease_publishes_a_tail_call,
    a_query_that_fails_is_not_an_empty_queue,
    turn_continues_after_two_failed_queries_and_ends_after_three,
    processor_keeps_its_lease_while_its_last_task_runs,
}

async fn out_of_time_turn_releases_its_lease_before_the_tail_call() {
    let world = World::of(200, |_| (7 * SECOND, Outcome::Success)).await;
    let summary = world.turn().await;
    assert_eq!((summary.exit, summary.tail_call), (Exit::TimeUp, true));
    // Nine rounds of ten tasks start within the minute, and the turn waits for all of them.
    assert_eq!(summary.succeeded, 90);
    assert_eq!(world.count(TaskStatus::Taken), 0);
    assert_eq!(world.control().await.lease, None);
    let tail_calls = world.topics.trigger();
    assert_eq!(tail_calls.len(), 1);
    assert_eq!(tail_calls[0].reason, WakeReason::TailCall);
}

async fn a_tail_call_that_is_not_published_fails_the_turn() {
    let world = World::of(200, |_| (7 * SECOND, Outcome::Success)).await;
    world.topics.set_broken(true);
    let error = world.turn_on(world.store.clone()).await.unwrap_err();
    assert!(matches!(error.error, TurnError::TailCall(_)), "{error}");
    assert_eq!(
        (error.summary.exit, error.summary.succeeded),
        (Exit::Failed, 90)
    );
    // The retry finds a free lease.
    assert_eq!(world.control().await.lease, None);
}

async fn turns_without_a_settled_task_end_the_loop() {
    let mut world = World::new(|_| (Duration::ZERO, BUSY));
    world.settings.max_busy_returns = u32::MAX;
    // A longer backoff could outlast the turn, which would then correctly end as empty.
    world.settings.backoff.max = SECOND;
    let world = world.with_tasks(2).await;
    let mut tail_calls = Vec::new();
    for _ in 0..4 {
        tail_calls.push(world.turn().await.tail_call);
    }
    assert_eq!(tail_calls, [true, true, false, false]);
    assert_eq!(world.turn().await.exit, Exit::NoProgress);
}

async fn live_lease_of_another_processor_ends_the_turn_without_an_error() {
    let world = World::of(1, |_| at_once()).await;
    let held = claim("other", NOW);
    world.store.acquire(&held, NOW).await.unwrap();
    let summary = world.turn().await;
    assert_eq!((summary.exit, summary.taken), (Exit::AlreadyActive, 0));
}

async fn duplicate_message_starts_no_second_processor() {
    let world = World::of(40, |_| (5 * SECOND, Outcome::Success)).await;
    let duplicate = async {
        tokio::time::sleep(SECOND).await;
        let error = world.turn_on(world.store.clone()).await.unwrap_err();
        assert!(matches!(error.error, TurnError::Predecessor { .. }));
        assert_eq!(error.summary.taken, 0);
    };
    let (summary, ()) = tokio::join!(world.turn(), duplicate);
    assert_eq!((summary.exit, summary.succeeded), (Exit::Empty, 40));
}

async fn request_during_the_wait_for_the_index_keeps_the_turn_active() {
    let world = World::of(1, |_| at_once()).await;
    let late = async {
        tokio::time::sleep(Duration::from_millis(1_900)).await;
        world.add("late", 1_900).await;
        let wake = world.waker().request("event", WakeReason::Insert).await;
        assert_eq!(wake.unwrap(), Wake::AlreadyAwake);
    };
    let (summary, ()) = tokio::join!(world.turn(), late);
    assert_eq!((summary.exit, summary.succeeded), (Exit::Empty, 2));
    assert!(summary.duration_ms >= 3_900, "{summary:?}");
}

async fn processor_that_lost_its_lease_takes_no_more_tasks() {
    let mut world = World::new(|_| (4 * SECOND, retry()));
    world.settings.backoff.max = Duration::ZERO;
    let world = world.with_tasks(100).await;
    let thief = async {
        tokio::time::sleep(Duration::from_millis(4_900)).await;
        // Simulates a processor that stopped for longer than its lease.
        let owner = world.control().await.lease.unwrap().owner;
        let lost = renewal(owner, Millis(0));
        world.store.renew(&lost).await.unwrap();
        let now = world.clock.now();
        let stolen = claim("thief", now);
        world.store.acquire(&stolen, now).await.unwrap();
    };
    let (summary, ()) = tokio::join!(world.turn(), thief);
    assert_eq!((summary.exit, summary.tail_call), (Exit::LeaseLost, false));
    assert_eq!(summary.taken, 20, "{summary:?}");
    // The other processor has the lease, and the request makes it query again.
    let control = world.control().await;
    assert_eq!(control.lease.unwrap().message_id, "thief");
    assert_eq!(control.requested, 1);
}

async fn processor_with_an_expired_lease_publishes_a_tail_call() {
    let world = World::of(500, |_| (3 * SECOND, Outcome::Success)).await;
    let unrenewed = world.failing("renew", Fault::LostRequest);
    let summary = world.turn_on(unrenewed).await.unwrap();
    // The processor takes tasks only while its lease is live. It lets running tasks finish and
    // wakes a successor.
    assert_eq!((summary.exit, summary.tail_call), (Exit::TimeUp, true));
    assert_eq!(summary.succeeded, 70, "{summary:?}");
    assert_eq!(world.topics.trigger().len(), 1);
}

async fn a_query_that_fails_is_not_an_empty_queue() {
    let world = World::of(5, |_| at_once()).await;
    let broken = world.failing("pending_page", Fault::LostRequest);
    let error = world.turn_on(broken).await.unwrap_err();
    assert!(matches!(error.error, TurnError::Store(_)), "{error}");
    assert_eq!(world.control().await.lease, None);
}

async fn turn_continues_after_two_failed_queries_and_ends_after_three() {
    for (fails, ends) in [(2, false), (3, true)] {
        let world = World::of(5, |_| at_once()).await;
        let shaky = world.faulty(move |operation, before| match operation {
            // A fourth query would succeed.
            "pending_page" if before < fails => Some(Fault::LostRequest),
            _ => None,
        });
        let ended = world.turn_on(shaky).await;
        assert_eq!(ended.is_err(), ends, "after {fails}");
        if let Ok(summary) = ended {
            assert_eq!((summary.succeeded, summary.store_errors), (5, 2));
        }
    }
}

async fn processor_keeps_its_lease_while_its_last_task_runs() {
    let long = 12 * SECOND;
    let world = World::of(1, move |_| (long, Outcome::Success)).await;
    let held = async {
        tokio::time::sleep(10 * SECOND).await;
        let control = world.control().await;
        control.live_lease(world.clock.now()).is_some()
    };
    let (summary, held) = tokio::join!(world.turn(), held);
    assert!(held, "released while a task ran");
    assert_eq!((summary.exit, summary.succeeded), (Exit::Empty, 1));
    assert!(summary.empty_polls > 0, "{summary:?}");
}
