//! Faults, and their rates.

use aws::store_error::StoreError;
use aws_smithy_runtime_api::client::result::ConnectorError;

use crate::conflicts::{Access, Rejected};
use crate::protocol::{Response, error};

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident,)*) => {
        /// A fault of a request, a notification, an event or a process.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Fault { $($(#[$doc])* $kind,)* }

        impl Fault {
            pub const ALL: &[Self] = &[$(Self::$kind),*];
        }
    };
}

kinds! {
    /// A request to the table is throttled.
    Throttled,
    /// A request to the table fails with a service error (HTTP 500).
    Unavailable,
    /// A write conflicts with a transaction on the same item.
    TransactionConflict,
    /// A request to the table is not executed, and its caller gets no response.
    LostRequest,
    /// A request to the table is executed, but its response is lost.
    LostAck,
    /// The caller of a table request times out, but the request is executed seconds later.
    LateWrite,
    /// A request to the table takes 0.2 to 2.8 seconds longer.
    Latency,
    /// For 5 to 45 seconds, a process gets no response from the table, and its publishes are
    /// rejected.
    Partition,
    /// Part of a batch is returned unprocessed.
    PartialBatch,
    /// The index shows a write late, but within the configured lag.
    StaleIndex,
    /// The index shows a write later than the configured lag.
    StaleBeyondLag,
    PublishRejected,
    /// A publish is executed, but its response is lost.
    PublishUnanswered,
    NotificationLost,
    /// A notification is delivered twice.
    NotificationDuplicated,
    /// A notification is delivered late.
    NotificationDelayed,
    /// A later notification arrived before this one. Delays cause this fault.
    NotificationReordered,
    /// A stream record arrives late.
    StreamDelayed,
    /// A stream batch is redelivered although it succeeded.
    BatchRepeated,
    /// A batch failed and was bisected. Other faults cause this one.
    BatchBisected,
    /// Stream records were skipped after their retries or their maximum age. Caused by other
    /// faults.
    RecordsDiscarded,
    /// An asynchronous event waited because the function had reached its concurrency limit.
    EventThrottled,
    EventRetried,
    /// An asynchronous event was discarded after its retries or its maximum age. Caused by other
    /// faults.
    EventDiscarded,
    /// A process crashed during one of its requests.
    KilledAtCall,
    /// A process crashed at a random time.
    KilledAtRandom,
    KilledByTask,
    /// Lambda ended an invocation at its deadline.
    DeadlinePassed,
    /// A process's clock was wrong by more than half a second.
    ClockSkew,
    /// A request to the table is rejected, because the caller lacks permission. A retry cannot
    /// succeed. Only scripts cause this fault.
    Denied,
    /// A request to the table is rejected, because the item is invalid. A retry cannot succeed.
    /// Only scripts cause this fault.
    Invalid,
}

impl Fault {
    /// Returns the response to a request with this fault. It has this number of items.
    pub(crate) fn response(self, operation: &str, items: usize) -> Response {
        let message = "injected fault";
        match self {
            Self::Throttled => error(400, "ThrottlingException", message),
            Self::Unavailable => error(500, "InternalServerError", message),
            Self::TransactionConflict => {
                Rejected::Conflict(vec![true; items]).response(Access::of(operation))
            }
            Self::Denied | Self::Invalid => error(400, self.code(), message),
            _ => Err(ConnectorError::timeout("no response".into())),
        }
    }

    /// Returns the error of a store whose request had this fault.
    pub(crate) fn error(self, operation: &'static str) -> StoreError {
        let source = format!("{self:?}").into();
        match self {
            Self::Throttled | Self::TransactionConflict => {
                StoreError::Throttled { operation, source }
            }
            Self::Denied | Self::Invalid => StoreError::Rejected {
                operation,
                code: self.code().to_owned(),
                source,
            },
            _ => StoreError::Unanswered { operation, source },
        }
    }

    /// The code of the error of a rejected request.
    fn code(self) -> &'static str {
        match self {
            Self::Denied => "AccessDeniedException",
            _ => "ValidationException",
        }
    }
}

/// The probability of each kind of fault at each opportunity, from 0 to 1. Kinds that other faults
/// cause have no rate.
#[derive(Clone, Debug)]
pub struct Rates([f64; Fault::ALL.len()]);

impl Rates {
    pub fn none() -> Self {
        Self([0.0; Fault::ALL.len()])
    }

    #[must_use]
    pub fn with(mut self, kind: Fault, rate: f64) -> Self {
        self.0[kind as usize] = rate;
        self
    }

    pub fn of(&self, kind: Fault) -> f64 {
        self.0[kind as usize]
    }
}
