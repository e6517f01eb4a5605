//! Configuration shared by all AWS clients of a function: one HTTPS client, one set of timeouts and
//! retries, one credentials cache.

use ::aws::{client, connections};
use aws_config::SdkConfig;
use lifo_queue::trace::Traced;

/// Loads the configuration for all AWS clients of this process.
///
/// In a traced invocation, each request is a subsegment ([`lifo_queue::trace`]).
///
/// Region, credentials and `AWS_ENDPOINT_URL` come from the environment, which Lambda sets. For a
/// local AWS, an endpoint can be plain `http`. A client whose requests can take longer than
/// [`client::OPERATION_TIMEOUT`], such as a synchronous Invoke, sets its own timeouts.
pub async fn sdk_config() -> SdkConfig {
    let https = connections::client(connections::AWS_IDLE_TIME);
    let timeouts = client::timeouts()
        .connect_timeout(client::CONNECT_TIMEOUT)
        .build();
    // Use the SDK's default credentials cache: lazy, shared by all clients made from this
    // configuration, and refreshed before the credentials expire.
    aws_config::defaults(client::behavior())
        .http_client(Traced(https))
        .timeout_config(timeouts)
        .stalled_stream_protection(client::stalled_streams())
        .retry_config(client::retries())
        .load()
        .await
}
