//! A stand-in for a system that cannot keep up, for demonstrations, load tests and development.

use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Semaphore;

use super::{Outcome, TaskRunner};
use crate::task::Task;

/// Runs up to `capacity` tasks at once, each for a fixed time, with success; refuses what is
/// over capacity as [`Outcome::Busy`], without saying for how long.
///
/// Waiting is tokio's, so a test that pauses tokio's clock does not wait.
#[derive(Debug)]
pub struct Simulated {
    slots: Semaphore,
    duration: Duration,
}

impl Simulated {
    /// A system with room for `capacity` tasks (0: never any), each of which takes `duration`.
    #[must_use]
    pub fn new(capacity: usize, duration: Duration) -> Self {
        Self {
            slots: Semaphore::new(capacity.min(Semaphore::MAX_PERMITS)),
            duration,
        }
    }
}

#[async_trait]
impl TaskRunner for Simulated {
    async fn run(&self, _task: &Task) -> Outcome {
        // The permit is given back when it is dropped: also when the processor drops this run
        // half-way.
        let Ok(_slot) = self.slots.try_acquire() else {
            return Outcome::Busy { retry_after: None };
        };
        tokio::time::sleep(self.duration).await;
        Outcome::Success
    }
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;
    use tokio::time::Instant;

    use super::super::samples::task;
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn runs_up_to_its_capacity_at_once_and_is_busy_beyond() {
        let runner = Simulated::new(2, 15 * SECOND);
        let tasks = [task("a"), task("b"), task("c")];
        let started = Instant::now();

        let outcomes = join_all(tasks.iter().map(|task| runner.run(task))).await;

        let busy = Outcome::Busy { retry_after: None };
        assert_eq!(outcomes, [Outcome::Success, Outcome::Success, busy]);
        assert_eq!(started.elapsed(), 15 * SECOND);
        assert_eq!(
            runner.run(&tasks[2]).await,
            Outcome::Success,
            "its slots are free again"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_dropped_run_gives_its_slot_back() {
        let runner = Simulated::new(1, 15 * SECOND);
        let dropped = tokio::time::timeout(SECOND, runner.run(&task("a"))).await;
        assert!(dropped.is_err());
        assert_eq!(runner.run(&task("b")).await, Outcome::Success);
    }

    #[tokio::test(start_paused = true)]
    async fn no_capacity_is_always_busy() {
        let runner = Simulated::new(0, SECOND);
        assert_eq!(
            runner.run(&task("a")).await,
            Outcome::Busy { retry_after: None }
        );
    }
}
