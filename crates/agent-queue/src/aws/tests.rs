use proptest::prelude::*;

use super::*;

proptest! {
    /// Every value has only characters that SQS accepts, and at most `MAX_REASON` of them.
    #[test]
    fn every_reason_is_one_that_sqs_takes(reason in any::<String>()) {
        let value = attribute_value(&reason);
        let taken = |c: char| matches!(c, '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
        prop_assert!(value.chars().all(taken), "{value:?}");
        prop_assert_eq!(value.chars().count(), reason.chars().count().min(MAX_REASON));
    }
}

#[test]
fn a_reason_that_quotes_a_body_is_cut_and_cleaned() {
    assert_eq!(
        attribute_value("field \u{0}x: no \u{ffff}"),
        "field \u{fffd}x: no \u{fffd}"
    );
    assert_eq!(attribute_value(&"x".repeat(300_000)).len(), MAX_REASON);
}
