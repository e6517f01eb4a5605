//! Text assertions.

/// Asserts that the text contains this part.
#[track_caller]
pub fn has(text: &str, part: &str) {
    assert!(text.contains(part), "no {part:?} in\n{text}");
}

/// Asserts that the text starts with this part.
#[track_caller]
pub fn begins(text: &str, part: &str) {
    assert!(
        text.starts_with(part),
        "no {part:?} at the start of\n{text}"
    );
}
