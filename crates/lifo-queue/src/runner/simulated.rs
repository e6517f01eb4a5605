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
