//! Timeouts and retries of all AWS clients, in functions and in tests.

use std::time::Duration;

use aws_smithy_runtime_api::client::behavior_version::BehaviorVersion;
use aws_smithy_runtime_api::client::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::{TimeoutConfig, TimeoutConfigBuilder};

/// Maximum number of attempts per request, including the first.
///
/// The client can retry every write of the queues: if an acknowledgement was lost, the table
/// recognizes the repeated write.
pub const MAX_ATTEMPTS: u32 = 4;

/// Time limit for establishing a connection.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// Time limit for one attempt. DynamoDB and SNS respond in milliseconds, so after this time the
/// response is considered lost.
pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(3);

/// Time limit for a request, including its retries. It is well below the processor lease, so a
/// heartbeat can still renew the lease after losing its first attempts.
pub const OPERATION_TIMEOUT: Duration = Duration::from_secs(8);

/// Returns the version of the SDK's default behavior. It is fixed, because a newer version changes
/// how often a client retries: v2026_11_10 lets each retry of a transient error cost 14 of a
/// client's 500 tokens instead of 5, and obeys `x-amz-retry-after`.
pub fn behavior() -> BehaviorVersion {
    BehaviorVersion::v2026_01_12()
}

/// Returns the time limits per attempt and per request.
pub fn timeouts() -> TimeoutConfigBuilder {
    TimeoutConfig::builder()
        .operation_attempt_timeout(ATTEMPT_TIMEOUT)
        .operation_timeout(OPERATION_TIMEOUT)
}

/// Turns off the SDK's check that data keeps flowing. [`ATTEMPT_TIMEOUT`] includes the response body
/// and is shorter than the check's grace period, and a request takes 3 % fewer instructions without
/// it.
pub fn stalled_streams() -> StalledStreamProtectionConfig {
    StalledStreamProtectionConfig::disabled()
}

/// Returns the maximum number of attempts and the delays between them.
pub fn retries() -> RetryConfig {
    RetryConfig::standard()
        .with_max_attempts(MAX_ATTEMPTS)
        .with_initial_backoff(Duration::from_millis(50))
        .with_max_backoff(Duration::from_secs(1))
}

#[cfg(test)]
mod tests;
