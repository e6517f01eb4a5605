//! Pauses of the queue, and how they end.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use conformance::{NOW, pause};
use lifo_queue::control::Pause;
use lifo_queue::process::Exit;
use lifo_queue::runner::Outcome;
use lifo_queue::store::Written;
use lifo_queue::task::TaskStatus;
use lifo_queue::time::{Clock, TokioClock};
use lifo_queue::wake::Wake;
use simulator::faulty::Fault;

use super::world::*;

impl World {
    async fn paused_for(&self) -> Duration {
        let control = self.control().await;
        control.paused_until.unwrap().since(self.clock.now())
    }
}

#[tokio::test(start_paused = true)]
async fn busy_downstream_pauses_the_queue_with_backoff() {
    let world = World::of(50, |_| (Duration::from_millis(20), BUSY)).await;
    let summary = world.turn().await;
    assert_eq!((summary.exit, summary.tail_call), (Exit::Paused, false));
    // First, the queue slows down, with about ten seconds of increasingly rare probes.
    assert!(
        (5_000..30_000).contains(&summary.duration_ms),
        "{summary:?}"
    );
    assert_eq!(world.most_attempts(), 0);
    for (pauses, seconds) in [(1, 30), (2, 60), (3, 120), (4, 240), (5, 300), (6, 300)] {
        assert_eq!(world.control().await.busy_pauses, pauses);
        let left = world.paused_for().await;
        assert!(left <= Duration::from_secs(seconds), "{left:?}");
        assert!(left >= Duration::from_secs(seconds - 1), "{left:?}");
        // A turn during the pause ends as paused.
        assert_eq!(world.turn().await.exit, Exit::Paused);
        tokio::time::sleep(left).await;
        // The turn after the pause probes, one task at a time.
        let summary = world.turn().await;
        assert_eq!(summary.exit, Exit::Paused);
        assert!(summary.taken <= 12, "{summary:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn recovered_downstream_gets_full_concurrency() {
    let clock = TokioClock::starting_at(NOW);
    let world = World::of(200, move |_| match clock.now() {
        now if now < NOW.plus(40 * SECOND) => (Duration::ZERO, BUSY),
        _ => (Duration::from_millis(100), Outcome::Success),
    })
    .await;
    assert_eq!(world.turn().await.exit, Exit::Paused);
    tokio::time::sleep(world.paused_for().await).await;
    let summary = world.turn().await;
    assert_eq!((summary.exit, summary.succeeded), (Exit::Empty, 200));
    assert!(summary.duration_ms < 20_000, "{summary:?}");
    assert_eq!(world.control().await.busy_pauses, 0);
}

#[tokio::test(start_paused = true)]
async fn pause_lasts_for_the_retry_after_of_a_busy_downstream() {
    let world = World::of(50, |_| (Duration::ZERO, busy_for(120 * SECOND))).await;
    let summary = world.turn().await;
    assert_eq!((summary.exit, summary.taken), (Exit::Paused, 10));
    assert!(world.paused_for().await > 119 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn one_task_that_is_always_busy_does_not_pause_the_queue() {
    let world = World::of(50, |task| match task.task_id.as_str() {
        "t0049" => (Duration::ZERO, BUSY),
        _ => at_once(),
    })
    .await;
    let summary = world.turn().await;
    assert_eq!(world.count(TaskStatus::Success), 49, "{summary:?}");
    assert_eq!(world.control().await.paused_until, None);
}

#[tokio::test(start_paused = true)]
async fn an_operators_pause_ends_the_turn_within_a_heartbeat_and_resume_wakes_the_queue() {
    let world = World::of(600, |_| (SECOND, Outcome::Success)).await;
    let pause = async {
        tokio::time::sleep(Duration::from_millis(11_900)).await;
        let paused = world.operator().pause(HOUR, "deployment", "ana").await;
        assert_eq!(paused.unwrap(), Written::Done);
    };
    let (summary, ()) = tokio::join!(world.turn(), pause);
    assert_eq!((summary.exit, summary.tail_call), (Exit::Paused, false));
    // 11.9 s, then at most one heartbeat of 5 s, then the end of the running tasks.
    assert!((120..=180).contains(&summary.succeeded), "{summary:?}");
    assert_eq!(world.count(TaskStatus::Taken), 0);
    assert!(world.topics.process_tasks().is_empty());
    world.operator().resume().await.unwrap();
    assert_eq!(world.notifications(), 1);
    let summary = world.turn().await;
    assert_eq!(summary.exit, Exit::Empty);
    assert_eq!(world.count(TaskStatus::Success), 600);
}

#[tokio::test(start_paused = true)]
async fn resume_during_the_end_of_a_paused_turn_wakes_the_queue() {
    let world = World::of(20, |task| {
        let last = task.task_id.as_str() == "t0019";
        (if last { 6 } else { 25 } * SECOND, Outcome::Success)
    })
    .await;
    let operate = async {
        tokio::time::sleep(SECOND).await;
        let operator = world.operator();
        operator.pause(HOUR, "deployment", "ana").await.unwrap();
        // The slot that became free after six seconds stays free. The other tasks are still running.
        tokio::time::sleep(9 * SECOND).await;
        assert_eq!(operator.resume().await.unwrap(), Wake::AlreadyAwake);
    };
    let (summary, ()) = tokio::join!(world.turn(), operate);
    assert_eq!((summary.exit, summary.succeeded), (Exit::Paused, 10));
    // The turn publishes the wake-up of the resume.
    assert_eq!(world.notifications(), 1);
    assert_eq!(world.turn().await.exit, Exit::Empty);
    assert_eq!(world.count(TaskStatus::Success), 20);
}

#[tokio::test(start_paused = true)]
async fn turn_without_a_settled_task_keeps_the_busy_pause_count() {
    let world = World::new(|_| at_once());
    let pause = Pause {
        busy: true,
        ..pause(NOW.plus(30 * SECOND))
    };
    world.store.pause(&pause).await.unwrap();
    tokio::time::sleep(30 * SECOND).await;
    assert_eq!(world.turn().await.exit, Exit::Empty);
    assert_eq!(world.control().await.busy_pauses, 1);
    let world = world.with_tasks(1).await;
    assert_eq!(world.turn().await.succeeded, 1);
    assert_eq!(world.control().await.busy_pauses, 0);
}

#[tokio::test(start_paused = true)]
async fn three_distinct_tasks_are_enough_to_pause_and_two_are_not() {
    for (tasks, pauses) in [(2, false), (3, true)] {
        let world = World::of(tasks, |_| (Duration::from_millis(20), BUSY)).await;
        let summary = world.turn().await;
        // If both tasks get a long random delay, the turn ends as empty, not because its time is up.
        assert_eq!(summary.exit == Exit::Paused, pauses, "{summary:?}");
        assert_eq!(summary.busy as usize, world.started().len());
    }
}

#[tokio::test(start_paused = true)]
async fn three_rejected_tasks_do_not_pause_a_queue_whose_other_tasks_succeed() {
    for slots in [4, 10, 50] {
        let mut world = World::new(|task| match task.task_id.as_str() {
            "t0097" | "t0098" | "t0099" => (Duration::from_millis(50), rejecting()),
            _ => (SECOND, Outcome::Success),
        });
        world.settings.slots = slots;
        let world = world.with_tasks(100).await;
        let summary = world.turn().await;
        // The three tasks may pause the queue only when no other tasks are left.
        assert_eq!(summary.succeeded, 97, "{slots} slots");
    }
}

#[tokio::test(start_paused = true)]
async fn success_simultaneous_with_three_rejections_prevents_a_pause() {
    // Four runs start and end together. The newest one succeeds, and its end is recorded first.
    let mut world = World::new(|task| match task.task_id.as_str() {
        "t0006" | "t0007" | "t0008" => (Duration::from_millis(50), rejecting()),
        "t0009" => (Duration::from_millis(50), Outcome::Success),
        _ => (SECOND, Outcome::Success),
    });
    world.settings.slots = 4;
    let world = world.with_tasks(10).await;
    let summary = world.turn().await;
    assert_eq!(summary.succeeded, 7, "{summary:?}");
}

#[tokio::test(start_paused = true)]
async fn tasks_start_while_a_success_beside_three_rejections_is_settled() {
    let mut world = World::new(|task| match task.task_id.as_str() {
        "t0006" | "t0007" | "t0008" => (Duration::from_millis(50), rejecting()),
        "t0009" => (Duration::from_millis(50), Outcome::Success),
        _ => (10 * SECOND, Outcome::Success),
    });
    world.settings.slots = 4;
    let world = world.with_tasks(10).await;
    // DynamoDB throttles the write that settles the task as SUCCESS three times.
    let at_the_last = Arc::new(AtomicUsize::new(0));
    let (runner, started) = (world.runner.clone(), at_the_last.clone());
    let store = world.faulty(move |operation, before| match (operation, before) {
        ("settle", 0..3) => {
            started.store(runner.started.lock().unwrap().len(), Relaxed);
            Fault::Throttled
        }
        _ => Fault::None,
    });
    let summary = world.turn_on(store).await.unwrap();
    assert_eq!(at_the_last.load(Relaxed), 7, "{summary:?}");
}

#[tokio::test(start_paused = true)]
async fn rejections_in_the_last_runs_of_a_turn_pause_the_queue() {
    // The three runs last longer than the period in which the turn takes tasks.
    let mut world = World::new(|_| (29 * SECOND, rejecting()));
    world.settings.turn = 10 * SECOND;
    let world = world.with_tasks(3).await;
    let summary = world.turn().await;
    assert_eq!((summary.exit, summary.tail_call), (Exit::Paused, false));
}

#[tokio::test(start_paused = true)]
async fn one_slot_probes_after_a_pause_for_rejections() {
    let clock = TokioClock::starting_at(NOW);
    let outage = NOW.plus(400 * SECOND);
    let world = World::of(60, move |_| match clock.now() {
        now if now < outage => (Duration::from_millis(500), rejecting()),
        _ => (Duration::from_millis(500), Outcome::Success),
    })
    .await;
    assert_eq!(world.turn().await.exit, Exit::Paused);
    tokio::time::sleep(world.paused_for().await).await;
    let probe = world.turn().await;
    assert_eq!(probe.exit, Exit::Paused);
    // Three distinct tasks run one after the other. One of them may be retried in between.
    let each = probe.duration_ms / u64::from(probe.taken);
    assert!((3..10).contains(&probe.taken) && each >= 500, "{probe:?}");
    tokio::time::sleep(world.paused_for().await).await;
    let summary = world.turn().await;
    assert_eq!((summary.exit, summary.succeeded), (Exit::Empty, 60));
    assert!(
        summary.duration_ms < 15_000,
        "every slot is used: {summary:?}"
    );
    assert_eq!(world.control().await.busy_pauses, 0);
}
