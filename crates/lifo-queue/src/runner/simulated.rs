//! A stand-in for a system that cannot keep up, for demonstrations, load tests and development.
//!
//! A task succeeds, or ends by chance as [`Rates`] say, unless its payload says otherwise. `make smoke`
//! proves with such payloads how a deployed queue treats failures:
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
//! Rates do not apply to a task whose payload says how it ends.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use super::{Outcome, TaskRunner};
use crate::task::Task;

/// The exit code of a process that a payload ended.
pub const EXIT_CODE: i32 = 70;

/// The member of a payload that [`Simulated`] obeys.
const INSTRUCTION: &str = "simulate";

/// The shares of runs that do not succeed, each from 0 to 1; together at most 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rates {
    /// Fail for good.
    pub failure: f64,
    /// Fail, and may be retried.
    pub retry: f64,
    /// Are answered with [`Outcome::Busy`] at once.
    pub busy: f64,
}

impl Rates {
    /// Whether every run succeeds.
    #[must_use]
    pub fn are_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the shares are shares. Their sum may be above 1 by what adding fractions costs.
    #[must_use]
    pub fn are_valid(&self) -> bool {
        let shares = [self.failure, self.retry, self.busy];
        shares.iter().all(|share| *share >= 0.0) && shares.iter().sum::<f64>() < 1.0 + 1e-9
    }

    /// How the run ends for a number that was drawn from 0 to 1; `None`: with success.
    fn at(&self, drawn: f64) -> Option<Outcome> {
        let reason = || "failed by chance, as the rates of the simulated runner say".to_owned();
        if drawn < self.busy {
            Some(Outcome::Busy { retry_after: None })
        } else if drawn < self.busy + self.failure {
            Some(Outcome::Failure { reason: reason() })
        } else if drawn < self.busy + self.failure + self.retry {
            Some(Outcome::Retry { reason: reason() })
        } else {
            None
        }
    }
}

/// Runs up to `capacity` tasks at once, each for a fixed time, with success, by chance or as the payload
/// says; answers [`Outcome::Busy`] to more, without saying for how long.
///
/// Waiting is tokio's, so a test that pauses tokio's clock does not wait.
#[derive(Debug)]
pub struct Simulated {
    slots: Semaphore,
    duration: Duration,
    rates: Rates,
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
            rates: Rates::default(),
        }
    }

    /// The same system, where some runs do not succeed.
    #[must_use]
    pub fn with_rates(self, rates: Rates) -> Self {
        Self { rates, ..self }
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
        // The permit is returned when it is dropped: also when the processor drops this run
        // half-way.
        let Ok(_slot) = self.slots.try_acquire() else {
            return Outcome::Busy { retry_after: None };
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
mod tests;
