//! Operators' limits on the rate and the concurrency of starts.

use std::num::{NonZeroU16, NonZeroU32};
use std::time::Duration;

use lifo_queue::control::{Author, OperatorLimit, OperatorRate};
use lifo_queue::process::{Exit, RateLimit};
use lifo_queue::time::Clock;

use super::world::*;

/// Limits starts for `time` to `rate` starts per second and `concurrency` concurrent tasks. A value
/// of 0 keeps the setting.
async fn limit(world: &World, rate: u32, concurrency: u16, time: Duration) {
    let interval = (rate > 0).then(|| SECOND / rate);
    limit_to(world, interval, concurrency, time).await;
}

async fn limit_to(world: &World, interval: Option<Duration>, concurrency: u16, time: Duration) {
    let now = world.clock.now();
    let limit = OperatorLimit {
        concurrency: NonZeroU16::new(concurrency),
        rate: interval.map(|interval| OperatorRate { interval }),
        until: now.plus(time),
        reason: "migration".to_owned(),
        by: Author {
            name: "ana".to_owned(),
            at: now,
        },
    };
    world.operator().limit(Some(limit)).await.unwrap();
}

async fn starts_in(world: &World, time: Duration) -> usize {
    let before = world.started().len();
    tokio::time::sleep(time).await;
    world.started().len() - before
}

#[tokio::test(start_paused = true)]
async fn limit_applies_within_a_heartbeat_and_off_ends_it() {
    for (rate, concurrency, allowed) in [(2, 0, 38..=42), (0, 3, 57..=63), (2, 1, 19..=21)] {
        let world = World::breaking(1_000, a_second).await;
        let heartbeat = world.settings.heartbeat;
        let operate = async {
            tokio::time::sleep(7 * SECOND).await;
            limit(&world, rate, concurrency, HOUR).await;
            tokio::time::sleep(heartbeat + 2 * SECOND).await;
            let limited = starts_in(&world, 20 * SECOND).await;
            world.operator().limit(None).await.unwrap();
            tokio::time::sleep(heartbeat + SECOND).await;
            (limited, starts_in(&world, 5 * SECOND).await)
        };
        let (summary, (limited, after)) = tokio::join!(world.turn(), operate);
        assert!(allowed.contains(&limited), "{limited} starts: {summary:?}");
        assert!(after >= 45, "{after} starts in 5 s of ten slots");
    }
}

#[tokio::test(start_paused = true)]
async fn limit_above_the_settings_has_no_effect() {
    let mut world = World::new(a_second);
    world.settings.rate = Some(RateLimit {
        interval: SECOND / 4,
        burst: NonZeroU32::MIN,
    });
    let world = world.with_tasks(1_000).await;
    limit(&world, 100, 1_000, HOUR).await;
    let (_, started) = tokio::join!(world.turn(), starts_in(&world, 20 * SECOND));
    assert!((79..=81).contains(&started), "{started}");
}

#[tokio::test(start_paused = true)]
async fn limit_expires_at_its_end_time() {
    // With one start every ten minutes, the turn waits for the end of the limit, not for the next start.
    for rate in [None, Some(4)] {
        let mut world = World::new(|_| at_once());
        world.settings.rate = rate.map(|rate| RateLimit {
            interval: SECOND / rate,
            burst: NonZeroU32::MIN,
        });
        let world = world.with_tasks(20).await;
        limit_to(&world, Some(600 * SECOND), 0, 17 * SECOND).await;
        let starts = async {
            let limited = starts_in(&world, Duration::from_millis(16_999)).await;
            (limited, starts_in(&world, 6 * SECOND).await)
        };
        let (summary, started) = tokio::join!(world.turn(), starts);
        assert_eq!((summary.exit, started), (Exit::Empty, (1, 19)), "{rate:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn worst_case_of_a_limit_is_stored_before_the_first_start() {
    let world = World::of(100, a_second).await;
    limit(&world, 5, 0, HOUR).await;
    let began = world.clock.now();
    let died = tokio::time::timeout(Duration::from_millis(1), world.turn()).await;
    assert!(died.is_err());
    assert_eq!(world.started().len(), 5);
    let full_at = world.control().await.rate_full_at;
    assert!(full_at >= Some(began.plus(world.settings.turn)));
    // The next processor starts with an empty bucket.
    tokio::time::sleep(world.settings.processor_lease).await;
    let died = tokio::time::timeout(SECOND, world.turn()).await;
    assert!(died.is_err());
    assert!((9..=10).contains(&world.started().len()));
}

#[tokio::test(start_paused = true)]
async fn crashes_never_exceed_a_limit() {
    for seed in simulator::seeds::Seeds::of(0..200).range {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut world = World::new(|_| at_once());
        world.settings.rate = rng.bool().then(|| RateLimit {
            interval: SECOND / rng.u32(1..50),
            burst: NonZeroU32::MIN.saturating_add(rng.u32(0..100)),
        });
        let world = world.with_tasks(400).await;
        let rate = rng.u32(1..4);
        limit(&world, rate, 0, HOUR).await;
        let began = world.clock.now();
        for _ in 0..6 {
            let crash = Duration::from_millis(rng.u64(0..20_000));
            if tokio::time::timeout(crash, world.turn()).await.is_err() {
                tokio::time::sleep(world.settings.processor_lease).await;
            }
        }
        let passed = world.clock.now().since(began).as_secs_f64();
        let allowed = (passed + 1.0) * f64::from(rate);
        let started = world.started().len();
        assert!(
            started as f64 <= allowed,
            "seed {seed}: {started} starts in {passed} s at {rate}/s"
        );
    }
}
