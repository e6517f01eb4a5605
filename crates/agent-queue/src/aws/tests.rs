use proptest::prelude::*;

use super::*;

proptest! {
    /// Every value contains only characters that SQS accepts, and at most `MAX_REASON` of them.
    #[test]
    fn every_reason_is_a_valid_sqs_attribute(reason in any::<String>()) {
        let value = attribute_value(&reason);
        let taken = |c: char| matches!(c, '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
        prop_assert!(value.chars().all(taken), "{value:?}");
        prop_assert_eq!(value.chars().count(), reason.chars().count().min(MAX_REASON));
    }
}

#[test]
fn reason_with_quoted_body_is_truncated_and_sanitized() {
    assert_eq!(
        attribute_value("field \u{0}x: no \u{ffff}"),
        "field \u{fffd}x: no \u{fffd}"
    );
    assert_eq!(attribute_value(&"x".repeat(300_000)).len(), MAX_REASON);
}
