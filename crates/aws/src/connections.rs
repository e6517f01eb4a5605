//! The connections of all HTTP clients: to AWS, and to the endpoint of a queue.
//!
//! A connection can be dead without a sign of it, for example after a firewall dropped its state.
//! Each request on it waits for its timeout, and HTTP/2 sends all requests on one connection.
//! Therefore, a request that gets no response retires its connection: other requests on it may
//! finish, but the next request uses another connection.
//!
//! A server may also close a connection while a request is on its way. If the server cannot have
//! processed the request, it is sent a second time, at once, on another connection.

use std::error::Error;
use std::io;
use std::time::{Duration, Instant};

use aws_smithy_http_client::pool::{Client, ConnectionPool};
use aws_smithy_http_client::tls::{Provider, TlsContext, rustls_provider::CryptoMode};
use aws_smithy_runtime::client::auth::no_auth::{NO_AUTH_SCHEME_ID, NoAuthScheme};
use aws_smithy_runtime::client::identity::IdentityCache;
use aws_smithy_runtime::client::identity::no_auth::NoAuthIdentityResolver;
use aws_smithy_runtime::client::orchestrator::endpoints::StaticUriEndpointResolver;
use aws_smithy_runtime::client::retries::strategy::NeverRetryStrategy;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::auth::static_resolver::StaticAuthSchemeOptionResolver;
use aws_smithy_runtime_api::client::connection::CaptureSmithyConnection;
use aws_smithy_runtime_api::client::connector_metadata::ConnectorMetadata;
use aws_smithy_runtime_api::client::http::telemetry::{
    CaptureHttpAttemptTelemetry, ConnectionUsage,
};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::{
    RuntimeComponents, RuntimeComponentsBuilder,
};
use aws_smithy_types::config_bag::ConfigBag;

/// Time after which an idle connection to AWS is closed, as the AWS SDK does by default.
pub const AWS_IDLE_TIME: Duration = Duration::from_secs(90);

/// Time until the first TCP keep-alive probe. A NAT gateway drops connections that send nothing for
/// 350 seconds, for example while a long request runs
/// (<https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-basics.html>).
const KEEP_ALIVE: Duration = Duration::from_secs(60);

/// Maximum time from a request to the end of its connection for which the server cannot have
/// processed the request: its end of the connection was then on its way already.
const IN_FLIGHT: Duration = Duration::from_secs(1);

/// Returns an HTTPS client whose idle connections close after `idle`.
pub fn client(idle: Duration) -> SharedHttpClient {
    client_trusting(TlsContext::default(), idle)
}

fn client_trusting(tls: TlsContext, idle: Duration) -> SharedHttpClient {
    let pool = ConnectionPool::builder()
        .idle_timeout(idle)
        .tcp_keepalive(KEEP_ALIVE)
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .tls_context(tls)
        .build_https()
        .expect("a pool without a limit and without partitions is valid");
    let client = Client::new(&pool).expect("the pool has no partitions");
    SharedHttpClient::new(Retiring(SharedHttpClient::new(client)))
}

/// Returns the connector of such a client, for requests outside the AWS SDK.
pub fn connector(settings: &HttpConnectorSettings, idle: Duration) -> SharedHttpConnector {
    connector_of(&client(idle), settings)
}

fn connector_of(
    client: &SharedHttpClient,
    settings: &HttpConnectorSettings,
) -> SharedHttpConnector {
    // A connector of this client needs a clock and timers only, which have defaults.
    let components = RuntimeComponentsBuilder::new("connector")
        .with_auth_scheme_option_resolver(Some(StaticAuthSchemeOptionResolver::new(vec![])))
        .with_endpoint_resolver(Some(StaticUriEndpointResolver::http_localhost(0)))
        .with_identity_cache(Some(IdentityCache::no_cache()))
        .with_retry_strategy(Some(NeverRetryStrategy::new()))
        .with_auth_scheme(NoAuthScheme::new())
        .with_identity_resolver(NO_AUTH_SCHEME_ID, NoAuthIdentityResolver::new())
        .build()
        .expect("every required component is set");
    client.http_connector(settings, &components)
}

/// An HTTP client or connector that retires connections without a response.
#[derive(Debug)]
struct Retiring<C>(C);

impl HttpClient for Retiring<SharedHttpClient> {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(Retiring(self.0.http_connector(settings, components)))
    }

    fn validate_base_client_config(
        &self,
        components: &RuntimeComponentsBuilder,
        config: &ConfigBag,
    ) -> Result<(), BoxError> {
        self.0.validate_base_client_config(components, config)
    }

    fn connector_metadata(&self) -> Option<ConnectorMetadata> {
        self.0.connector_metadata()
    }
}

impl HttpConnector for Retiring<SharedHttpConnector> {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let connector = self.0.clone();
        HttpConnectorFuture::new(async move {
            let again = request.try_clone();
            match (attempt(&connector, request).await, again) {
                (Err(failed), Some(request)) if failed.is_unprocessed => {
                    tracing::debug!(error = %failed.error, "request sent a second time");
                    attempt(&connector, request).await
                }
                (result, _) => result,
            }
            .map_err(|failed| failed.error)
        })
    }
}

struct Failed {
    error: ConnectorError,
    /// Whether the server cannot have processed the request.
    is_unprocessed: bool,
}

async fn attempt(
    connector: &SharedHttpConnector,
    mut request: HttpRequest,
) -> Result<HttpResponse, Failed> {
    let pending = Pending(Some(captured(&mut request)));
    let telemetry: CaptureHttpAttemptTelemetry = captured(&mut request);
    let started = Instant::now();
    match connector.call(request).await {
        Ok(response) => {
            pending.responded();
            Ok(response)
        }
        Err(error) => {
            let telemetry = telemetry.get();
            let acquired = telemetry.acquisition();
            let is_reused = acquired.is_some_and(|it| it.usage() == ConnectionUsage::Reused);
            let is_unprocessed = match Rejection::of(&error) {
                Some(Rejection::Stream) => true,
                Some(Rejection::Closed) => is_reused && started.elapsed() < IN_FLIGHT,
                None => false,
            };
            Err(Failed {
                error,
                is_unprocessed,
            })
        }
    }
}

/// Returns the extension that captures a property of the request's connection. The AWS SDK sets some
/// of them too, and reads them after the request.
fn captured<T: Clone + Default + Send + Sync + std::fmt::Debug + 'static>(
    request: &mut HttpRequest,
) -> T {
    if let Some(capture) = request.extension::<T>() {
        return capture.clone();
    }
    let capture = T::default();
    request.add_extension(capture.clone());
    capture
}

/// A request without a response yet. If it is dropped, for example at its timeout, it retires its
/// connection.
struct Pending(Option<CaptureSmithyConnection>);

impl Pending {
    fn responded(mut self) {
        self.0 = None;
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(connection) = self.0.as_ref().and_then(CaptureSmithyConnection::get) {
            connection.poison();
        }
    }
}

/// How a server rejected a request.
enum Rejection {
    /// The server rejected the HTTP/2 stream, or announced that it ignores it.
    Stream,
    /// The server closed the connection.
    Closed,
}

impl Rejection {
    fn of(error: &ConnectorError) -> Option<Self> {
        let mut cause: Option<&(dyn Error + 'static)> = Some(error);
        while let Some(error) = cause {
            if let Some(rejection) = Self::of_cause(error) {
                return Some(rejection);
            }
            cause = error.source();
        }
        None
    }

    fn of_cause(error: &(dyn Error + 'static)) -> Option<Self> {
        if let Some(error) = error.downcast_ref::<h2::Error>() {
            // <https://www.rfc-editor.org/rfc/rfc9113#section-8.7>
            let reason = error.reason();
            let is_rejected = error.is_reset() && reason == Some(h2::Reason::REFUSED_STREAM);
            let is_ignored = error.is_go_away() && reason == Some(h2::Reason::NO_ERROR);
            return match error.get_io() {
                Some(io) => is_closed(io).then_some(Self::Closed),
                None => (error.is_remote() && (is_rejected || is_ignored)).then_some(Self::Stream),
            };
        }
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return is_closed(error).then_some(Self::Closed);
        }
        let error = error.downcast_ref::<hyper::Error>()?;
        error.is_incomplete_message().then_some(Self::Closed)
    }
}

fn is_closed(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::UnexpectedEof
    )
}

#[cfg(test)]
mod tests;
