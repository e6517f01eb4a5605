//! The settings of the cloud: the deployed defaults of `infra/`, unless a test changes them.

use std::time::Duration;

use lifo_queue::process::ProcessSettings;

use crate::deployed::PROCESS_TASKS;

/// Time for which a caller waits for a response: the SDK's limit per attempt, the same as
/// `ATTEMPT_TIMEOUT` in `crates/aws`.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Clone, Copy, Debug)]
pub struct CloudSettings {
    /// The settings of `process-tasks`, some of which `trigger` and `sweep-tasks` share.
    pub process: ProcessSettings,
    pub process_tasks: AsyncSettings,
    /// Invocations of `trigger` by its topic.
    pub trigger: AsyncSettings,
    pub sweep_tasks: AsyncSettings,
    pub sweep_interval: Duration,
    /// The stream's mapping to `trigger`.
    pub stream: StreamSettings,
    /// Maximum lag of the index without a fault.
    pub index_lag: Duration,
    /// Maximum lag of the index with the fault `StaleBeyondLag`.
    pub long_lag: Duration,
    /// Maximum error of a process's clock, in either direction.
    pub skew: Duration,
}

/// How a function is invoked asynchronously
/// (<https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html>).
#[derive(Clone, Copy, Debug)]
pub struct AsyncSettings {
    /// Reserved concurrency; `None` for none.
    pub concurrency: Option<usize>,
    /// Retries after a function error: one minute after the first, two minutes after the second.
    pub retries: u32,
    /// Maximum age of an event. Older events are discarded.
    pub max_age: Duration,
    pub timeout: Duration,
}

/// The event source mapping of the table's stream
/// (<https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-params.html>).
#[derive(Clone, Copy, Debug)]
pub struct StreamSettings {
    /// Number of shards. Each shard is read in order.
    pub shards: u32,
    /// Maximum number of records in a batch.
    pub batch_size: usize,
    /// Time for which records are gathered into a batch.
    pub window: Duration,
    /// Retries of a failed batch of one record. A larger batch is bisected instead.
    pub retries: u32,
    /// Maximum age of a record. Older records are skipped.
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
                concurrency: Some(2),
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
