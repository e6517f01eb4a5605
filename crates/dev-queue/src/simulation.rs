//! A simulated downstream, and a burst of tasks that it cannot keep up with.

use std::time::Duration;

use clap::ValueEnum;
use lifo_queue::create::Creator;
use lifo_queue::runner::config::RunnerConfig;
use lifo_queue::runner::simulated::Rates;
use serde_json::json;
use tokio::sync::watch;

use crate::journal::Tally;
use crate::settings::Overrides;

/// Number of tasks in the burst: 16 per second, three times the downstream's capacity.
const TASKS: u64 = 40;
const INTERVAL: Duration = Duration::from_micros(62_500);

/// Time until a task of the burst expires.
const TTL_SECONDS: u64 = 3;

/// Maximum number of concurrent runs, and the duration of a run: five tasks per second.
const CAPACITY: u16 = 2;
const RUN: Duration = Duration::from_millis(400);

/// A simulated downstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Downstream {
    /// Completes five tasks per second
    Slow,
    /// Also rejects calls, because more run concurrently than it can take
    Busy,
    // One run in four can be retried, one in ten cannot.
    /// Also fails some runs
    Failing,
}

/// The error if no task of the burst was created.
#[derive(Debug, thiserror::Error)]
#[error("no simulated task was created: {0}")]
pub struct NothingCreated(String);

impl Downstream {
    pub fn runner(self) -> RunnerConfig {
        let rates = match self {
            Self::Slow | Self::Busy => Rates::default(),
            Self::Failing => Rates {
                failure: 0.1,
                retry: 0.25,
                busy: 0.0,
            },
        };
        RunnerConfig::Simulated {
            capacity: CAPACITY.into(),
            duration_ms: u64::try_from(RUN.as_millis()).unwrap_or(u64::MAX),
            rates,
        }
    }

    /// Returns settings that make the downstream's behavior visible within seconds.
    pub fn overrides(self) -> Overrides {
        let concurrency = match self {
            Self::Slow | Self::Failing => CAPACITY,
            Self::Busy => 2 * CAPACITY,
        };
        Overrides {
            concurrency: Some(concurrency),
            backoff: Some((Duration::from_millis(200), Duration::from_secs(1))),
            ..Overrides::default()
        }
    }
}

/// Creates a burst of tasks and waits until all of them have finished.
pub async fn burst(
    creator: &Creator,
    mut tally: watch::Receiver<Tally>,
) -> Result<(), NothingCreated> {
    let mut created = 0;
    let mut error = String::new();
    for number in 1..=TASKS {
        let task = json!({"taskId": format!("task-{number:02}"), "ttlSeconds": TTL_SECONDS});
        let report = creator.create(&[task]).await;
        created += report.created.len() as u64;
        if let Some(failed) = report.failed.into_iter().next() {
            error = failed.error;
        }
        tokio::time::sleep(INTERVAL).await;
    }
    if created == 0 {
        return Err(NothingCreated(error));
    }
    // An error means that the queue stopped first.
    let _ended = tally.wait_for(|tally| tally.ended() >= created).await;
    Ok(())
}
