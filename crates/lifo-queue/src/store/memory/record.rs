//! A task in memory.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::schema;
use crate::store::Written;
use crate::task::{Lease, LeaseToken, Reclaim, TaskId, TaskStatus, TokenText, Ttl, Version};
use crate::time::{EpochSeconds, Millis};
use crate::trace::TraceHeader;

/// A task as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub status: TaskStatus,
    /// `taskCreated`.
    pub created: Millis,
    /// `ttl`: when DynamoDB would delete the task.
    pub ttl: Ttl,
    /// The task's expiry while it is TAKEN.
    pub expires_at: Option<EpochSeconds>,
    /// Attempts that count against the maximum.
    pub attempts: u32,
    /// All starts, busy returns included.
    pub total_attempts: u32,
    /// Token of the current or last lease.
    pub lease_token: Option<LeaseToken>,
    /// When the lease expires.
    pub lease_until: Option<Millis>,
    /// Earliest start.
    pub not_before: Option<Millis>,
    /// The last start had no other task beside it.
    pub alone: bool,
    /// A lease of the task expired, and no run has settled the task since.
    pub lease_expired: bool,
    /// Why the last attempt did not succeed.
    pub last_error: Option<String>,
    pub payload: Option<serde_json::Value>,
    /// Token of the put that created the task or its current state.
    pub create_token: Option<Uuid>,
    /// Version of the state, if the task has a key.
    pub version: Option<Version>,
    /// When the state was created, if `created` is the place that its key keeps.
    pub state_created: Option<Millis>,
    /// Number of states of the key that were replaced before they ended.
    pub superseded: u32,
    /// A newer state was written during the current run.
    pub overtaken: bool,
    /// Leases of the task that expired since a run last settled it.
    pub crashes: u32,
    /// Token of the put that replaced an expired state, until the next take.
    pub revived: Option<Uuid>,
    /// Its trace, if it is sampled.
    pub trace: Option<TraceHeader>,
}

impl Record {
    /// A PENDING task with only the attributes that a direct writer gives.
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
            lease_expired: false,
            last_error: None,
            payload: None,
            create_token: None,
            version: None,
            state_created: None,
            superseded: 0,
            overtaken: false,
            crashes: 0,
            revived: None,
            trace: None,
        }
    }

    pub(super) fn is_ours(&self, status: TaskStatus, lease: &Lease) -> bool {
        self.status == status && self.lease_token == Some(lease.token)
    }

    /// Ends the run: PENDING if a newer state was written during it, else `target`.
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

    /// Ends an expired lease.
    pub(super) fn reclaim(&mut self, lease: &Lease, reclaim: &Reclaim, now: Millis) -> Written {
        let crashing = |max: u32| self.alone && self.crashes.saturating_add(1) >= max;
        let may = self.is_ours(TaskStatus::Taken, lease)
            && self.lease_until.is_some_and(|until| until <= now)
            && match reclaim {
                Reclaim::Return { max_crashes, .. } => !crashing(*max_crashes),
                Reclaim::Fail { .. } => self.alone && !self.overtaken,
                Reclaim::FailCrashing { max_crashes, .. } => crashing(*max_crashes),
            };
        if !may {
            return Written::Lost;
        }
        let overtaken = self.overtaken;
        self.last_error = Some(reclaim.reason().to_owned());
        self.lease_token = None;
        self.lease_expired = true;
        self.superseded += u32::from(overtaken);
        self.crashes += 1;
        match reclaim {
            Reclaim::Return { not_before, .. } => self.wait_until(*not_before),
            Reclaim::Fail { keep_until } | Reclaim::FailCrashing { keep_until, .. } => {
                self.expires_at = Some(*keep_until);
            }
        }
        self.leave(reclaim.status());
        self.status = reclaim.status();
        match overtaken {
            true => Written::Overtaken,
            false => Written::Done,
        }
    }

    /// Sets the earliest start. A newer state with a delay keeps its own.
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

    /// The attributes as the table would store them.
    pub(super) fn attributes(&self, task: &TaskId) -> Map<String, Value> {
        let ttl = match self.ttl {
            Ttl::Seconds(at) => json!(at.0),
            Ttl::Milliseconds(at) => json!(at.0),
            _ => Value::Null,
        };
        let token = TokenText {
            token: self.lease_token,
            lease_expired: self.lease_expired,
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
                schema::CRASHES,
                json!((self.crashes > 0).then_some(self.crashes)),
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
