//! An endpoint's response and the resulting outcome of the task.

use std::time::{Duration, SystemTime};

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_types::body::SdkBody;
use http::StatusCode;
use http_body_util::BodyExt;

use super::super::reason::{cause, excerpt};
use super::super::retry_after;
use super::Outcome;

/// Maximum number of bytes read from a body. The rest is not read, and the connection is closed.
const MAX_BODY: usize = 64 * 1024;
/// Maximum time to read a body. It only explains the status. A body that is read to its end leaves
/// the connection open for the next call.
const MAX_BODY_TIME: Duration = Duration::from_secs(2);
/// Minimum length of a masked secret, in bytes. Shorter secrets would match unrelated text.
const MIN_SECRET: usize = 4;

/// The outcome for a status code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Means {
    Success,
    Busy,
    Rejecting,
    Failure,
    Unavailable,
}

/// Status codes per outcome. An `x` matches any digit, and the first match applies. Any other code
/// means unavailable. `make docs` copies the codes into the documents.
const STATUS_CODES: [(&[&str], Means); 4] = [
    (&["2xx"], Means::Success),
    (&["408", "425", "429", "503", "529"], Means::Busy),
    (&["401", "403", "404", "3xx"], Means::Rejecting),
    (&["4xx"], Means::Failure),
];

/// Status codes that mean busy with a valid `Retry-After`: with it, the endpoint asks for another
/// call later, whatever the status says about this one.
const BUSY_IF_ASKED: [&str; 4] = ["403", "409", "413", "502"];

impl Means {
    /// `repeats` states that the task has started before. A conflict then means that the endpoint
    /// still processes an earlier request with the same idempotency key, whose response was lost.
    fn of(status: StatusCode, retry_after: Option<Duration>, repeats: bool) -> Self {
        let is_asked = retry_after.is_some() && BUSY_IF_ASKED.contains(&status.as_str());
        if is_asked || (repeats && status == StatusCode::CONFLICT) {
            return Self::Busy;
        }
        let matches = |code: &&str| {
            let mut digits = code.bytes().zip(status.as_str().bytes());
            digits.all(|(pattern, digit)| pattern == b'x' || pattern == digit)
        };
        let row = STATUS_CODES
            .iter()
            .find(|(codes, _)| codes.iter().any(matches));
        row.map_or(Self::Unavailable, |(_, means)| *means)
    }
}

/// The response to one call.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: StatusCode,
    retry_after: Option<Duration>,
    /// The target of a redirect, without confidential texts. Omits the query and the fragment,
    /// which may contain credentials, such as a signature.
    location: Option<String>,
    /// The start of the body in one line, without confidential texts.
    excerpt: String,
}

impl Response {
    /// Receives a response. Texts in `confidential` are removed from its body.
    ///
    /// # Errors
    /// [`Outcome::Unavailable`] if the status is invalid.
    pub(super) async fn read(
        response: HttpResponse,
        confidential: &[String],
    ) -> Result<Self, Outcome> {
        let status = StatusCode::from_u16(response.status().as_u16()).map_err(|error| {
            Outcome::Unavailable {
                reason: format!("the response has an invalid HTTP status: {error}"),
            }
        })?;
        let retry_after = response
            .headers()
            .get("retry-after")
            .and_then(|value| retry_after::parse(value, SystemTime::now()));
        let location = response.headers().get("location");
        let location = location.map(|value| {
            let address = value.as_bytes().split(|byte| b"?#".contains(byte)).next();
            presentable(address.unwrap_or_default(), confidential)
        });
        let encoding = response.headers().get("content-encoding");
        let encoding = encoding.filter(|coding| !coding.eq_ignore_ascii_case("identity"));
        let encoding = encoding.map(str::to_owned);
        let mut body = Vec::new();
        let reading = read_into(&mut body, response.into_body());
        if let Ok(Err(error)) = tokio::time::timeout(MAX_BODY_TIME, reading).await {
            // The status determines the outcome. Only the excerpt is shorter.
            tracing::debug!(%status, error, "the body of a response ended early");
        }
        let excerpt = match encoding {
            Some(encoding) => format!("(body with Content-Encoding {})", excerpt(&encoding)),
            None => presentable(&body, confidential),
        };
        Ok(Self {
            status,
            retry_after,
            location: location.filter(|_| status.is_redirection()),
            excerpt,
        })
    }

    /// The outcome, according to [`STATUS_CODES`] and [`BUSY_IF_ASKED`]. `repeats` states that the
    /// task has started before.
    pub(super) fn into_outcome(self, repeats: bool) -> Outcome {
        let status = self.status;
        let mut reason = format!("HTTP {status}");
        if let Some(location) = self.location {
            reason.push_str(" to ");
            reason.push_str(&location);
        }
        if !self.excerpt.is_empty() {
            reason.push_str(": ");
            reason.push_str(&self.excerpt);
        }
        match Means::of(status, self.retry_after, repeats) {
            Means::Success => Outcome::Success,
            Means::Busy => Outcome::Busy {
                retry_after: self.retry_after,
                reason,
            },
            Means::Rejecting if status.is_redirection() => Outcome::Rejecting {
                reason: format!(
                    "{reason} (redirects are not followed: set the final address, and check the \
                     credentials if this one leads to a login)"
                ),
            },
            Means::Rejecting => Outcome::Rejecting { reason },
            Means::Failure => Outcome::Failure { reason },
            Means::Unavailable => Outcome::Unavailable { reason },
        }
    }
}

/// Reads a body until its end or [`MAX_BODY`].
async fn read_into(bytes: &mut Vec<u8>, mut body: SdkBody) -> Result<(), String> {
    while bytes.len() < MAX_BODY {
        let Some(frame) = body.frame().await else {
            return Ok(());
        };
        let frame = frame.map_err(|error| cause(&*error))?;
        if let Some(data) = frame.data_ref() {
            bytes.extend_from_slice(&data[..data.len().min(MAX_BODY - bytes.len())]);
        }
    }
    Ok(())
}

fn presentable(body: &[u8], confidential: &[String]) -> String {
    let mut text = String::from_utf8_lossy(body).into_owned();
    for secret in confidential
        .iter()
        .filter(|secret| secret.len() >= MIN_SECRET)
    {
        text = text.replace(secret.as_str(), "***");
    }
    excerpt(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_in_a_response_are_masked() {
        let secrets = [
            "Bearer s3cret-value".to_owned(),
            "s3cret-value".to_owned(),
            "a".to_owned(),
        ];
        let body = b"header Authorization: Bearer s3cret-value,\n token s3cret-value is bad \xff";
        assert_eq!(
            presentable(body, &secrets),
            "header Authorization: ***, token *** is bad \u{fffd}"
        );
    }
}
