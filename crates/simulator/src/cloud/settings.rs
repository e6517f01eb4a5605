//! The cloud settings. Unless a test changes them, they are the deployed defaults from `infra/`.

use std::time::Duration;

use lifo_queue::process::ProcessSettings;

use crate::deployed::PROCESS_TASKS;

/// Maximum time that a caller waits for a response. Equals the SDK timeout per attempt,
/// `ATTEMPT_TIMEOUT` in `crates/aws`.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Clone, Copy, Debug)]
pub struct CloudSettings {
    /// The settings of `process-tasks`, some of which `trigger` and `sweep-tasks` share.
    pub process: ProcessSettings,
    pub process_tasks: AsyncSettings,
    /// Settings for invocations of `trigger` by its topic.
    pub trigger: AsyncSettings,
    pub sweep_tasks: AsyncSettings,
    pub sweep_interval: Duration,
    /// Settings of the stream's event source mapping to `trigger`.
    pub stream: StreamSettings,
    /// Maximum lag of the index without a fault.
    pub index_lag: Duration,
    /// Maximum lag of the index with the fault `StaleBeyondLag`.
    pub long_lag: Duration,
    /// Maximum error of a process's clock, in either direction.
    pub skew: Duration,
}

/// Settings for asynchronous invocations of a function
/// (<https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html>).
#[derive(Clone, Copy, Debug)]
pub struct AsyncSettings {
    /// Reserved concurrency. `None` means unreserved.
    pub concurrency: Option<usize>,
    /// Number of retries after function errors: the first after one minute, the next after two.
    pub retries: u32,
    /// Maximum age of an event. Older events are discarded.
    pub max_age: Duration,
    pub timeout: Duration,
}

/// Settings of the event source mapping for the table's stream
/// (<https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-params.html>).
#[derive(Clone, Copy, Debug)]
pub struct StreamSettings {
    /// Number of shards. Each shard is read in order.
    pub shards: u32,
    /// Maximum number of records in a batch.
    pub batch_size: usize,
    /// Batching window: maximum time to gather records into a batch.
    pub window: Duration,
    /// Number of retries of a failed batch with one record. A larger batch is bisected instead.
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
                timeout: 4 * minute,
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
