//! A task in memory.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::schema;
use crate::task::{Lease, LeaseToken, TaskId, TaskStatus, TokenText, Ttl, Version};
use crate::time::{EpochSeconds, Millis};
use crate::trace::TraceHeader;

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
    /// A lease of it expired, and no run settled it since.
    pub lease_ran_out: bool,
    /// Why the last attempt did not succeed.
    pub last_error: Option<String>,
    /// Its payload.
    pub payload: Option<serde_json::Value>,
    /// The put that made it, or its present state.
    pub create_token: Option<Uuid>,
    /// Which state of its key it is.
    pub version: Option<Version>,
    /// When that state was created, where the key keeps its place.
    pub state_created: Option<Millis>,
    /// How many states of the key were replaced while they waited.
    pub superseded: u32,
    /// A newer state came while this one runs.
    pub overtaken: bool,
    /// The put that replaced an expired state.
    pub revived: Option<Uuid>,
    /// Its trace, if it is sampled.
    pub trace: Option<TraceHeader>,
}

impl Record {
    /// A task that waits and has nothing but what a foreign writer gives.
    #[must_use]
    pub fn pending(created: Millis, ttl: Ttl) -> Self {
        Self {
            status: TaskStatus::Pending,
            created,
            ttl,
            expires_at: None,
            attempts: 0,
            total_attempts: 0,
            lease_token: None,
            lease_until: None,
            not_before: None,
            alone: false,
            lease_ran_out: false,
            last_error: None,
            payload: None,
            create_token: None,
            version: None,
            state_created: None,
            superseded: 0,
            overtaken: false,
            revived: None,
            trace: None,
        }
    }

    pub(super) fn is_ours(&self, status: TaskStatus, lease: &Lease) -> bool {
        self.status == status && self.lease_token == Some(lease.token)
    }

    /// The run is over: PENDING with the newer state if there is one, else as `target` says.
    pub(super) fn leave(&mut self, target: TaskStatus) {
        self.status = target;
        self.lease_until = None;
        if let Some(at) = self.expires_at.take() {
            self.ttl = Ttl::Seconds(at);
        }
        if std::mem::take(&mut self.overtaken) {
            self.status = TaskStatus::Pending;
            self.attempts = 0;
            self.total_attempts = 0;
        }
    }

    /// The task may not start before this. A newer state that has a delay keeps its own.
    pub(super) fn wait_until(&mut self, at: Millis) {
        if !self.overtaken || self.not_before.is_none() {
            self.not_before = Some(at);
        }
    }

    pub(super) fn due(&self, now: Millis) -> bool {
        self.status == TaskStatus::Pending
            && self.not_before.is_none_or(|at| at <= now)
            && !self.ttl.is_expired(now)
    }

    /// The attributes that the table would have.
    pub(super) fn attributes(&self, task: &TaskId) -> Map<String, Value> {
        let ttl = match self.ttl {
            Ttl::Seconds(at) => json!(at.0),
            Ttl::Milliseconds(at) => json!(at.0),
            _ => Value::Null,
        };
        let token = TokenText {
            token: self.lease_token,
            lease_ran_out: self.lease_ran_out,
        };
        let all = [
            (schema::TASK_ID, json!(task)),
            (schema::TASK_STATUS, json!(self.status)),
            (schema::TASK_CREATED, json!(self.created.0)),
            (schema::TTL, ttl),
            (schema::EXPIRES_AT, json!(self.expires_at.map(|at| at.0))),
            (schema::ATTEMPTS, json!(self.attempts)),
            (schema::TOTAL_ATTEMPTS, json!(self.total_attempts)),
            (schema::LEASE_TOKEN, json!(token.to_string())),
            (schema::LEASE_UNTIL, json!(self.lease_until.map(|at| at.0))),
            (schema::NOT_BEFORE, json!(self.not_before.map(|at| at.0))),
            (schema::ALONE, json!(self.alone.then_some(true))),
            (schema::LAST_ERROR, json!(self.last_error)),
            (schema::PAYLOAD, json!(self.payload)),
            (
                schema::TASK_VERSION,
                json!(self.version.as_ref().map(ToString::to_string)),
            ),
            (
                schema::STATE_CREATED,
                json!(self.state_created.map(|at| at.0)),
            ),
            (
                schema::SUPERSEDED,
                json!((self.superseded > 0).then_some(self.superseded)),
            ),
            (
                schema::TRACE_HEADER,
                json!(self.trace.as_ref().map(ToString::to_string)),
            ),
        ];
        all.into_iter()
            .filter(|(_, value)| !value.is_null() && *value != json!(""))
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }
}
