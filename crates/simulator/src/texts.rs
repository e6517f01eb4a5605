//! Assertions on texts.

/// Asserts that the text has this part.
#[track_caller]
pub fn has(text: &str, part: &str) {
    assert!(text.contains(part), "no {part:?} in\n{text}");
}

/// Asserts that the text begins with this part.
#[track_caller]
pub fn begins(text: &str, part: &str) {
    assert!(
        text.starts_with(part),
        "no {part:?} at the start of\n{text}"
    );
}
