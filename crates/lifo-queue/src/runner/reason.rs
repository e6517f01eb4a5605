//! The reasons that are kept with a task: one line, of bounded length, from errors and from what
//! others wrote.

use std::error::Error;

use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;

use aws::error_chain;

/// How much of a foreign text is kept, in characters. A whole reason stays well below
/// [`MAX_ERROR_BYTES`](crate::task::MAX_ERROR_BYTES).
const MAX_EXCERPT: usize = 200;

/// One line of a foreign text: runs of white space and control characters become one space, and
/// what is too long ends in an ellipsis.
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

/// An error and what caused it, outermost first.
pub(super) fn chain(error: &dyn Error) -> String {
    excerpt(&error_chain::chain(error))
}

/// An AWS client's error: the service's own code and message where it sent any, else the chain
/// of causes.
pub(super) fn aws_error<E, R>(error: &SdkError<E, R>) -> String
where
    E: Error + ProvideErrorMetadata + 'static,
    R: std::fmt::Debug + 'static,
{
    match (error.code(), error.message()) {
        (Some(code), Some(message)) => excerpt(&format!("{code}: {message}")),
        (Some(code), None) => excerpt(code),
        (None, _) => chain(error),
    }
}

/// Whether an AWS error code says that our credentials are missing, wrong or not enough: the
/// codes common to all services
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

    #[test]
    fn an_excerpt_is_one_short_line() {
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
