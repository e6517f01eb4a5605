//! Why a turn failed.

use super::summary::{Exit, TurnSummary};
use crate::notify::NotifyError;
use crate::store::StoreError;
use crate::wake::WakeError;

/// A failed turn and its summary. Lambda must retry the message that invoked the turn.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct FailedTurn {
    /// The summary of the turn up to the failure.
    pub summary: TurnSummary,
    /// Why the turn failed.
    #[source]
    pub error: TurnError,
}

impl From<TurnError> for FailedTurn {
    /// A turn that failed before it took any action.
    fn from(error: TurnError) -> Self {
        Self {
            summary: TurnSummary {
                exit: Exit::Failed,
                ..TurnSummary::default()
            },
            error,
        }
    }
}

/// Why a turn failed.
#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    /// The lease of an earlier attempt at this message is live, so that attempt crashed (rule 3).
    #[error(
        "an earlier attempt of message {message_id} crashed; its processor lease expires at \
         {until_ms} ms since 1970; Lambda retries the message"
    )]
    Predecessor {
        /// The id of the message.
        message_id: String,
        /// Time at which the lease expires, in milliseconds since the epoch.
        until_ms: i64,
    },
    /// The store failed or did not respond.
    #[error("a DynamoDB request of the turn failed")]
    Store(#[from] StoreError),
    /// The tail call was not published.
    #[error("work remains, but the tail call was not published")]
    TailCall(#[from] NotifyError),
    /// The wake-up request failed after a task was returned late, or after the queue was resumed at
    /// the end of the turn.
    #[error("work remains without an active processor, and the wake-up failed")]
    Wake(#[from] WakeError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turn_that_fails_before_any_work_exits_as_failed() {
        let error = TurnError::Predecessor {
            message_id: "m".to_owned(),
            until_ms: 1,
        };
        assert_eq!(FailedTurn::from(error).summary.exit, Exit::Failed);
    }
}
