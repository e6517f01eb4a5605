//! Pauses of the queue, and how they end.

use std::time::Duration;

use lifo_queue::process::Exit;
use lifo_queue::runner::Outcome;
use lifo_queue::store::Written;
use lifo_queue::task::TaskStatus;
use lifo_queue::wake::Wake;

use super::world::*;

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
