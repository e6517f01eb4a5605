//! The client's errors as [`StoreError`]s.

use std::error::Error;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

use crate::store::StoreError;

/// The codes with which DynamoDB asks for patience
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html>).
/// A read that meets a transaction fails with this error, too; and a change whose first try is still under
/// way is in progress.
const PATIENCE: [&str; 7] = [
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "ThrottlingError",
    "RequestLimitExceeded",
    "LimitExceededException",
    "TransactionConflictException",
    "TransactionInProgressException",
];

/// Sorts a client error by what its caller can do about it.
pub(super) fn store_error<E, R>(operation: &'static str, error: SdkError<E, R>) -> StoreError
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
        Some(code) if PATIENCE.contains(&code.as_str()) => {
            StoreError::Throttled { operation, source }
        }
        Some(code) if !code.starts_with("Internal") && !code.starts_with("ServiceUnavailable") => {
            StoreError::Refused {
                operation,
                code,
                source,
            }
        }
        _ => StoreError::Unanswered { operation, source },
    }
}
