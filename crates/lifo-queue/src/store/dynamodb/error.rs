//! The client's errors as [`StoreError`]s.

use std::error::Error;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::RequestId;

use crate::store::StoreError;

/// The codes with which DynamoDB asks for patience
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html>).
const THROTTLES: [&str; 6] = [
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "ThrottlingError",
    "RequestLimitExceeded",
    "LimitExceededException",
    "TransactionConflictException",
];

/// Sorts a client error by what its caller can do about it.
pub(super) fn store_error<E, R>(operation: &'static str, error: SdkError<E, R>) -> StoreError
where
    E: ProvideErrorMetadata + RequestId + Error + Send + Sync + 'static,
    R: std::fmt::Debug + Send + Sync + 'static,
{
    let code = error
        .as_service_error()
        .and_then(ProvideErrorMetadata::code)
        .map(str::to_owned);
    match code {
        Some(code) if THROTTLES.contains(&code.as_str()) => StoreError::Throttled {
            operation,
            source: Box::new(error),
        },
        Some(code) if !code.starts_with("Internal") && !code.starts_with("ServiceUnavailable") => {
            StoreError::Refused {
                operation,
                code,
                source: Box::new(error),
            }
        }
        _ => StoreError::Unanswered {
            operation,
            source: Box::new(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::error::ErrorMetadata;
    use aws_sdk_dynamodb::operation::put_item::PutItemError;

    use super::*;

    #[test]
    fn an_error_is_sorted_by_what_can_be_done_about_it() {
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
        for refused in ["ValidationException", "AccessDeniedException"] {
            let error = sorted(refused);
            let told = matches!(&error, StoreError::Refused { code, .. } if code == refused);
            assert!(told, "{error}");
        }
    }
}
