//! The rate limit across turns.

use std::num::NonZeroU32;
use std::time::Duration;

use lifo_queue::process::{Exit, RateLimit};
use lifo_queue::runner::Outcome;
use lifo_queue::time::Clock;

use super::world::*;

const LIMIT: RateLimit = RateLimit {
    interval: Duration::from_millis(200),
    burst: NonZeroU32::new(10).unwrap(),
};

async fn limited(tasks: i64) -> World {
    let mut world = World::new(|_| at_once());
    world.settings.rate = Some(LIMIT);
    world.with_tasks(tasks).await
}

#[tokio::test(start_paused = true)]
async fn starts_keep_to_the_rate_over_turns() {
    let world = limited(2_000).await;
    let began = world.clock.now();
    for _ in 0..4 {
        let summary = world.turn().await;
        assert_eq!((summary.exit, summary.tail_call), (Exit::TimeUp, true));
    }
    let passed = world.clock.now().since(began);
    let allowed = passed.as_millis() / LIMIT.interval.as_millis() + 10;
    let started = world.started().len() as u128;
    assert!(started <= allowed, "{started} starts in {passed:?}");
    assert!(
        started * 100 >= allowed * 97,
        "{started} of {allowed}: too slow"
    );
}

#[tokio::test(start_paused = true)]
async fn idle_time_refills_the_bucket_up_to_the_burst() {
    let world = limited(10).await;
    assert_eq!(world.turn().await.succeeded, 10);
    let limits = world.control().await.observed.limits;
    assert_eq!(limits.unwrap().starts_per_1000_s, Some(5_000));
    tokio::time::sleep(600 * SECOND).await;
    let world = world.with_tasks(10).await;
    let began = world.clock.now();
    assert_eq!(world.turn().await.succeeded, 10);
    // The burst starts immediately. The rest of the time is the wait on an empty queue.
    assert!(world.clock.now().since(began) < 3 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn crashed_processor_leaves_no_full_bucket() {
    let world = limited(2_000).await;
    // The process is killed during its burst, before its first heartbeat.
    let died = tokio::time::timeout(Duration::from_millis(100), world.turn()).await;
    assert!(died.is_err());
    assert_eq!(world.started().len(), 10);
    tokio::time::sleep(world.settings.processor_lease).await;
    let began = world.clock.now();
    let next = tokio::time::timeout(Duration::from_millis(1_000), world.turn());
    assert!(next.await.is_err());
    let started = world.started().len() - 10;
    assert!((4..=5).contains(&started), "{started} in the first second");
    assert!(world.clock.now().since(began) <= Duration::from_millis(1_001));
}

#[tokio::test(start_paused = true)]
async fn slow_rate_does_not_hide_turns_without_progress() {
    let mut world = World::new(|_| (Duration::ZERO, retry()));
    world.settings.rate = Some(RateLimit {
        interval: 90 * SECOND,
        burst: NonZeroU32::MIN,
    });
    let world = world.with_tasks(10).await;
    // Some turns run one task but settle none. The others only wait.
    let mut exits = Vec::new();
    for _ in 0..6 {
        exits.push(world.turn().await.exit);
    }
    let starts = u32::try_from(world.started().len()).unwrap();
    assert!(starts < 6, "{starts} starts: some turns only waited");
    assert_eq!(world.control().await.idle_turns, starts);
    assert_eq!((exits[0], exits[5]), (Exit::TimeUp, Exit::NoProgress));
}

#[tokio::test(start_paused = true)]
async fn slow_rate_does_not_count_as_a_lack_of_progress() {
    let mut world = World::new(|_| (Duration::ZERO, Outcome::Success));
    world.settings.rate = Some(RateLimit {
        interval: 500 * SECOND,
        burst: NonZeroU32::MIN,
    });
    let world = world.with_tasks(10).await;
    // Runs more turns than the idle bound allows in a row without a settled task.
    for _ in 0..8 {
        let summary = world.turn().await;
        assert_eq!((summary.exit, summary.tail_call), (Exit::TimeUp, true));
        assert_eq!(world.control().await.idle_turns, 0);
    }
    assert_eq!(world.started().len(), 1);
}
