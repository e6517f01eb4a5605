//! How the cloud is configured: the deployed defaults of `infra/`, unless a test says otherwise.

use std::time::Duration;

use lifo_queue::process::ProcessSettings;
use lifo_queue::sweep::SweepSettings;

use crate::deployed::PROCESS_TASKS;

/// How long a caller waits for an answer: the SDK's own limit for one attempt in
/// `crates/lambda`.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);

/// Everything that is configured.
#[derive(Clone, Copy, Debug)]
pub struct CloudSettings {
    /// `process-tasks`, and what `trigger` and `sweep-tasks` share with it.
    pub process: ProcessSettings,
    /// Invocations of `process-tasks`.
    pub process_tasks: AsyncSettings,
    /// Invocations of `trigger` by its topic.
    pub trigger: AsyncSettings,
    /// Invocations of `sweep-tasks`.
    pub sweep_tasks: AsyncSettings,
    /// How often the sweep comes.
    pub sweep_interval: Duration,
    /// The stream's mapping to `trigger`.
    pub stream: StreamSettings,
    /// How far the index lags at most, where nothing says that it lags more.
    pub index_lag: Duration,
    /// How far it lags when it lags beyond what is configured.
    pub long_lag: Duration,
    /// How wrong a process' clock is at most.
    pub skew: Duration,
}

/// How a function is invoked asynchronously
/// (<https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html>).
#[derive(Clone, Copy, Debug)]
pub struct AsyncSettings {
    /// Reserved concurrency; `None` for none.
    pub concurrency: Option<usize>,
    /// Retries after a function error: after one minute, and after two more.
    pub retries: u32,
    /// An event older than this is discarded.
    pub max_age: Duration,
    /// The function's timeout.
    pub timeout: Duration,
}

/// The event source mapping of the table's stream
/// (<https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-params.html>).
#[derive(Clone, Copy, Debug)]
pub struct StreamSettings {
    /// Shards, each of which is read in order.
    pub shards: u32,
    /// Records in a batch at most.
    pub batch_size: usize,
    /// How long to gather a batch.
    pub window: Duration,
    /// Retries of a batch that failed and is cut no further.
    pub retries: u32,
    /// Older records are skipped.
    pub max_record_age: Duration,
}

impl Default for CloudSettings {
    fn default() -> Self {
        let minute = Duration::from_secs(60);
        let once = AsyncSettings {
            concurrency: None,
            retries: 0,
            max_age: minute,
            timeout: Duration::from_secs(30),
        };
        Self {
            process: *PROCESS_TASKS,
            process_tasks: AsyncSettings {
                concurrency: Some(1),
                retries: 1,
                max_age: 5 * minute,
                timeout: 2 * minute,
            },
            trigger: once,
            sweep_tasks: AsyncSettings {
                timeout: minute,
                ..once
            },
            sweep_interval: minute,
            stream: StreamSettings {
                shards: 1,
                batch_size: 100,
                window: Duration::ZERO,
                retries: 5,
                max_record_age: 10 * minute,
            },
            index_lag: Duration::from_millis(50),
            long_lag: Duration::from_secs(10),
            skew: Duration::ZERO,
        }
    }
}

impl CloudSettings {
    /// What `sweep-tasks` shares with `process-tasks`.
    pub(crate) fn sweep(&self) -> SweepSettings {
        SweepSettings {
            default_ttl: self.process.default_ttl,
            expiry_bound: self.process.expiry_bound,
            overload_reach: self.process.codel.map(|codel| codel.reach()),
            max_attempts: self.process.max_attempts,
            backoff: self.process.backoff,
            failure_retention: self.process.retention.failure,
            clock_skew: self.process.clock_skew,
        }
    }
}
