//! Decides which requests the console accepts: those with its token and not from another web page.
//!
//! Other programs on this machine can connect to the port, and any web page can send requests to
//! it. The token keeps both out. It is in the path instead of a cookie, because browsers send a
//! cookie for 127.0.0.1 to every port of the machine. The `Host` check prevents DNS rebinding,
//! which gives a foreign page the console's origin. The `Origin` check rejects foreign pages that
//! know the address.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// The accepted host names. The port is not checked, because `ssh -L` can forward another port.
const LOOPBACK: [&str; 2] = ["127.0.0.1", "localhost"];

/// Headers of every response. The referrer policy is `same-origin`, because under `no-referrer`
/// browsers send `Origin: null` with the console's own forms.
const HEADERS: [(&str, &str); 7] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    ("cache-control", "no-store"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("referrer-policy", "same-origin"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
];

/// The token that a request must have, and whether changes are allowed.
pub(super) struct Access {
    token: String,
    changes: bool,
}

/// The reason for rejecting a request.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Rejected {
    #[error("the Host header is not 127.0.0.1 or localhost: open the address that freshq printed")]
    Host,
    #[error("the address has no valid token: open the address that freshq printed last")]
    Token,
    #[error("another web page sent this request: only pages of this console may do so")]
    Origin,
    #[error("this console is read-only: start freshq console with --allow-changes")]
    ReadOnly,
}

impl Access {
    /// Creates an access check with a new token of 122 random bits.
    pub(super) fn new(changes: bool) -> Self {
        let token = Uuid::new_v4().simple().to_string();
        Self { token, changes }
    }

    /// Returns the token, the first part of every path.
    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Returns whether the pages can change the queue.
    pub(super) fn allows_changes(&self) -> bool {
        self.changes
    }

    /// Checks a request, in this order: host, token, origin, and whether it may change the queue.
    ///
    /// # Errors
    /// [`Rejected`], for the first check that fails.
    pub(super) fn check(&self, request: &Parts) -> Result<(), Rejected> {
        let host = host(request).ok_or(Rejected::Host)?;
        let token = request.uri.path().split('/').nth(1).unwrap_or_default();
        // Compare digests, so that the duration of the comparison reveals nothing about the token.
        if Sha256::digest(token) != Sha256::digest(&self.token) {
            return Err(Rejected::Token);
        }
        let has_origin = has_origin(request, host)?;
        match request.method {
            Method::GET | Method::HEAD => Ok(()),
            _ if !has_origin => Err(Rejected::Origin),
            _ if !self.changes => Err(Rejected::ReadOnly),
            _ => Ok(()),
        }
    }
}

impl IntoResponse for Rejected {
    fn into_response(self) -> Response {
        (StatusCode::FORBIDDEN, format!("403: {self}\n")).into_response()
    }
}

/// Returns the `Host` header, if it names this machine.
fn host(request: &Parts) -> Option<&str> {
    let host = only(&request.headers, &HOST)?;
    let authority: Authority = host.parse().ok()?;
    let name = authority.host();
    let is_plain = request.uri.authority().is_none() && !host.contains('@');
    (is_plain && LOOPBACK.iter().any(|own| name.eq_ignore_ascii_case(own))).then_some(host)
}

/// Returns the value of a header that occurs exactly once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    values.next().is_none().then_some(value)?.to_str().ok()
}

/// Lets requests through to routes without a token, unless another web page sent them.
pub(crate) async fn local_only(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let sender = host(&parts).ok_or(Rejected::Host);
    match sender.and_then(|host| has_origin(&parts, host)) {
        Ok(_) => next.run(Request::from_parts(parts, body)).await,
        Err(rejected) => rejected.into_response(),
    }
}

/// Returns whether a page of the same origin sent the request. Programs send no `Origin` header,
/// and neither does a browser when it opens a page.
fn has_origin(request: &Parts, host: &str) -> Result<bool, Rejected> {
    match only(&request.headers, &ORIGIN) {
        None if !request.headers.contains_key(ORIGIN) => Ok(false),
        Some(origin) if origin.strip_prefix("http://") == Some(host) => Ok(true),
        _ => Err(Rejected::Origin),
    }
}

/// Lets valid requests through, and adds the headers to every response.
pub(super) async fn guard(
    State(access): State<Arc<Access>>,
    request: Request,
    next: Next,
) -> Response {
    let (parts, body) = request.into_parts();
    let mut response = match access.check(&parts) {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(rejected) => rejected.into_response(),
    };
    for (name, value) in HEADERS {
        let name = HeaderName::from_static(name);
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}
