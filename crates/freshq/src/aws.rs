//! The configuration of all AWS clients: region, credentials, one HTTPS client.

use std::time::Duration;

use aws::{client, connections};
use aws_config::profile::ProfileFileCredentialsProvider;
use aws_config::provider_config::ProviderConfig;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_http_client::Builder;
use aws_types::os_shim_internal::{Env, Fs};
use clap::Args;

use crate::failure::{Failure, Result};

/// Where AWS is, as the AWS CLI names it.
#[derive(Debug, Default, Args)]
pub(crate) struct AwsArguments {
    /// The region; by default AWS_REGION, then the profile's region
    #[arg(long, value_name = "REGION", help_heading = "Common options")]
    pub(crate) region: Option<String>,
    /// The profile of the AWS configuration, even if the environment has keys; by default AWS_PROFILE
    #[arg(long, value_name = "NAME", help_heading = "Common options")]
    pub(crate) profile: Option<String>,
    /// The address of AWS, for example of a local one; by default AWS_ENDPOINT_URL
    #[arg(long, value_name = "URL", help_heading = "Common options")]
    pub(crate) endpoint_url: Option<String>,
}

impl AwsArguments {
    /// Returns the options of the AWS CLI for these arguments.
    pub(crate) fn of_cli(&self) -> Vec<String> {
        let options = [
            ("--region", &self.region),
            ("--profile", &self.profile),
            ("--endpoint-url", &self.endpoint_url),
        ];
        let given = options
            .into_iter()
            .filter_map(|(name, value)| Some([name.to_owned(), value.clone()?]));
        given.flatten().collect()
    }
}

/// Loads the configuration from the sources that the AWS CLI uses: environment, profile, single
/// sign-on, a `credential_process`, and `AWS_ENDPOINT_URL`
/// (<https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html>). The operator
/// may be far from the region, so the timeouts are longer than those of the functions.
pub(crate) async fn sdk_config(arguments: &AwsArguments) -> Result<SdkConfig> {
    let https = connections::client(connections::AWS_IDLE_TIME);
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(3))
        .operation_attempt_timeout(Duration::from_secs(10))
        .operation_timeout(Duration::from_secs(30))
        .build();
    let mut loader = aws_config::defaults(client::behavior())
        .http_client(https.clone())
        .timeout_config(timeouts)
        // The client can safely retry any write of the queue.
        .retry_config(RetryConfig::standard().with_max_attempts(4));
    if let Some(region) = &arguments.region {
        loader = loader.region(Region::new(region.clone()));
    }
    if let Some(profile) = &arguments.profile {
        check_profile(profile).await?;
        loader = loader.profile_name(profile);
    }
    if let Some(url) = &arguments.endpoint_url {
        loader = loader.endpoint_url(url);
    }
    let config = loader.load().await;
    let region = config.region().cloned().ok_or(Failure::NoRegion)?;
    let Some(profile) = &arguments.profile else {
        return Ok(config);
    };
    // By default, keys in the environment take precedence over the profile, but these keys may
    // belong to another account. The AWS CLI also ignores such keys if `--profile` is set.
    let provider = ProviderConfig::without_region()
        .with_region(Some(region))
        .with_http_client(https);
    let credentials = ProfileFileCredentialsProvider::builder()
        .configure(&provider)
        .profile_name(profile)
        .build();
    let credentials = SharedCredentialsProvider::new(credentials);
    let builder = config.into_builder().credentials_provider(credentials);
    Ok(builder.build())
}

/// Returns the configuration for `freshq dev`, which checks neither region nor credentials.
pub(crate) fn dev_config(url: &str) -> SdkConfig {
    let credentials = Credentials::new("local", "local", None, None, "freshq dev");
    SdkConfig::builder()
        .behavior_version(client::behavior())
        .region(Region::from_static("us-east-1"))
        .endpoint_url(url)
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .http_client(Builder::new().build_http())
        .retry_config(RetryConfig::disabled())
        .build()
}

async fn check_profile(profile: &str) -> Result<()> {
    let (files, environment) = (Fs::real(), Env::real());
    let profiles = aws_config::profile::load(&files, &environment, &Default::default(), None).await;
    match profiles.map_err(Failure::Profiles)?.get_profile(profile) {
        Some(_) => Ok(()),
        None => Err(Failure::NoProfile(profile.to_owned())),
    }
}
