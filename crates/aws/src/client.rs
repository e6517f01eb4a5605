//! Timeouts and retries of every client: the functions', and those of tests.

use std::time::Duration;

use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::{TimeoutConfig, TimeoutConfigBuilder};

/// Tries of one call, the first included.
///
/// Every write of the queues can be recognised when its acknowledgement was lost, so the client
/// may repeat it.
pub const MAX_ATTEMPTS: u32 = 4;

/// How long a connection may take.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// How long one try may take: DynamoDB and SNS answer in milliseconds, so after this the answer
/// is lost.
pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(3);

/// How long a call and its repetitions may take. Well under the processor lease, so that a
/// heartbeat whose first tries are lost can still renew it.
pub const OPERATION_TIMEOUT: Duration = Duration::from_secs(8);

/// How long a try and a call may take.
#[must_use]
pub fn timeouts() -> TimeoutConfigBuilder {
    TimeoutConfig::builder()
        .operation_attempt_timeout(ATTEMPT_TIMEOUT)
        .operation_timeout(OPERATION_TIMEOUT)
}

/// How often a call is repeated, and after which delays.
#[must_use]
pub fn retries() -> RetryConfig {
    RetryConfig::standard()
        .with_max_attempts(MAX_ATTEMPTS)
        .with_initial_backoff(Duration::from_millis(50))
        .with_max_backoff(Duration::from_secs(1))
}
