//! A simulated system with limited capacity, for demonstrations, load tests and development.
//!
//! A task succeeds, or ends randomly according to the shares in [`Rates`], unless its payload sets
//! the outcome. `make smoke` uses such payloads to test how a deployed queue handles failures:
//!
//! ```json
//! {"simulate": {"outcome": "exit", "attempts": 1}}
//! ```
//!
//! | `outcome` | the run |
//! |---|---|
//! | `fail` | fails permanently |
//! | `retry` | fails, and may be retried |
//! | `hang` | does not end before the task timeout |
//! | `exit` | ends the process, like a crash or exhausted memory |
//!
//! `attempts` limits the outcome to that number of first attempts (default: all). Later attempts
//! succeed. Rates do not apply to a task whose payload sets an outcome.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use super::{Outcome, TaskRunner};
use crate::task::Task;

/// The exit code of a process that a payload terminates.
pub const EXIT_CODE: i32 = 70;

/// The field of a payload that sets the outcome.
const INSTRUCTION: &str = "simulate";

/// The shares of runs that do not succeed, each from 0 to 1. Their sum must not exceed 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rates {
    /// Share of runs that fail permanently.
    pub failure: f64,
    /// Share of runs that fail and may be retried.
    pub retry: f64,
    /// Share of runs that immediately end with [`Outcome::Busy`].
    pub busy: f64,
}

impl Rates {
    /// Whether every run succeeds.
    #[must_use]
    pub fn are_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Whether no share is negative and their sum does not exceed 1, apart from rounding errors (1e-9).
    #[must_use]
    pub fn are_valid(&self) -> bool {
        let shares = [self.failure, self.retry, self.busy];
        shares.iter().all(|share| *share >= 0.0) && shares.iter().sum::<f64>() < 1.0 + 1e-9
    }

    /// The outcome of a run for `drawn`, a random number from 0 to 1; `None` for success.
    fn at(&self, drawn: f64) -> Option<Outcome> {
        let reason = || "failed at random, at the simulated runner's configured rate".to_owned();
        if drawn < self.busy {
            Some(busy())
        } else if drawn < self.busy + self.failure {
            Some(Outcome::Failure { reason: reason() })
        } else if drawn < self.busy + self.failure + self.retry {
            Some(Outcome::Retry { reason: reason() })
        } else {
            None
        }
    }
}

/// Runs up to `capacity` concurrent tasks, each for a fixed time. A run succeeds, ends randomly, or
/// ends as the payload specifies. Further tasks get [`Outcome::Busy`] without a requested wait.
///
/// The simulation waits with tokio's clock, so a test that pauses this clock does not wait.
#[derive(Debug)]
pub struct Simulated {
    slots: Semaphore,
    duration: Duration,
    rates: Rates,
}

/// The outcome that a payload sets.
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
    /// A system that runs up to `capacity` concurrent tasks (0: none), each for `duration`.
    #[must_use]
    pub fn new(capacity: usize, duration: Duration) -> Self {
        Self {
            slots: Semaphore::new(capacity.min(Semaphore::MAX_PERMITS)),
            duration,
            rates: Rates::default(),
        }
    }

    /// Returns the same system with these shares of unsuccessful runs.
    #[must_use]
    pub fn with_rates(self, rates: Rates) -> Self {
        Self { rates, ..self }
    }
}

/// The outcome of a run that finds no free capacity.
fn busy() -> Outcome {
    Outcome::Busy {
        retry_after: None,
        reason: "the simulated downstream was busy".to_owned(),
    }
}

#[async_trait]
impl TaskRunner for Simulated {
    async fn run(&self, task: &Task) -> Outcome {
        let by_chance = match task.payload.get(INSTRUCTION) {
            None if !self.rates.are_zero() => self.rates.at(fastrand::f64()),
            _ => None,
        };
        if let Some(busy @ Outcome::Busy { .. }) = by_chance {
            return busy;
        }
        // Dropping the permit releases it, even if the processor drops this run before its end.
        let Ok(_slot) = self.slots.try_acquire() else {
            return busy();
        };
        tokio::time::sleep(self.duration).await;
        match instruction(task) {
            Ok(None) => by_chance.unwrap_or(Outcome::Success),
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

/// The outcome that the payload sets for this attempt, if any.
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
mod tests;
