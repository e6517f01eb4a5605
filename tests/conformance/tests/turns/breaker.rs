//! The circuit breaker in combination with pauses, the rate limit, leases, poison tasks, and tasks
//! that must run alone.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use conformance::{NOW, pause};
use lifo_queue::control::{Cause, OpenBreaker};
use lifo_queue::process::{BreakerSettings, Exit, LONGEST_PROBE, RateLimit};
use lifo_queue::runner::Outcome;
use lifo_queue::task::{Task, TaskStatus};
use lifo_queue::time::{Clock, Millis, TokioClock};
use simulator::fault::Fault;

use super::world::*;

/// A circuit breaker that opened at [`NOW`].
pub(super) const JUST_OPEN: OpenBreaker = OpenBreaker {
    since: NOW,
    probes: 0,
};

/// A downstream that is unavailable for `lasting` and then takes 400 ms per task.
pub(super) fn outage(lasting: Duration) -> impl Fn(&Task) -> (Duration, Outcome) + Send + Sync {
    let clock = TokioClock::starting_at(NOW);
    move |_| match clock.now() < NOW.plus(lasting) {
        true => (Duration::from_millis(5), unavailable()),
        false => (Duration::from_millis(400), Outcome::Success),
    }
}

impl World {
    pub(super) async fn breaker(&self) -> Option<OpenBreaker> {
        self.control().await.breaker
    }
}

#[tokio::test(start_paused = true)]
async fn outage_fails_no_task_and_causes_few_calls() {
    let world = World::breaking(100, outage(40 * SECOND)).await;
    let summary = world.turn().await;
    assert_eq!((summary.exit, summary.succeeded), (Exit::Empty, 100));
    assert_eq!((summary.failed, summary.breaker_open), (0, false));
    assert_eq!(world.most_attempts(), 1, "the outage cost no attempt");
    // All ten slots start a task. Then single probes follow after 1 s, 2 s, 4 s, 4 s, and so on.
    assert_eq!(world.started().len(), 100 + 10 + 11, "{summary:?}");
    assert_eq!((summary.probes, summary.unavailable), (12, 10 + 11));
    // The next probe succeeds, and all slots continue with the newest tasks.
    let after = &world.started()[10 + 12..];
    assert!(after.is_sorted_by(|one, next| one > next), "{after:?}");
    let most = 40 * SECOND + LONGEST_PROBE + 7 * SECOND;
    assert!(world.clock.now() <= NOW.plus(most), "{summary:?}");
    assert_eq!(world.breaker().await, None);
}

#[tokio::test(start_paused = true)]
async fn without_a_breaker_an_outage_costs_attempts() {
    let mut world = World::with_breaker(outage(40 * SECOND));
    world.settings.breaker = None;
    let world = world.with_tasks(100).await;
    let summary = world.turn().await;
    assert!(summary.failed > 90, "{summary:?}");
}

#[tokio::test(start_paused = true)]
async fn next_turn_continues_an_open_breaker_with_one_probe() {
    let world = World::breaking(50, outage(90 * SECOND)).await;
    let first = world.turn().await;
    assert_eq!((first.exit, first.tail_call), (Exit::TimeUp, true));
    assert!(first.breaker_open);
    assert_eq!(
        first.idle_turns, 0,
        "a turn that only probes is no idle turn"
    );
    let open = world.breaker().await.unwrap();
    assert!(open.since < NOW.plus(SECOND), "{open:?}");
    assert_eq!(open.probes, first.probes);
    let before = world.started().len();
    let second = world.turn().await;
    assert_eq!((second.exit, second.succeeded), (Exit::Empty, 50));
    // One probe immediately, then one every four seconds for thirty seconds.
    let probes = world.started().len() - before - 50;
    assert!((7..=9).contains(&probes), "{probes} probes: {second:?}");
}

#[tokio::test(start_paused = true)]
async fn crashed_processor_leaves_the_breaker_of_its_last_renewal() {
    let world = World::breaking(50, outage(HOUR)).await;
    let dies = tokio::time::timeout(12 * SECOND, world.turn()).await;
    assert!(dies.is_err());
    let open = world.breaker().await.unwrap();
    assert!(open.since < NOW.plus(SECOND), "{open:?}");
    assert!(open.probes > 0);
}

#[tokio::test(start_paused = true)]
async fn operators_pause_and_resume_leave_the_breaker_open() {
    let world = World::breaking(50, outage(100 * SECOND)).await;
    let operator = world.operator();
    let pause = async {
        tokio::time::sleep(20 * SECOND).await;
        operator.pause(HOUR, "look", "ana").await.unwrap();
    };
    let (paused, ()) = tokio::join!(world.turn(), pause);
    assert_eq!(paused.exit, Exit::Paused);
    assert!(world.breaker().await.is_some());
    operator.resume().await.unwrap();
    assert!(world.breaker().await.is_some(), "only a result closes it");
    let before = world.started().len();
    let _stopped = tokio::time::timeout(LONGEST_PROBE, world.turn()).await;
    assert_eq!(world.started().len() - before, 1);
}

#[tokio::test(start_paused = true)]
async fn probes_keep_to_the_rate_limit() {
    let mut world = World::with_breaker(outage(HOUR));
    world.settings.rate = Some(RateLimit {
        interval: 20 * SECOND,
        burst: NonZeroU32::MIN,
    });
    let left = OpenBreaker {
        since: NOW,
        probes: 5,
    };
    let world = world.with_tasks(50).await;
    world.leave(Some(left), None).await;
    let summary = world.turn().await;
    assert_eq!((summary.taken, summary.probes), (3, 3), "{summary:?}");
}

#[tokio::test(start_paused = true)]
async fn poison_tasks_at_the_head_do_not_keep_the_breaker_open() {
    let poison = |task: &Task| task.task_id.as_str() >= "t0070";
    let mut last_results = Vec::new();
    for seed in 0..11 {
        // Probes are drawn at random.
        fastrand::seed(seed);
        let clock = TokioClock::starting_at(NOW);
        let served = Arc::new(Mutex::new(NOW));
        let last = served.clone();
        let world = World::breaking(100, move |task| {
            if poison(task) {
                return (Duration::from_millis(5), unavailable());
            }
            *last.lock().unwrap() = clock.now();
            (Duration::from_millis(100), Outcome::Success)
        })
        .await;
        let summary = world.turn().await;
        let succeeded = world.count(TaskStatus::Success);
        assert_eq!(succeeded, 70, "seed {seed}: {summary:?}");
        last_results.push(served.lock().unwrap().since(NOW));
    }
    // Without poison tasks, 70 runs of 100 ms in ten slots take less than one second. The first runs of the poison tasks
    // open the breaker several times. In 200 seeds, the median was 10 s, and the maximum 40 s.
    last_results.sort_unstable();
    assert!(last_results[5] < 15 * SECOND, "{last_results:?}");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_must_run_alone_probes_when_nothing_else_runs() {
    let world = World::breaking(2, outage(20 * SECOND)).await;
    world.suspect("t0001");
    world.leave(Some(JUST_OPEN), None).await;
    let summary = world.turn().await;
    assert_eq!(summary.succeeded, 2, "{summary:?}");
    assert_eq!(world.record("t0001").attempts, 3, "probes cost no attempt");
}

#[tokio::test(start_paused = true)]
async fn returns_while_the_breaker_is_open_are_limited() {
    let mut world = World::with_breaker(outage(HOUR));
    world.settings.breaker = Some(BreakerSettings {
        max_returns: 3,
        ..BREAKER
    });
    world.settings.max_busy_returns = 1;
    world.settings.max_attempts = 2;
    world.settings.backoff.max = SECOND;
    let world = world.with_tasks(1).await;
    world.leave(Some(JUST_OPEN), None).await;
    let summary = world.turn().await;
    let record = world.record("t0000");
    assert_eq!(record.status, TaskStatus::Failure, "{summary:?}");
    assert_eq!((record.total_attempts, summary.unavailable), (6, 4));
}

#[tokio::test(start_paused = true)]
async fn task_timeouts_open_the_breaker() {
    let mut world = World::with_breaker(|_| (9_999 * SECOND, Outcome::Success));
    world.settings.task_timeout = 2 * SECOND;
    let world = world.with_tasks(50).await;
    let summary = world.turn().await;
    assert!(summary.breaker_open, "{summary:?}");
    assert_eq!(world.count(TaskStatus::Failure), 0);
}

#[tokio::test(start_paused = true)]
async fn probe_whose_take_fails_is_followed_by_the_next() {
    let world = World::breaking(20, outage(2 * SECOND)).await;
    world.leave(Some(JUST_OPEN), None).await;
    let store = world.faulty(|operation, before| match (operation, before) {
        ("take", 0..8) => Some(Fault::LostRequest),
        _ => None,
    });
    let summary = world.turn_on(store).await.unwrap();
    assert_eq!(summary.succeeded, 20, "{summary:?}");
}

#[tokio::test(start_paused = true)]
async fn turn_during_a_pause_does_not_change_the_breaker() {
    let world = World::breaking(1, |_| at_once()).await;
    let open = OpenBreaker {
        since: Millis(NOW.0 - 1_000),
        probes: 4,
    };
    world.leave(Some(open), None).await;
    let pause = pause(NOW.plus(60 * SECOND));
    world.store.pause(&pause).await.unwrap();
    assert_eq!(world.turn().await.exit, Exit::Paused);
    assert_eq!(world.breaker().await, Some(open));
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(world.turn().await.succeeded, 1);
    assert_eq!(world.breaker().await, None);
}

/// Runs turns until no task is left, or for `most`, and sweeps in between.
async fn until_settled(world: &World, most: Duration) {
    let end = world.clock.now().plus(most);
    while world.clock.now() < end && world.count(TaskStatus::Pending) > 0 {
        world.turn().await;
        world.sweep().await;
    }
}

#[tokio::test(start_paused = true)]
async fn outage_of_any_kind_costs_no_task_an_attempt() {
    for outcome in [unavailable, rejecting, || BUSY] {
        for (tasks, slots, attempts) in [(1, 10, 5), (2, 1, 1), (30, 50, 1)] {
            let clock = TokioClock::starting_at(NOW);
            let mut world =
                World::with_breaker(move |_| match clock.now() < NOW.plus(600 * SECOND) {
                    true => (Duration::from_millis(5), outcome()),
                    false => (Duration::from_millis(100), Outcome::Success),
                });
            world.settings.slots = slots;
            world.settings.max_attempts = attempts;
            let world = world.with_tasks(tasks).await;
            until_settled(&world, HOUR).await;
            let succeeded = world.count(TaskStatus::Success);
            let case = format!("{:?}: {tasks} tasks, {slots} slots", outcome());
            assert_eq!(i64::try_from(succeeded).unwrap(), tasks, "{case}");
            assert_eq!(world.most_attempts(), 1, "{case}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn endpoint_that_hangs_costs_no_task_an_attempt() {
    for slots in [1, 4, 50] {
        let clock = TokioClock::starting_at(NOW);
        let mut world = World::with_breaker(move |_| match clock.now() < NOW.plus(600 * SECOND) {
            true => (9_999 * SECOND, Outcome::Success),
            false => (Duration::from_millis(100), Outcome::Success),
        });
        world.settings.slots = slots;
        world.settings.max_attempts = 1;
        let world = world.with_tasks(60).await;
        until_settled(&world, HOUR).await;
        assert_eq!(world.count(TaskStatus::Success), 60, "{slots} slots");
    }
}

#[tokio::test(start_paused = true)]
async fn turns_that_only_probe_are_no_idle_turns() {
    let world = World::breaking(3, outage(HOUR)).await;
    for _ in 0..2 * world.settings.max_idle_turns {
        let summary = world.turn().await;
        assert_eq!((summary.exit, summary.tail_call), (Exit::TimeUp, true));
        assert_eq!(summary.idle_turns, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn task_never_starts_before_the_wait_that_it_was_asked_for() {
    let (clock, asked) = (
        TokioClock::starting_at(NOW),
        Arc::new(Mutex::new(HashMap::new())),
    );
    let early = Arc::new(Mutex::new(0));
    let (noted, count) = (asked.clone(), early.clone());
    let world = World::breaking(20, move |task| {
        let now = clock.now();
        let wait = (7 + u32::try_from(task.task_id.as_str().len()).unwrap()) * SECOND;
        let mut asked = noted.lock().unwrap();
        if asked
            .insert(task.task_id.clone(), now.plus(wait))
            .is_some_and(|until| until > now)
        {
            *count.lock().unwrap() += 1;
        }
        match now < NOW.plus(420 * SECOND) {
            true => (Duration::from_millis(5), busy_for(wait)),
            false => (Duration::ZERO, Outcome::Success),
        }
    })
    .await;
    until_settled(&world, HOUR).await;
    assert_eq!(
        (world.count(TaskStatus::Success), *early.lock().unwrap()),
        (20, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn open_breaker_says_why_and_when_the_next_probe_follows() {
    let world = World::breaking(20, |_| (Duration::from_millis(5), busy_for(9 * SECOND))).await;
    let turn = tokio::time::timeout(12 * SECOND, world.turn()).await;
    assert!(turn.is_err());
    let health = world.control().await.health;
    assert_eq!(health.cause, Some(Cause::Busy));
    assert_eq!(health.next_probe, health.asked_until);
    assert!(health.limit < Some(10), "{health:?}");
}
