//! What every AWS client of a function shares: one HTTPS client, one set of timeouts and
//! retries, one cache of credentials.

use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};

/// Tries of one call, the first included.
///
/// Every write of the queue can be recognised when its acknowledgement was lost, so the client
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

/// The configuration for every client of this process.
///
/// Region, credentials and `AWS_ENDPOINT_URL` come from the environment, as Lambda sets it; an
/// endpoint may be plain `http`, as a local AWS has it. Calls that may rightly take longer than
/// [`OPERATION_TIMEOUT`], such as a synchronous Invoke, set their own timeouts on their own
/// client's configuration.
pub async fn sdk_config() -> SdkConfig {
    let https = Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .build_https();
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .operation_attempt_timeout(ATTEMPT_TIMEOUT)
        .operation_timeout(OPERATION_TIMEOUT)
        .build();
    let retries = RetryConfig::standard()
        .with_max_attempts(MAX_ATTEMPTS)
        .with_initial_backoff(Duration::from_millis(50))
        .with_max_backoff(Duration::from_secs(1));
    // The credentials' cache is the SDK's default: lazy, shared by all clients made from this
    // configuration, refreshed before they expire.
    aws_config::defaults(BehaviorVersion::latest())
        .http_client(https)
        .timeout_config(timeouts)
        .retry_config(retries)
        .load()
        .await
}
