//! Tasks that always fail, alone in a quiet queue. The circuit breaker can't distinguish them from
//! an outage.

use std::time::Duration;

use conformance::{NOW, new_task};
use lifo_queue::process::Exit;
use lifo_queue::runner::Outcome;
use lifo_queue::task::{Task, TaskStatus};
use lifo_queue::time::{Clock, TokioClock};

use super::world::*;

conformance::on_both_stores! {
    task_that_always_fails_beside_healthy_ones_ends_within_minutes,
    task_that_keeps_failing_ends_as_failure_before_it_expires,
    hold_protects_the_attempts_of_tasks_that_get_http_500,
}

const MINUTE: Duration = Duration::from_secs(60);

/// A world with the deployed breaker and few attempts, in which some tasks always fail.
fn failing() -> World {
    let mut world = World::with_breaker(move |task: &Task| {
        let outcome = match task.task_id.as_str().starts_with("healthy") {
            true => Outcome::Success,
            false => unavailable(),
        };
        (Duration::from_millis(5), outcome)
    });
    world.settings.max_idle_turns = 10;
    world.settings.max_attempts = 3;
    world
}

impl World {
    async fn with_expiring(self, count: i64, after: Duration) -> Self {
        for n in 0..count {
            let mut task = new_task(&format!("t{n:03}"), n - count);
            task.expires_at = NOW.floor_seconds().plus(after);
            self.store.insert(&task).await.unwrap();
        }
        self
    }

    /// Runs turns, started by tail calls and sweeps, until `until` or until the queue is empty.
    /// Returns the time from the start to the end of the last turn.
    async fn days(&self, until: Duration) -> Duration {
        let end = NOW.plus(until);
        while self.clock.now() < end && self.count(TaskStatus::Pending) > 0 {
            let turn = self.turn().await;
            if !turn.tail_call && turn.exit != Exit::Empty {
                tokio::time::sleep(30 * SECOND).await;
            } else if turn.exit == Exit::Empty {
                break;
            }
        }
        self.clock.now().since(NOW)
    }

    /// Asserts that every task is in FAILURE with this text in its error.
    fn assert_failed(&self, text: &str) {
        for (id, record) in self.store.records() {
            let error = record.last_error.unwrap_or_default();
            assert_eq!(record.status, TaskStatus::Failure, "{id}: {error}");
            assert!(error.contains(text), "{id}: {error}");
        }
    }
}

async fn task_that_always_fails_beside_healthy_ones_ends_within_minutes() {
    let world = failing().with_expiring(10, 60 * MINUTE).await;
    let arrive = async {
        for n in 0..6 {
            tokio::time::sleep(MINUTE).await;
            let age = i64::try_from(world.clock.now().since(NOW).as_millis()).unwrap();
            let task = new_task(&format!("healthy{n}"), age);
            world.store.insert(&task).await.unwrap();
        }
    };
    tokio::join!(arrive, world.days(6 * MINUTE));
    assert_eq!(world.count(TaskStatus::Failure), 10);
}

async fn task_that_keeps_failing_ends_as_failure_before_it_expires() {
    for (count, minutes) in [(10, 10), (20, 10), (10, 60), (20, 60)] {
        let life = minutes * MINUTE;
        let world = failing().with_expiring(count, life).await;
        let took = world.days(life).await;
        world.assert_failed("was the last before the task expires: HTTP 502");
        assert!(
            took > life / 4 * 3,
            "{count} tasks, {minutes} min: {took:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn failing_tasks_that_expire_one_after_another_end_as_failure() {
    let world = failing();
    for n in 0..30 {
        let mut task = new_task(&format!("t{n:03}"), n);
        let life = 30 * MINUTE + u32::try_from(n).unwrap() * MINUTE;
        task.expires_at = NOW.floor_seconds().plus(life);
        world.store.insert(&task).await.unwrap();
    }
    world.days(60 * MINUTE).await;
    world.assert_failed("was the last before the task expires: HTTP 502");
}

#[tokio::test(start_paused = true)]
async fn outage_of_a_quiet_queue_fails_no_task() {
    for (outage, life) in [(40, 60), (40, 180), (60, 3_600), (600, 3_600)] {
        for count in [10, 20, 100] {
            let (outage, life) = (Duration::from_secs(outage), Duration::from_secs(life));
            let clock = TokioClock::starting_at(NOW);
            let mut world = World::with_breaker(move |_| match clock.now() < NOW.plus(outage) {
                true => (Duration::from_millis(5), unavailable()),
                false => at_once(),
            });
            world.settings = failing().settings;
            let world = world.with_expiring(count, life).await;
            world.days(life).await;
            let succeeded = world.count(TaskStatus::Success);
            assert_eq!(
                i64::try_from(succeeded),
                Ok(count),
                "{outage:?} of {life:?}"
            );
        }
    }
}

async fn hold_protects_the_attempts_of_tasks_that_get_http_500() {
    let world = failing().with_expiring(1, 60 * MINUTE).await;
    let operator = world.operator();
    operator.open_breaker(20 * MINUTE, "release").await.unwrap();
    world.days(10 * MINUTE).await;
    let task = world.record("t000");
    assert!(task.total_attempts > 60, "{task:?}");
    assert_eq!((task.status, task.attempts), (TaskStatus::Pending, 0));
}
