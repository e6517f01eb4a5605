//! A stand-in for a system that cannot keep up, for demonstrations, load tests and development.
//!
//! A task succeeds unless its payload says otherwise. `make smoke` proves with such payloads how a
//! deployed queue treats failures:
//!
//! ```json
//! {"simulate": {"outcome": "exit", "attempts": 1}}
//! ```
//!
//! | `outcome` | the run |
//! |---|---|
//! | `fail` | fails for good |
//! | `retry` | fails, and may be retried |
//! | `hang` | does not end before the task timeout |
//! | `exit` | ends the process, as a crash or a lack of memory would |
//!
//! `attempts` limits that to a number of first attempts of the task (default: all); later ones succeed.

use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;
use tokio::sync::Semaphore;

use super::{Outcome, TaskRunner};
use crate::task::Task;

/// The exit code of a process that a payload ended.
pub const EXIT_CODE: i32 = 70;

/// The member of a payload that [`Simulated`] obeys.
const INSTRUCTION: &str = "simulate";

/// Runs up to `capacity` tasks at once, each for a fixed time, with success or as the payload says;
/// answers [`Outcome::Busy`] to more, without saying for how long.
///
/// Waiting is tokio's, so a test that pauses tokio's clock does not wait.
#[derive(Debug)]
pub struct Simulated {
    slots: Semaphore,
    duration: Duration,
}

/// What a payload asks for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Instruction {
    outcome: Simulation,
    #[serde(default = "every_attempt")]
    attempts: u32,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Simulation {
    Fail,
    Retry,
    Hang,
    Exit,
}

fn every_attempt() -> u32 {
    u32::MAX
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
    async fn run(&self, task: &Task) -> Outcome {
        // The permit is returned when it is dropped: also when the processor drops this run
        // half-way.
        let Ok(_slot) = self.slots.try_acquire() else {
            return Outcome::Busy { retry_after: None };
        };
        tokio::time::sleep(self.duration).await;
        match instruction(task) {
            Ok(None) => Outcome::Success,
            Ok(Some(simulation)) => simulate(simulation, task.attempt).await,
            Err(error) => Outcome::Failure {
                reason: format!(
                    "the payload's {INSTRUCTION} is invalid: {error}; give an outcome (fail, \
                     retry, hang or exit) and, if it is to end, a number of attempts"
                ),
            },
        }
    }
}

/// What the payload asks for in this attempt, if anything.
fn instruction(task: &Task) -> serde_json::Result<Option<Simulation>> {
    let Some(given) = task.payload.get(INSTRUCTION) else {
        return Ok(None);
    };
    let Instruction { outcome, attempts } = Instruction::deserialize(given)?;
    Ok((task.attempt <= attempts).then_some(outcome))
}

async fn simulate(simulation: Simulation, attempt: u32) -> Outcome {
    let reason = format!("attempt {attempt} failed, as its payload asked");
    match simulation {
        Simulation::Fail => Outcome::Failure { reason },
        Simulation::Retry => Outcome::Retry { reason },
        Simulation::Hang => std::future::pending().await,
        Simulation::Exit => std::process::exit(EXIT_CODE),
    }
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;
    use serde_json::json;
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

    fn told(simulate: serde_json::Value, attempt: u32) -> Task {
        Task {
            attempt,
            payload: json!({"order": 7, "simulate": simulate}),
            ..task("told")
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_payload_may_ask_for_a_failure() {
        let runner = Simulated::new(1, SECOND);
        let failed = runner.run(&told(json!({"outcome": "fail"}), 1)).await;
        let Outcome::Failure { reason } = failed else {
            panic!("{failed:?}")
        };
        assert!(reason.contains("attempt 1"), "{reason}");
        let retried = runner.run(&told(json!({"outcome": "retry"}), 9)).await;
        assert!(matches!(retried, Outcome::Retry { .. }), "{retried:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_simulated_failure_ends_with_the_attempts_it_names() {
        let runner = Simulated::new(1, SECOND);
        let simulate = json!({"outcome": "retry", "attempts": 2});
        for attempt in 1..=2 {
            let outcome = runner.run(&told(simulate.clone(), attempt)).await;
            assert!(matches!(outcome, Outcome::Retry { .. }), "{outcome:?}");
        }
        assert_eq!(runner.run(&told(simulate, 3)).await, Outcome::Success);
    }

    #[tokio::test(start_paused = true)]
    async fn a_payload_may_ask_for_a_run_that_does_not_end() {
        let runner = Simulated::new(1, SECOND);
        let hanging = told(json!({"outcome": "hang"}), 1);
        let run = runner.run(&hanging);
        assert!(
            tokio::time::timeout(100 * SECOND, run).await.is_err(),
            "it ended"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn an_invalid_instruction_fails_the_task_and_names_the_remedy() {
        let runner = Simulated::new(1, SECOND);
        for simulate in [
            json!("exit"),
            json!({}),
            json!({"outcome": "explode"}),
            json!({"outcome": "fail", "attempt": 1}),
            json!({"outcome": "fail", "attempts": -1}),
        ] {
            let outcome = runner.run(&told(simulate.clone(), 1)).await;
            let Outcome::Failure { reason } = outcome else {
                panic!("{simulate}: {outcome:?}")
            };
            assert!(
                reason.contains("simulate is invalid") && reason.contains("give an outcome"),
                "{simulate}: {reason}"
            );
        }
    }

    /// Set in the process that is to exit, which runs the test below once more.
    const EXITING: &str = "FRESHQ_TEST_EXITING";

    #[test]
    fn a_payload_may_ask_for_the_end_of_the_process() {
        if std::env::var_os(EXITING).is_some() {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()
                .unwrap();
            let runner = Simulated::new(1, Duration::ZERO);
            let outcome = runtime.block_on(runner.run(&told(json!({"outcome": "exit"}), 1)));
            panic!("the process goes on: {outcome:?}");
        }
        let this_test = "runner::simulated::tests::a_payload_may_ask_for_the_end_of_the_process";
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", this_test])
            .env(EXITING, "1")
            .stdout(std::process::Stdio::null())
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(EXIT_CODE));
    }
}
