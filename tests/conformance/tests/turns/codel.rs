//! Bounded age: only new tasks start under overload, and every task eventually runs.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use conformance::{NOW, new_task};
use lifo_queue::control::OpenBreaker;
use lifo_queue::process::{CodelSettings, Exit, MAX_PAGE_AGE, TurnSummary};
use lifo_queue::runner::Outcome;
use lifo_queue::store::{Redriven, Written};
use lifo_queue::task::{TaskId, TaskStatus, Ttl};
use lifo_queue::time::{Clock, Millis, TokioClock};

use super::world::*;

const CODEL: CodelSettings = CodelSettings {
    target: Duration::from_secs(1),
    interval: Duration::from_secs(5),
};

/// For each start, the time since [`NOW`] and the task's age.
type Starts = Arc<Mutex<Vec<(Duration, Duration)>>>;

/// A world that runs ten tasks per second.
fn world() -> (World, Starts) {
    let starts = Starts::default();
    let (clock, record) = (TokioClock::starting_at(NOW), starts.clone());
    let mut world = World::new(move |task| {
        let now = clock.now();
        let start = (now.since(NOW), now.since(task.task_created));
        record.lock().unwrap().push(start);
        (Duration::from_millis(400), Outcome::Success)
    });
    world.settings.slots = 4;
    world.settings.codel = Some(CODEL);
    (world, starts)
}

/// Inserts 270 tasks in 15.5 s: at twice the processing rate, with a pause from 8 s to 10 s.
async fn overload(world: &World) {
    for n in 0..310_i64 {
        let at = n * 50;
        tokio::time::sleep(
            NOW.plus(Duration::from_millis(50) * u32::try_from(n).unwrap())
                .since(world.clock.now()),
        )
        .await;
        if !(8_000..10_000).contains(&at) {
            let task = new_task(&format!("t{n:04}"), at);
            world.store.insert(&task).await.unwrap();
        }
    }
}

async fn overloaded(
    codel: Option<CodelSettings>,
) -> (World, TurnSummary, Vec<(Duration, Duration)>) {
    let (mut world, starts) = world();
    world.settings.codel = codel;
    let (summary, ()) = tokio::join!(world.turn(), overload(&world));
    let starts = starts.lock().unwrap().clone();
    (world, summary, starts)
}

/// The maximum age of a task that started between 6 s and 15.5 s.
fn oldest(starts: &[(Duration, Duration)]) -> Duration {
    let during = 6 * SECOND..Duration::from_millis(15_500);
    let ages = starts.iter().filter(|(at, _)| during.contains(at));
    ages.map(|(_, age)| *age).max().unwrap()
}

#[tokio::test(start_paused = true)]
async fn under_overload_only_new_tasks_start_and_afterwards_all_do() {
    let (world, summary, starts) = overloaded(Some(CODEL)).await;
    assert!(
        oldest(&starts) <= CODEL.reach() + MAX_PAGE_AGE,
        "{starts:?}"
    );
    assert_eq!((summary.exit, summary.succeeded), (Exit::Empty, 270));
    // The overload lasts from 5 s until the slots have been free for one second after the last arrival.
    assert!(
        (10_000..15_000).contains(&summary.overloaded_ms),
        "{summary:?}"
    );
    let control = world.control().await;
    assert_eq!(control.overloaded_since, None);
}

#[tokio::test(start_paused = true)]
async fn without_an_age_bound_old_tasks_start_under_overload() {
    let (_, summary, starts) = overloaded(None).await;
    assert!(oldest(&starts) > CODEL.reach() + MAX_PAGE_AGE, "{starts:?}");
    assert_eq!((summary.succeeded, summary.overloaded_ms), (270, 0));
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_keeps_up_is_not_overloaded() {
    let (world, starts) = world();
    let arrivals = async {
        for n in 0..240_i64 {
            tokio::time::sleep(Duration::from_millis(125)).await;
            let at = world.clock.now().since(NOW).as_millis();
            let task = new_task(&format!("t{n:04}"), i64::try_from(at).unwrap());
            world.store.insert(&task).await.unwrap();
        }
    };
    let (summary, ()) = tokio::join!(world.turn(), arrivals);
    assert_eq!((summary.succeeded, summary.overloaded_ms), (240, 0));
    assert_eq!(starts.lock().unwrap().len(), 240);
}

#[tokio::test(start_paused = true)]
async fn next_processor_continues_the_overload_and_then_empties_the_queue() {
    let (world, starts) = world();
    let world = world.with_tasks(1).await;
    world.leave(None, Some(NOW)).await;
    tokio::time::sleep(30 * SECOND).await;
    let summary = world.turn().await;
    assert_eq!((summary.exit, summary.succeeded), (Exit::Empty, 1));
    // The task starts only after the slots were free for the target time.
    let (at, _) = starts.lock().unwrap()[0];
    assert!((31 * SECOND..32 * SECOND).contains(&at), "{at:?}");
    assert_eq!(world.control().await.overloaded_since, None);
}

#[tokio::test(start_paused = true)]
async fn turn_at_its_time_limit_keeps_the_overload_for_the_next_turn() {
    let (mut world, _) = world();
    world.settings.turn = 8 * SECOND;
    let (summary, ()) = tokio::join!(world.turn(), overload(&world));
    assert_eq!((summary.exit, summary.tail_call), (Exit::TimeUp, true));
    let since = world.control().await.overloaded_since;
    let from = since.unwrap().since(NOW);
    assert!((5_000..6_000).contains(&from.as_millis()), "{from:?}");
}

#[tokio::test(start_paused = true)]
async fn redriven_task_of_any_age_starts_under_overload() {
    let (world, starts) = world();
    let world = world.with_tasks(2).await;
    world.fail("t0000");
    tokio::time::sleep(60 * SECOND).await;
    let id = TaskId::from_stored("t0000");
    let redriven = world.operator().redrive(&id, 60 * SECOND).await;
    assert_eq!(redriven.unwrap(), Redriven::Done);
    world.leave(None, Some(NOW)).await;
    let _stopped = tokio::time::timeout(Duration::from_millis(500), world.turn()).await;
    assert!(world.started().contains(&"t0000".to_owned()), "{starts:?}");
}

#[tokio::test(start_paused = true)]
async fn an_open_circuit_breaker_ends_the_overload() {
    let (mut world, _) = world();
    world.settings.breaker = Some(BREAKER);
    let world = world.with_tasks(1).await;
    let open = OpenBreaker {
        since: NOW,
        probes: 3,
    };
    world.leave(Some(open), Some(NOW)).await;
    tokio::time::sleep(30 * SECOND).await;
    let _stopped = tokio::time::timeout(Duration::from_millis(500), world.turn()).await;
    assert_eq!(world.started(), ["t0000"], "an old task probes immediately");
}

#[tokio::test(start_paused = true)]
async fn a_pause_ends_the_overload() {
    let (world, _) = world();
    let pause = async {
        tokio::time::sleep(9 * SECOND).await;
        let paused = world.operator().pause(HOUR, "look", "ana").await;
        assert_eq!(paused.unwrap(), Written::Done);
    };
    let (summary, (), ()) = tokio::join!(world.turn(), overload(&world), pause);
    assert_eq!(summary.exit, Exit::Paused);
    assert!(summary.overloaded_ms > 1_000, "{summary:?}");
    assert_eq!(world.control().await.overloaded_since, None);
    assert!(world.count(TaskStatus::Pending) > 100);
}

#[tokio::test(start_paused = true)]
async fn sweep_under_overload_counts_new_tasks_and_wakes_for_old_ones() {
    let (world, _) = world();
    world.add("old", 0).await;
    world.add("new", 59_000).await;
    tokio::time::sleep(60 * SECOND).await;
    let now = world.clock.now();
    world.leave(None, Some(NOW)).await;
    let claim = conformance::claim("active", now);
    world.store.acquire(&claim, now).await.unwrap();
    let report = world.sweep().await;
    assert_eq!((report.pending.count, report.pending.exact), (1, true));
    assert_eq!(
        (report.oldest_pending_ms, report.woke),
        (Some(1_000), false)
    );
    // The processor crashes, and the new task becomes too old to start.
    tokio::time::sleep(30 * SECOND).await;
    let report = world.sweep().await;
    assert_eq!((report.pending.count, report.due), (0, false));
    assert!(report.woke, "a processor must end the overload: {report:?}");
    let summary = world.turn().await;
    assert_eq!((summary.exit, summary.succeeded), (Exit::Empty, 2));
}

#[tokio::test(start_paused = true)]
async fn foreign_task_of_any_age_gets_an_expiry_under_overload() {
    let (world, _) = world();
    let world = world.with_tasks(1).await;
    let mut foreign = world.record("t0000");
    foreign.ttl = Ttl::Missing;
    world.store.put(TaskId::from_stored("t0000"), foreign);
    tokio::time::sleep(60 * SECOND).await;
    world.leave(None, Some(Millis(NOW.0))).await;
    let report = world.sweep().await;
    assert_eq!((report.adopted, report.pending.count), (1, 0));
}
