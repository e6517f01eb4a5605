//! Builds the reasons stored with tasks. A reason is one line of limited length, built from an
//! error or another system's text.

use std::error::Error;

use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;

use aws::error_chain;

/// Maximum number of characters kept from another system's text. A whole reason stays well below
/// [`MAX_ERROR_BYTES`](crate::task::MAX_ERROR_BYTES).
const MAX_EXCERPT: usize = 200;

/// Returns another system's text as one line. Sequences of white space and control characters
/// become one space. Text that is too long is truncated with an ellipsis.
pub(super) fn excerpt(text: &str) -> String {
    let mut line = String::new();
    let mut kept = 0;
    let is_gap = |c: char| c.is_whitespace() || c.is_control();
    for word in text.split(is_gap).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
            kept += 1;
        }
        for c in word.chars() {
            if kept >= MAX_EXCERPT {
                line.push('…');
                return line;
            }
            line.push(c);
            kept += 1;
        }
    }
    line
}

/// Returns the two innermost errors of a chain. The outer errors name client layers and would push
/// the cause beyond the length limit.
pub(super) fn cause(error: &dyn Error) -> String {
    let messages = error_chain::messages(error);
    let innermost = messages.len().saturating_sub(2);
    let text = excerpt(&messages[innermost..].join(": "));
    let meaning = MEANINGS.iter().find(|(name, _)| text.contains(name));
    meaning.map_or(text.clone(), |(_, meaning)| format!("{text} ({meaning})"))
}

/// The meanings of certificate errors whose names do not explain them.
const MEANINGS: [(&str, &str); 3] = [
    (
        "CaUsedAsEndEntity",
        "the endpoint uses the certificate of a certificate authority as its own; issue a server \
         certificate",
    ),
    (
        "UnknownIssuer",
        "none of the trusted certificate authorities issued the endpoint's certificate",
    ),
    (
        "NotValidForName",
        "the endpoint's certificate is for another host name",
    ),
];

/// Describes an AWS client's error by the service's code and message, or else by the cause.
pub(super) fn aws_error<E, R>(error: &SdkError<E, R>) -> String
where
    E: Error + ProvideErrorMetadata + 'static,
    R: std::fmt::Debug + 'static,
{
    match (error.code(), error.message()) {
        (Some(code), Some(message)) => excerpt(&format!("{code}: {message}")),
        (Some(code), None) => excerpt(code),
        (None, _) => cause(error),
    }
}

/// Whether an AWS error code means that the credentials are missing, invalid or insufficient. The
/// codes are common to all services
/// (<https://docs.aws.amazon.com/awssupport/latest/APIReference/CommonErrors.html>).
pub(super) fn is_denied(code: &str) -> bool {
    matches!(
        code,
        "AccessDenied"
            | "AccessDeniedException"
            | "ExpiredToken"
            | "ExpiredTokenException"
            | "IncompleteSignature"
            | "InvalidClientTokenId"
            | "InvalidSignatureException"
            | "MissingAuthenticationToken"
            | "MissingAuthenticationTokenException"
            | "NotAuthorized"
            | "OptInRequired"
            | "SignatureDoesNotMatch"
            | "UnrecognizedClientException"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Layer(&'static str, #[source] Option<Box<Layer>>);

    #[test]
    fn cause_consists_of_the_two_innermost_errors() {
        let layer = |text, source| Layer(text, Some(Box::new(source)));
        let expired = Layer("certificate expired", None);
        assert_eq!(cause(&expired), "certificate expired");
        let connect = layer("client error", layer("TLS handshake failed", expired));
        let expected = "TLS handshake failed: certificate expired";
        assert_eq!(cause(&layer("io error", connect)), expected);
    }

    #[test]
    fn certificate_error_is_explained() {
        let layer = Layer("invalid peer certificate: Other(CaUsedAsEndEntity)", None);
        let text = cause(&layer);
        assert!(text.ends_with("issue a server certificate)"), "{text}");
    }

    #[test]
    fn excerpt_is_one_line_of_limited_length() {
        assert_eq!(
            excerpt("  no\r\n\troom\u{0}left\u{2028}here "),
            "no room left here"
        );
        assert_eq!(excerpt(""), "");
        let exact = "é".repeat(MAX_EXCERPT);
        assert_eq!(excerpt(&exact), exact);
        assert_eq!(excerpt(&format!("{exact}é")), format!("{exact}…"));
        assert_eq!(excerpt(&format!("{exact} é")), format!("{exact} …"));
    }
}
