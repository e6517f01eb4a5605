//! An in-memory task.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Number, Value, json};
use uuid::Uuid;

use crate::schema;
use crate::store::{Written, parse_number};
use crate::task::{Lease, LeaseToken, Reclaim, TaskId, TaskStatus, TokenText, Ttl, Version};
use crate::time::{EpochSeconds, Millis};
use crate::trace::TraceHeader;

/// A stored task. Its serialized form omits the attributes that [`attributes`](Self::attributes)
/// adds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Record {
    #[serde(rename = "taskStatus")]
    pub status: TaskStatus,
    /// `taskCreated`.
    #[serde(rename = "taskCreated", deserialize_with = "rounded_down")]
    pub created: Millis,
    /// `ttl`: when DynamoDB would delete the task.
    #[serde(skip)]
    pub ttl: Ttl,
    /// The task's expiry while it is TAKEN.
    pub expires_at: Option<EpochSeconds>,
    /// Number of attempts that count against the maximum.
    #[serde(default)]
    pub attempts: u32,
    /// Number of starts, including those that ended in a busy return.
    #[serde(default)]
    pub total_attempts: u32,
    /// Token of the current or last lease.
    #[serde(skip)]
    pub lease_token: Option<LeaseToken>,
    /// When the lease expires.
    pub lease_until: Option<Millis>,
    /// Earliest start.
    pub not_before: Option<Millis>,
    /// Whether the last start ran alone in its process.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
    /// Whether a lease of the task expired and no run has settled the task since.
    #[serde(skip)]
    pub lease_expired: bool,
    /// Why the last attempt did not succeed.
    pub last_error: Option<String>,
    #[serde(skip)]
    pub payload: Option<serde_json::Value>,
    /// Token of the put that created the task or its current state.
    pub create_token: Option<Uuid>,
    /// Version of the state, if the task has a key.
    #[serde(rename = "taskVersion")]
    pub version: Option<Version>,
    /// When the state was created, if `created` is the position that its key keeps.
    pub state_created: Option<Millis>,
    /// Number of states of the key that were superseded before they ended.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub superseded: u32,
    /// Whether a newer state was written during the current run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overtaken: bool,
    /// Number of the task's leases that expired since a run last settled it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub crashes: u32,
    /// Token of the put that replaced an expired state. Kept until the next take.
    pub revived: Option<Uuid>,
    /// Its trace, if it is sampled.
    #[serde(skip)]
    pub trace: Option<TraceHeader>,
}

impl Record {
    /// A PENDING task with only the attributes that a direct writer sets.
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

    /// Ends the run with PENDING if a newer state was written during the run, else with `target`.
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

    /// Sets the earliest start. A newer state with a delay keeps its own earliest start.
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
    #[must_use]
    pub fn attributes(&self, task: &TaskId) -> Map<String, Value> {
        let Value::Object(mut all) = json!(self) else {
            return Map::new();
        };
        let token = TokenText {
            token: self.lease_token,
            lease_expired: self.lease_expired,
        };
        let ttl = match self.ttl {
            Ttl::Seconds(at) => Some(at.0),
            Ttl::Milliseconds(at) => Some(at.0),
            Ttl::Missing | Ttl::Malformed => None,
        };
        let trace = self.trace.as_ref().map(ToString::to_string);
        let others = [
            (schema::TASK_ID, json!(task)),
            (schema::TTL, json!(ttl)),
            (schema::LEASE_TOKEN, json!(token.to_string())),
            (schema::PAYLOAD, json!(self.payload)),
            (schema::TRACE_HEADER, json!(trace)),
        ];
        all.extend(others.map(|(name, value)| (name.to_owned(), value)));
        all.retain(|_, value| !value.is_null() && *value != json!(""));
        all
    }

    /// Reads a task from its attributes.
    ///
    /// # Errors
    /// If an attribute is missing, has the wrong type, or is not a task attribute.
    pub fn from_attributes(mut all: Map<String, Value>) -> Result<Self, serde_json::Error> {
        let ttl = match all.remove(schema::TTL) {
            None => Ttl::Missing,
            Some(value) => value.as_i64().map_or(Ttl::Malformed, Ttl::from_number),
        };
        let token = all.remove(schema::LEASE_TOKEN);
        let token = token.map(serde_json::from_value::<String>).transpose()?;
        let token = token.map_or_else(TokenText::default, |text| TokenText::from(text.as_str()));
        let trace = all.remove(schema::TRACE_HEADER);
        let trace = trace.and_then(|trace| trace.as_str()?.parse().ok());
        let payload = all.remove(schema::PAYLOAD);
        for other in [schema::TASK_ID, schema::TASK_UPDATED] {
            all.remove(other);
        }
        Ok(Self {
            ttl,
            lease_token: token.token,
            lease_expired: token.lease_expired,
            payload,
            trace,
            ..serde_json::from_value(Value::Object(all))?
        })
    }
}

/// Reads a number and rounds it down, because a direct writer may have written decimals.
fn rounded_down<'de, D: Deserializer<'de>>(number: D) -> Result<Millis, D::Error> {
    let number = Number::deserialize(number)?.to_string();
    let millis = parse_number(&number).ok_or_else(|| D::Error::custom("not a number"))?;
    Ok(Millis(millis))
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}
