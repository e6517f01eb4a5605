//! A task in memory.

use uuid::Uuid;

use crate::task::{Lease, LeaseToken, TaskStatus, Ttl};
use crate::time::{EpochSeconds, Millis};

/// A task as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its state.
    pub status: TaskStatus,
    /// When it was created.
    pub created: Millis,
    /// When DynamoDB would delete it.
    pub ttl: Ttl,
    /// Its deadline while TAKEN.
    pub expires_at: Option<EpochSeconds>,
    /// Attempts that count.
    pub attempts: u32,
    /// Every start.
    pub total_attempts: u32,
    /// The current or last lease's token.
    pub lease_token: Option<LeaseToken>,
    /// When the lease expires.
    pub lease_until: Option<Millis>,
    /// It may not start before.
    pub not_before: Option<Millis>,
    /// The last take ran it without neighbours.
    pub alone: bool,
    /// The mark that a return keeps of a lease that expired before.
    pub lease_ran_out: bool,
    /// Why the last attempt did not succeed.
    pub last_error: Option<String>,
    /// Its payload.
    pub payload: Option<serde_json::Value>,
    /// The put that made it.
    pub create_token: Option<Uuid>,
}

impl Record {
    pub(super) fn is_ours(&self, status: TaskStatus, lease: &Lease) -> bool {
        self.status == status && self.lease_token == Some(lease.token)
    }

    pub(super) fn due(&self, now: Millis) -> bool {
        self.status == TaskStatus::Pending
            && self.not_before.is_none_or(|at| at <= now)
            && !self.ttl.is_expired(now)
    }
}
