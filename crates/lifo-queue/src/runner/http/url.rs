//! The URL that tasks are posted to.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use http::Uri;

/// The address of an endpoint: `https`, or `http` on the local machine, where no network is
/// involved.
#[derive(Clone, PartialEq, Eq)]
pub struct TaskUrl(Uri);

/// Why a text is not a valid endpoint address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUrl {
    /// Not a URL.
    #[error("is not a URL ({0}); use a URL such as https://api.example.com/tasks, percent-encoded")]
    Syntax(String),
    /// No scheme or host.
    #[error("is not absolute; use a URL such as https://api.example.com/tasks")]
    Relative,
    /// Neither `https` nor `http`.
    #[error("has the scheme {0:?}; give an https URL")]
    Scheme(String),
    /// `http` to another machine, which would expose tasks and credentials in transit.
    #[error(
        "is http to {0:?}; give an https URL (http is for this machine only: localhost, 127.0.0.1, [::1])"
    )]
    Cleartext(String),
    /// A user name or a password.
    #[error("contains a user name or password; omit it and choose an auth instead")]
    UserInfo,
}

impl TaskUrl {
    pub(super) fn uri(&self) -> &Uri {
        &self.0
    }
}

impl FromStr for TaskUrl {
    type Err = InvalidUrl;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let uri: Uri = text
            .parse()
            .map_err(|error: http::uri::InvalidUri| InvalidUrl::Syntax(error.to_string()))?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(InvalidUrl::Relative);
        };
        if authority.as_str().contains('@') {
            return Err(InvalidUrl::UserInfo);
        }
        let host = authority.host();
        if host.is_empty() {
            return Err(InvalidUrl::Relative);
        }
        // `Uri` accepts any digits, and the client would use the default port instead.
        let port = &authority.as_str()[host.len()..];
        if !port.is_empty() && authority.port_u16().is_none() {
            return Err(InvalidUrl::Syntax(format!("invalid port {port:?}")));
        }
        match scheme {
            "https" => Ok(Self(uri)),
            "http" if is_loopback(host) => Ok(Self(uri)),
            "http" => Err(InvalidUrl::Cleartext(host.to_owned())),
            other => Err(InvalidUrl::Scheme(other.to_owned())),
        }
    }
}

/// Whether a host is the local machine. Other host names are not resolved, because their addresses
/// may change.
fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// Omits the query, which may be secret.
impl fmt::Debug for TaskUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let authority = self
            .0
            .authority()
            .map_or("", |authority| authority.as_str());
        write!(
            f,
            "{}://{authority}{}",
            self.0.scheme_str().unwrap_or(""),
            self.0.path()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `infra/tasks/runners/http.ts` accepts and rejects the same URLs.
    #[test]
    fn urls_are_accepted_and_rejected_as_at_synthesis() {
        let cases: serde_json::Value = serde_json::from_str(include_str!("urls.json")).unwrap();
        for (kind, valid) in [("accepted", true), ("rejected", false)] {
            let urls = cases[kind].as_array().unwrap();
            assert!(urls.len() >= 10, "{kind}");
            for url in urls.iter().map(|url| url.as_str().unwrap()) {
                assert_eq!(url.parse::<TaskUrl>().is_ok(), valid, "{url}");
            }
        }
    }

    #[test]
    fn invalid_urls_are_rejected_with_the_reason() {
        let cases = [
            ("", "is not a URL"),
            ("https://", "is not a URL"),
            ("https://exämple.com", "is not a URL"),
            ("https://example.com:65536/", "invalid port"),
            ("https://:443/", "is not absolute"),
            ("/tasks", "is not absolute"),
            ("api.example.com", "is not absolute"),
            ("ftp://example.com/", "has the scheme \"ftp\""),
            ("http://api.example.com/", "is http to \"api.example.com\""),
            ("http://localhost.example.com/", "is http to"),
            ("http://169.254.169.254/", "is http to"),
            ("https://user:pass@example.com/", "user name or password"),
            ("http://127.0.0.1@example.com/", "user name or password"),
        ];
        for (url, problem) in cases {
            let error = url.parse::<TaskUrl>().unwrap_err().to_string();
            assert!(error.contains(problem), "{url}: {error}");
        }
    }

    #[test]
    fn debug_output_of_a_url_hides_the_query() {
        let url: TaskUrl = "https://api.example.com:8443/tasks?key=hidden"
            .parse()
            .unwrap();
        assert_eq!(format!("{url:?}"), "https://api.example.com:8443/tasks");
    }
}
