//! Errors in the form that functions report to Lambda.

use std::error::Error;
use std::fmt;

use aws::error_chain::chain;
use lambda_runtime::Diagnostic;

/// An error reported to Lambda: a short, stable type name, and the message with the whole chain of
/// sources. Callers, the on-failure destination and operators see nothing else of the error.
///
/// `?` converts any error into a `Failure`.
#[derive(Clone, PartialEq, Eq)]
pub struct Failure {
    error_type: String,
    message: String,
}

impl Failure {
    /// Returns the name of the error's type, without its path.
    pub fn error_type(&self) -> &str {
        &self.error_type
    }

    /// Returns the error's message and those of its sources, from the outermost to the root cause.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Self {
        let name = std::any::type_name::<E>();
        let path = name.split('<').next().unwrap_or(name);
        Self {
            error_type: path.rsplit("::").next().unwrap_or(path).to_owned(),
            message: chain(&error),
        }
    }
}

impl From<Failure> for Diagnostic {
    fn from(
        Failure {
            error_type,
            message,
        }: Failure,
    ) -> Self {
        Self {
            error_type,
            error_message: message,
        }
    }
}

/// The Lambda runtime logs a failed handler's error in this form, once.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.error_type, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] Middle);

    #[derive(Debug, thiserror::Error)]
    #[error("middle quotes inner")]
    struct Middle(#[source] Inner);

    #[derive(Debug, thiserror::Error)]
    #[error("inner")]
    struct Inner;

    #[derive(Debug, thiserror::Error)]
    #[error("generic")]
    struct Generic<T: fmt::Debug>(T);

    #[test]
    fn failure_has_a_short_type_and_its_full_chain_without_repetition() {
        let diagnostic = Diagnostic::from(Failure::from(Outer(Middle(Inner))));
        assert_eq!(diagnostic.error_type, "Outer");
        assert_eq!(diagnostic.error_message, "outer: middle quotes inner");
        assert_eq!(Failure::from(Generic(vec![1])).error_type(), "Generic");
        assert_eq!(format!("{:?}", Failure::from(Inner)), "Inner: inner");
    }
}
