//! Error patterns: error messages with the task-specific parts removed.

use std::sync::LazyLock;

use regex_lite::{Captures, Regex};

/// An HTTP status (kept in the pattern), a UUID, a hexadecimal number or a decimal number.
static PARTS: LazyLock<Regex> = LazyLock::new(|| {
    let parts = concat!(
        r"(?i)(?<status>HTTP \d{3})\b",
        r"|(?<uuid>\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b)",
        r"|(?<number>\b\d+\b)",
        r"|(?<hex>\b(?:0x)?[0-9a-f]{6,}\b)",
        r"|(?<digits>\d+)",
    );
    Regex::new(parts).expect("a valid expression")
});

/// Returns an error's pattern: UUIDs become `<uuid>`, hexadecimal numbers of at least six
/// characters `<hex>`, and decimal numbers `<n>`, except an HTTP status. Cuts the pattern of a
/// truncated error to a fixed length, so that the lengths of the replaced parts do not affect it.
pub fn error_pattern(error: &str) -> String {
    let replaced = PARTS.replace_all(error, |parts: &Captures<'_>| {
        let text = parts.get(0).map_or("", |part| part.as_str());
        // A word such as "facade" is not a number.
        let has_digit = text.contains(|c: char| c.is_ascii_digit());
        match parts.name("uuid").or(parts.name("hex")) {
            _ if parts.name("status").is_some() || !has_digit => text,
            Some(part) if part.as_str().len() == UUID => "<uuid>",
            Some(_) => "<hex>",
            None => "<n>",
        }
        .to_owned()
    });
    match error.ends_with('…') {
        true => replaced.chars().take(OF_CUT).collect(),
        false => replaced.into_owned(),
    }
}

/// Length of a truncated error's pattern, in characters.
const OF_CUT: usize = 140;

const UUID: usize = 36;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ids_are_replaced_and_the_status_is_kept() {
        for (error, pattern) in [
            ("HTTP 502 Bad Gateway", "HTTP 502 Bad Gateway"),
            (
                "HTTP 400: order 17 of 4711 is unknown",
                "HTTP 400: order <n> of <n> is unknown",
            ),
            (
                "no account 0192a1c3-7d5e-7f00-8a1b-3c4d5e6f7a8b",
                "no account <uuid>",
            ),
            ("key 9f86d081884c7d65 at 0x7ffe12", "key <hex> at <hex>"),
            (
                "the facade of order-17a, try 3/5",
                "the facade of order-<n>a, try <n>/<n>",
            ),
            ("did not end within 1.5s", "did not end within <n>.<n>s"),
            (
                "attempt 3 was the last: HTTP 500",
                "attempt <n> was the last: HTTP 500",
            ),
            ("", ""),
        ] {
            assert_eq!(error_pattern(error), pattern);
        }
    }

    #[test]
    fn pattern_of_a_pattern_is_unchanged() {
        let cut = format!("{} 4711 is…", "x".repeat(180));
        for error in ["HTTP 400: 9f86d081884c7d65 of 12", &cut] {
            let pattern = error_pattern(error);
            assert_eq!(error_pattern(&pattern), pattern);
        }
    }

    #[test]
    fn errors_truncated_at_different_words_have_the_same_pattern() {
        let error = |seconds| {
            let text = format!("{}expired at {seconds} and it", "a word, ".repeat(22));
            text.chars().take(200).chain(['…']).collect::<String>()
        };
        assert_eq!(
            error_pattern(&error("9")),
            error_pattern(&error("1790000000"))
        );
    }
}
