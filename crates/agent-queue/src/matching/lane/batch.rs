//! State that the lanes of one batch share.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc::UnboundedSender;

use crate::agent::Ticket;
use crate::call::Assignment;
use crate::matching::one_call::Matched;
use crate::queue::Result;

#[derive(Debug, Default)]
pub struct Batch {
    claims: Mutex<HashSet<Ticket>>,
    /// Whether one of the calls was delivered before and may therefore be known.
    pub(super) redelivered: bool,
    made: Option<UnboundedSender<Vec<Assignment>>>,
}

impl Batch {
    /// Creates a batch that sends each assignment to `made` as soon as it exists.
    pub fn new(redelivered: bool, made: UnboundedSender<Vec<Assignment>>) -> Self {
        Self {
            claims: Mutex::default(),
            redelivered,
            made: Some(made),
        }
    }

    pub(super) fn claims(&self) -> MutexGuard<'_, HashSet<Ticket>> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn passed_on(&self, matched: Result<Matched>) -> Result<Matched> {
        if let (Ok(matched), Some(made)) = (&matched, &self.made)
            && !matched.assignments.is_empty()
            && made.send(matched.assignments.clone()).is_err()
        {
            tracing::warn!("publishing has ended; the sweep publishes the assignments");
        }
        matched
    }
}
