//! A `process-tasks` binary with a custom task runner. It prices orders with an engine whose
//! license allows two calculations at a time.

mod engine;

use std::sync::Arc;
use std::time::Duration;

use freshq_runner::{Outcome, Task, TaskRunner, async_trait, serve};
use serde::Deserialize as _;
use tokio::sync::Semaphore;

use crate::engine::Order;

/// Number of concurrent calculations that the engine's license allows.
const LICENCES: usize = 2;

fn main() -> Result<(), freshq_runner::Error> {
    serve(async |_start| Ok(Pricing::new(LICENCES)))
}

struct Pricing {
    licences: Arc<Semaphore>,
}

impl Pricing {
    fn new(licences: usize) -> Self {
        Self {
            licences: Arc::new(Semaphore::new(licences)),
        }
    }
}

#[async_trait]
impl TaskRunner for Pricing {
    async fn run(&self, task: &Task) -> Outcome {
        // An invalid payload stays invalid, so the task fails without further attempts.
        let order = match Order::deserialize(&task.payload) {
            Ok(order) => order,
            Err(error) => {
                return Outcome::Failure {
                    reason: format!("payload: {error}"),
                };
            }
        };
        // A busy engine is not a failure. The task is due again soon, and the processor slows down.
        let Ok(licence) = self.licences.clone().try_acquire_owned() else {
            return Outcome::Busy {
                retry_after: Some(Duration::from_millis(500)),
                reason: "every licence is in use".to_owned(),
            };
        };
        // The engine calculates without awaiting, so it runs on a blocking thread.
        let priced = tokio::task::spawn_blocking(move || {
            let _licence = licence;
            engine::price(&order)
        });
        match priced.await {
            Ok(Ok(cents)) => {
                // Put your own effect here, with `task.idempotency_key()` as its idempotency key.
                // After a crash, the same task runs again.
                tracing::info!(task_id = %task.task_id, attempt = task.attempt, cents, "priced");
                Outcome::Success
            }
            Ok(Err(too_large)) => Outcome::Failure {
                reason: too_large.to_string(),
            },
            Err(error) => Outcome::Retry {
                reason: format!("the engine failed: {error}"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use freshq_runner::{EpochSeconds, Millis, TaskId};
    use serde_json::{Value, json};

    fn task(payload: Value) -> Task {
        Task {
            task_id: TaskId::from_stored("order-1"),
            version: None,
            task_created: Millis(1_700_000_000_000),
            attempt: 1,
            total_attempts: 1,
            expires_at: EpochSeconds(1_700_003_600),
            payload,
        }
    }

    fn order() -> Value {
        json!({"lines": [{"cents": 250, "quantity": 4}, {"cents": 99, "quantity": 1}]})
    }

    #[tokio::test]
    async fn an_order_is_priced() {
        assert_eq!(Pricing::new(1).run(&task(order())).await, Outcome::Success);
    }

    #[tokio::test]
    async fn task_without_a_free_licence_is_busy() {
        let outcome = Pricing::new(0).run(&task(order())).await;
        assert!(
            matches!(
                outcome,
                Outcome::Busy {
                    retry_after: Some(_),
                    ..
                }
            ),
            "{outcome:?}"
        );
    }

    #[tokio::test]
    async fn each_run_releases_its_licence() {
        let pricing = Pricing::new(1);
        for _ in 0..3 {
            assert_eq!(pricing.run(&task(order())).await, Outcome::Success);
        }
    }

    #[tokio::test]
    async fn invalid_order_fails_with_the_field() {
        for (payload, named) in [
            (json!({"lines": [{"cents": 1}]}), "quantity"),
            (json!(null), "payload"),
            (
                json!({"lines": [{"cents": u64::MAX, "quantity": 2}]}),
                "64 bits",
            ),
        ] {
            match Pricing::new(1).run(&task(payload)).await {
                Outcome::Failure { reason } => assert!(reason.contains(named), "{reason}"),
                outcome => panic!("{named}: {outcome:?}"),
            }
        }
    }
}
