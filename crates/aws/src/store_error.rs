//! DynamoDB errors, classified by the reaction that they require from the caller.

use std::error::Error;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

/// The cause of an error, including its own causes.
pub type Source = Box<dyn Error + Send + Sync>;

/// A failed step. It may still have taken effect: the client retries automatically, and an earlier
/// attempt may have succeeded. To find out, retry the step with the same token.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{operation}: throttled by DynamoDB; it is retried later, or raise the table's limits")]
    Throttled {
        operation: &'static str,
        source: Source,
    },
    #[error("{operation}: rejected by DynamoDB ({code})")]
    Rejected {
        operation: &'static str,
        /// The error code from DynamoDB.
        code: String,
        source: Source,
    },
    /// No usable response: a timeout, a network failure or a fault in DynamoDB.
    #[error(
        "{operation}: no response from DynamoDB, so the request may or may not have taken effect"
    )]
    Unanswered {
        operation: &'static str,
        source: Source,
    },
    #[error("{operation}: other requests modified item {key} during every attempt; retry it")]
    Contended {
        operation: &'static str,
        key: String,
    },
    #[error(
        "{operation}: attribute {attribute} of the item {key} is missing or has the wrong type; restore it"
    )]
    Undecodable {
        operation: &'static str,
        attribute: String,
        /// The item's key; `?` if the key is also missing or malformed.
        key: String,
    },
}

pub const VALIDATION: &str = "ValidationException";

impl StoreError {
    /// Returns whether a retry of the same step may succeed.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Throttled { .. } | Self::Unanswered { .. } | Self::Contended { .. }
        )
    }

    /// Returns whether the item caused the error. The step may then succeed for another item.
    pub fn is_of_item(&self) -> bool {
        self.is_validation() || matches!(self, Self::Contended { .. } | Self::Undecodable { .. })
    }

    /// Returns whether DynamoDB rejected the request as invalid, for example because of the item.
    pub fn is_validation(&self) -> bool {
        matches!(self, Self::Rejected { code, .. } if code == VALIDATION)
    }
}

/// DynamoDB's error codes for throttling
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html>). A
/// read that conflicts with a transaction also fails with one of these codes. So does a repeated
/// transaction while its first attempt is still in progress.
const THROTTLES: [&str; 7] = [
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "ThrottlingError",
    "RequestLimitExceeded",
    "LimitExceededException",
    "TransactionConflictException",
    "TransactionInProgressException",
];

/// Classifies a client error by the reaction that it requires from the caller.
pub fn store_error<E, R>(operation: &'static str, error: SdkError<E, R>) -> StoreError
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
    R: std::fmt::Debug + Send + Sync + 'static,
{
    let code = error
        .as_service_error()
        .and_then(ProvideErrorMetadata::code)
        .map(str::to_owned);
    let source = Box::new(error);
    match code {
        Some(code) if THROTTLES.contains(&code.as_str()) => {
            StoreError::Throttled { operation, source }
        }
        Some(code) if !code.starts_with("Internal") && !code.starts_with("ServiceUnavailable") => {
            StoreError::Rejected {
                operation,
                code,
                source,
            }
        }
        _ => StoreError::Unanswered { operation, source },
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::error::ErrorMetadata;
    use aws_sdk_dynamodb::operation::put_item::PutItemError;

    use super::*;

    #[test]
    fn errors_are_classified_as_throttled_unanswered_or_rejected() {
        let sorted = |code: &str| {
            let metadata = ErrorMetadata::builder().code(code).build();
            let error = PutItemError::generic(metadata);
            store_error("PutItem", SdkError::service_error(error, ()))
        };
        for code in THROTTLES {
            assert!(
                matches!(sorted(code), StoreError::Throttled { .. }),
                "{code}"
            );
        }
        for code in [
            "InternalServerError",
            "InternalFailure",
            "ServiceUnavailable",
        ] {
            assert!(
                matches!(sorted(code), StoreError::Unanswered { .. }),
                "{code}"
            );
        }
        for rejected in ["ValidationException", "AccessDeniedException"] {
            let error = sorted(rejected);
            let told = matches!(&error, StoreError::Rejected { code, .. } if code == rejected);
            assert!(told, "{error}");
        }
    }

    #[test]
    fn errors_are_classified_as_transient_and_as_validation_errors() {
        let operation = "UpdateItem";
        let rejected = |code: &str| StoreError::Rejected {
            operation,
            code: code.to_owned(),
            source: "no".into(),
        };
        let undecodable = StoreError::Undecodable {
            operation,
            attribute: "ttl".to_owned(),
            key: "one".to_owned(),
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
            (rejected("ValidationException"), false, true),
            (rejected("AccessDeniedException"), false, false),
            (undecodable, false, false),
            (throttled, true, false),
            (unanswered, true, false),
        ];
        for (error, transient, validation) in kinds {
            assert_eq!(error.is_transient(), transient, "{error}");
            assert_eq!(error.is_validation(), validation, "{error}");
        }
    }
}
