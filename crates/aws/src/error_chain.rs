//! Formats an error and its causes on one line, for logs and callers.

use std::error::Error;

/// Joins an error's message with the messages of its sources, outermost first. Omits a source whose
/// message the outer error already quotes.
pub fn chain(error: &dyn Error) -> String {
    messages(error).join(": ")
}

/// Returns the messages that [`chain`] joins.
pub fn messages(error: &dyn Error) -> Vec<String> {
    let mut messages = vec![error.to_string()];
    let mut source = error.source();
    while let Some(cause) = source {
        let message = cause.to_string();
        if !messages
            .last()
            .is_some_and(|outer| outer.ends_with(&message))
        {
            messages.push(message);
        }
        source = cause.source();
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] Middle);

    #[derive(Debug, thiserror::Error)]
    #[error("middle quotes {0}")]
    struct Middle(#[source] std::io::Error);

    #[test]
    fn error_chain_names_every_cause_once() {
        let error = Outer(Middle(std::io::Error::other("inner")));
        assert_eq!(chain(&error), "outer: middle quotes inner");
    }
}
