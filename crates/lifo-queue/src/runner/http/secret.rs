//! A secret from Secrets Manager, cached for several minutes.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_secretsmanager::Client;
use aws_sdk_secretsmanager::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_secretsmanager::operation::get_secret_value::GetSecretValueError;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::super::reason::{aws_error, is_denied};
use super::Outcome;

/// Time for which the cached value is used after Secrets Manager could not be reached, so that an
/// outage does not slow down every task. Also the time during which rejections of an unchanged
/// value trigger no fetch, because the task may be the cause.
const GRACE: Duration = Duration::from_secs(30);

/// A secret that is fetched at its first use, and again when it is old or was rejected.
pub struct Secret {
    client: Client,
    arn: String,
    ttl: Duration,
    /// Locked during a fetch, so that many concurrent tasks make one request.
    cached: Mutex<Option<Cached>>,
}

struct Cached {
    text: SecretText,
    fresh_until: Instant,
    /// Time until which a rejection triggers no fetch. Set when a fetch after a rejection returned
    /// the same value.
    current_until: Option<Instant>,
}

/// The secret's text. Its debug form hides it.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct SecretText(Arc<str>);

impl SecretText {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Secret {
    /// The current version (`AWSCURRENT`) of a secret, fetched again after `ttl`.
    #[must_use]
    pub fn new(client: Client, arn: impl Into<String>, ttl: Duration) -> Self {
        Self {
            client,
            arn: arn.into(),
            ttl,
            cached: Mutex::default(),
        }
    }

    /// The secret's text. While Secrets Manager can't be reached, this is the last known value.
    ///
    /// # Errors
    /// [`Outcome::Unavailable`] if the secret temporarily can't be read. [`Outcome::Rejecting`] if
    /// it can't be read until a policy, the ARN or the secret changes.
    pub(super) async fn get(&self) -> Result<SecretText, Outcome> {
        let mut cached = self.cached.lock().await;
        if let Some(cached) = cached
            .as_ref()
            .filter(|cached| Instant::now() < cached.fresh_until)
        {
            return Ok(cached.text.clone());
        }
        match self.fetch().await {
            Ok(text) => Ok(self.keep(&mut cached, text)),
            Err(Outcome::Unavailable { reason }) => match cached.as_mut() {
                Some(old) => {
                    tracing::warn!(
                        reason,
                        "secret not read; using its cached value for another {GRACE:?}"
                    );
                    old.fresh_until = Instant::now() + GRACE;
                    Ok(old.text.clone())
                }
                None => Err(Outcome::Unavailable { reason }),
            },
            Err(outcome) => Err(outcome),
        }
    }

    /// The secret's text after an endpoint rejected the value `rejected`. Fetches the secret unless
    /// the cached value differs from `rejected` or a recent fetch returned the same value.
    pub(super) async fn get_after_rejection_of(
        &self,
        rejected: &SecretText,
    ) -> Result<SecretText, Outcome> {
        let mut cached = self.cached.lock().await;
        let now = Instant::now();
        let known = cached.as_ref().filter(|cached| {
            cached.text != *rejected || cached.current_until.is_some_and(|until| now < until)
        });
        if let Some(cached) = known {
            return Ok(cached.text.clone());
        }
        let text = self.fetch().await?;
        let text = self.keep(&mut cached, text);
        if let Some(cached) = cached.as_mut().filter(|_| text == *rejected) {
            cached.current_until = Some(Instant::now() + GRACE);
        }
        Ok(text)
    }

    fn keep(&self, cached: &mut Option<Cached>, text: SecretText) -> SecretText {
        *cached = Some(Cached {
            text: text.clone(),
            fresh_until: Instant::now() + self.ttl,
            current_until: None,
        });
        text
    }

    async fn fetch(&self) -> Result<SecretText, Outcome> {
        let request = self.client.get_secret_value().secret_id(&self.arn);
        let output = request
            .send()
            .await
            .map_err(|error| self.unavailable(&error))?;
        // A value from a file often ends with a line break, which is invalid in a header.
        match output
            .secret_string()
            .map(str::trim)
            .filter(|text| !text.is_empty())
        {
            Some(text) => Ok(SecretText(text.into())),
            None => Err(Outcome::Rejecting {
                reason: format!(
                    "secret {} contains no text; store the header's value",
                    self.arn
                ),
            }),
        }
    }

    fn unavailable(&self, error: &SdkError<GetSecretValueError>) -> Outcome {
        let reason = format!("secret {} cannot be read: {}", self.arn, aws_error(error));
        let lasting = error.as_service_error().is_some_and(|error| {
            matches!(
                error,
                GetSecretValueError::DecryptionFailure(_)
                    | GetSecretValueError::InvalidParameterException(_)
                    | GetSecretValueError::InvalidRequestException(_)
                    | GetSecretValueError::ResourceNotFoundException(_)
            ) || error.code().is_some_and(is_denied)
        });
        if lasting {
            Outcome::Rejecting { reason }
        } else {
            Outcome::Unavailable { reason }
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret")
            .field("arn", &self.arn)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
