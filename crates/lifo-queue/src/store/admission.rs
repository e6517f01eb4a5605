//! The admission meter, which counts the tasks that the ingest received and admitted.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::control::Control;
use crate::time::Millis;

/// The content of the item `#ingest`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meter {
    /// Number of tasks that admission can shed, counted at their first receive.
    pub received: u64,
    /// Number of tasks that were not shed at their first receive.
    pub admitted: u64,
    /// The estimate by the process that last updated the item; `None` if there is none yet.
    pub mark: Option<Mark>,
}

/// The number of held tasks at a point in time, with the totals at that time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The time.
    pub at: Millis,
    /// Number of held tasks.
    pub held: u64,
    /// [`Meter::received`] at that time.
    pub received: u64,
    /// [`Meter::admitted`] at that time.
    pub admitted: u64,
}

/// The counts that a process adds to the meter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Added to [`Meter::received`].
    pub received: u64,
    /// Added to [`Meter::admitted`].
    pub admitted: u64,
}

/// The store of the meter.
#[async_trait]
pub trait AdmissionStore: Send + Sync {
    /// Adds the counts, replaces the mark if there is a new one, and returns the updated meter with
    /// the control item. An update that the client retries may count twice.
    async fn meter(
        &self,
        counts: Counts,
        mark: Option<Mark>,
    ) -> Result<(Meter, Control), StoreError>;
}
