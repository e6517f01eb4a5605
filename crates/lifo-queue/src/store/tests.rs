use super::*;

#[test]
fn only_what_may_work_again_is_transient_and_only_an_item_s_fault_is_validation() {
    let operation = "UpdateItem";
    let refused = |code: &str| StoreError::Refused {
        operation,
        code: code.to_owned(),
        source: "no".into(),
    };
    let undecodable = StoreError::Undecodable {
        operation,
        attribute: "ttl",
    };
    let throttled = StoreError::Throttled {
        operation,
        source: "no".into(),
    };
    let unanswered = StoreError::Unanswered {
        operation,
        source: "no".into(),
    };
    let kinds = [
        (refused("ValidationException"), false, true),
        (refused("AccessDeniedException"), false, false),
        (undecodable, false, false),
        (throttled, true, false),
        (unanswered, true, false),
    ];
    for (error, transient, validation) in kinds {
        assert_eq!(error.is_transient(), transient, "{error}");
        assert_eq!(error.is_validation(), validation, "{error}");
    }
}
