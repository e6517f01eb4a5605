//! The configuration of all AWS clients: region, credentials, one HTTPS client.

use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use clap::Args;

/// Where AWS is, as the AWS CLI names it.
#[derive(Debug, Default, Args)]
pub(crate) struct AwsArguments {
    /// The region; by default AWS_REGION, then the profile's region
    #[arg(long, value_name = "REGION", help_heading = "Common options")]
    pub(crate) region: Option<String>,
    /// The profile of the AWS configuration; by default AWS_PROFILE
    #[arg(long, value_name = "NAME", help_heading = "Common options")]
    pub(crate) profile: Option<String>,
    /// The address of AWS, for example of a local one; by default AWS_ENDPOINT_URL
    #[arg(long, value_name = "URL", help_heading = "Common options")]
    pub(crate) endpoint_url: Option<String>,
}

/// Loads the configuration from the sources of the AWS CLI: environment, profile, single sign-on, a
/// `credential_process`, and `AWS_ENDPOINT_URL`
/// (<https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html>). The operator
/// may be far from the region, so the timeouts are longer than those of the functions.
pub(crate) async fn sdk_config(arguments: &AwsArguments) -> SdkConfig {
    let https = Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .build_https();
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(3))
        .operation_attempt_timeout(Duration::from_secs(10))
        .operation_timeout(Duration::from_secs(30))
        .build();
    let mut loader = aws_config::defaults(BehaviorVersion::latest())
        .http_client(https)
        .timeout_config(timeouts)
        // The client may repeat any write of the queue without harm.
        .retry_config(RetryConfig::standard().with_max_attempts(4));
    if let Some(region) = &arguments.region {
        loader = loader.region(Region::new(region.clone()));
    }
    if let Some(profile) = &arguments.profile {
        loader = loader.profile_name(profile);
    }
    if let Some(url) = &arguments.endpoint_url {
        loader = loader.endpoint_url(url);
    }
    loader.load().await
}
