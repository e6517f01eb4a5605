//! Authentication of the HTTP runner's calls.

use std::fmt;
use std::time::{Duration, SystemTime};

use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use aws_smithy_types::body::SdkBody;
use http::{HeaderName, HeaderValue, Request};

use super::super::reason::cause;
use super::Outcome;
use super::secret::{Secret, SecretText};

/// Time after which a secret is fetched again, unless a 401 or 403 triggers an earlier fetch.
pub const SECRET_TTL: Duration = Duration::from_secs(5 * 60);

/// Headers that can't carry a secret: those that the call sets and those that frame a request.
const RESERVED: [&str; 13] = [
    super::IDEMPOTENCY_KEY,
    super::ATTEMPT,
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
];

/// Authentication of calls.
pub enum Auth {
    /// No authentication, for an endpoint that identifies its callers by network.
    None,
    /// A header whose entire value is a secret in Secrets Manager (for `Authorization`, including
    /// the scheme: `Bearer …`). The secret is fetched at the first call, and again every
    /// [`SECRET_TTL`]. It is also fetched after a 401 or 403, up to twice per minute. If it was
    /// rotated, the call is retried once.
    Header {
        /// The header's name.
        name: HeaderName,
        /// The header's value.
        secret: Secret,
    },
    /// AWS Signature Version 4, including the body. Use it for API Gateway (`execute-api`),
    /// function URLs (`lambda`), VPC Lattice (`vpc-lattice-svcs`) or your own verifier
    /// (<https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html>).
    SigV4 {
        /// The service's signing name.
        service: String,
        /// The service's region.
        region: String,
        /// The credentials to sign with.
        credentials: SharedCredentialsProvider,
    },
}

/// A header that can't carry a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidHeaderName {
    /// Not a valid header name.
    #[error("{0:?} is not a valid header name; use a name such as Authorization or X-Api-Key")]
    Syntax(String),
    /// A header that the call sets itself, or that frames a request.
    #[error("{0:?} is set by the request itself; use a name such as Authorization or X-Api-Key")]
    Reserved(String),
}

impl Auth {
    /// Creates authentication by a header that contains a secret.
    ///
    /// # Errors
    /// [`InvalidHeaderName`] if `name` is not a valid header name, or is one of the call's own headers.
    pub fn header(
        name: &str,
        client: aws_sdk_secretsmanager::Client,
        secret_arn: impl Into<String>,
    ) -> Result<Self, InvalidHeaderName> {
        let parsed = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| InvalidHeaderName::Syntax(name.to_owned()))?;
        if RESERVED.contains(&parsed.as_str()) {
            return Err(InvalidHeaderName::Reserved(name.to_owned()));
        }
        Ok(Self::Header {
            name: parsed,
            secret: Secret::new(client, secret_arn, SECRET_TTL),
        })
    }

    /// Adds authentication to a request. Returns the texts that must be removed from the response.
    ///
    /// # Errors
    /// The task's outcome, if credentials are missing or unusable.
    pub(super) async fn apply(
        &self,
        request: &mut Request<SdkBody>,
        body: &[u8],
        header: Option<SecretHeader<'_>>,
    ) -> Result<Vec<String>, Outcome> {
        if let Some((name, secret)) = header {
            request
                .headers_mut()
                .insert(name.clone(), secret.header_value()?);
            return Ok(secret.confidential());
        }
        match self {
            Self::None | Self::Header { .. } => Ok(Vec::new()),
            Self::SigV4 {
                service,
                region,
                credentials,
            } => {
                let credentials =
                    credentials
                        .provide_credentials()
                        .await
                        .map_err(|error| Outcome::Retry {
                            reason: format!("no credentials to sign with: {}", cause(&error)),
                        })?;
                let token = credentials.session_token().map(str::to_owned);
                let identity = credentials.into();
                let parameters = v4::SigningParams::builder()
                    .identity(&identity)
                    .region(region)
                    .name(service)
                    .time(SystemTime::now())
                    .settings(SigningSettings::default())
                    .build()
                    .map_err(|error| unsigned(&error))?;
                add_signature(request, body, parameters)?;
                Ok(token.into_iter().collect())
            }
        }
    }
}

/// A header's name, and the secret to send in it.
pub(super) type SecretHeader<'a> = (&'a HeaderName, &'a SecretText);

fn add_signature(
    request: &mut Request<SdkBody>,
    body: &[u8],
    parameters: v4::SigningParams<'_, SigningSettings>,
) -> Result<(), Outcome> {
    let headers: Vec<(&str, &str)> = request
        .headers()
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
        .collect();
    let signable = SignableRequest::new(
        request.method().as_str(),
        request.uri().to_string(),
        headers.into_iter(),
        SignableBody::Bytes(body),
    )
    .map_err(|error| unsigned(&error))?;
    let (instructions, _signature) = sign(signable, &parameters.into())
        .map_err(|error| unsigned(&error))?
        .into_parts();
    instructions.apply_to_request_http1x(request);
    Ok(())
}

fn unsigned(error: &(dyn std::error::Error + 'static)) -> Outcome {
    Outcome::Retry {
        reason: format!("the request cannot be signed: {}", cause(error)),
    }
}

impl SecretText {
    /// Returns the secret as a header value.
    ///
    /// # Errors
    /// [`Outcome::Rejecting`] if the secret contains characters that are invalid in a header.
    fn header_value(&self) -> Result<HeaderValue, Outcome> {
        let mut value = HeaderValue::from_str(self.as_str()).map_err(|_| Outcome::Rejecting {
            reason:
                "the secret for the header contains characters that no header can contain; store \
                     visible ASCII in one line"
                    .to_owned(),
        })?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// Texts to mask: the entire value, and the part after the scheme in `Bearer …`.
    fn confidential(&self) -> Vec<String> {
        let credentials = self
            .as_str()
            .split_once(' ')
            .map(|(_, credentials)| credentials);
        [Some(self.as_str()), credentials]
            .into_iter()
            .flatten()
            .map(str::to_owned)
            .collect()
    }
}

impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Header { name, secret } => f
                .debug_struct("Header")
                .field("name", name)
                .field("secret", secret)
                .finish(),
            Self::SigV4 {
                service, region, ..
            } => f
                .debug_struct("SigV4")
                .field("service", service)
                .field("region", region)
                .finish_non_exhaustive(),
        }
    }
}
