//! What every client of this command shares: region, credentials, one HTTPS client.

use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};

/// The configuration as the AWS CLI would find it: environment, profile, single sign-on or a
/// `credential_process`, and `AWS_ENDPOINT_URL`
/// (<https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html>). A person
/// waits and may be far away, so the timeouts are longer than a function's.
pub(crate) async fn sdk_config() -> SdkConfig {
    let https = Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .build_https();
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(3))
        .operation_attempt_timeout(Duration::from_secs(10))
        .operation_timeout(Duration::from_secs(30))
        .build();
    aws_config::defaults(BehaviorVersion::latest())
        .http_client(https)
        .timeout_config(timeouts)
        // Every write of the queue recognises an earlier try of its own.
        .retry_config(RetryConfig::standard().with_max_attempts(4))
        .load()
        .await
}
