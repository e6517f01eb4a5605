//! States of keys on DynamoDB. A newer state replaces an older one in a single conditional update,
//! which depends on the older state's status.

use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};

use super::item::{self, Item, number, string};
use super::update::{CRASHED, LastError, crash_condition};
use super::{CONTENDERS, DynamoStore, Updated, contended, send, send_fitting};
use crate::schema;
use crate::store::{Conflict, Inserted, Replaced, StoreError, Written};
use crate::task::{
    Keyed, Lease, NewTask, Place, Reclaim, StatusKey, TaskStatus, TokenText, Ttl, truncate_error,
};
use crate::time::Millis;

/// The item that a put finds under its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// No item, or an older PENDING state that has not expired.
    NothingOrWaiting,
    /// An older PENDING state that has expired.
    Expired,
    /// An older state that is settled.
    Settled,
    /// An older state that is running.
    Running,
    /// A running state and a state that is pending until the end of the run. Both are older.
    RunningOvertaken,
}

impl Found {
    /// Condition that the item matches this case and is older than the put's state.
    fn condition(self) -> String {
        const OLDER: &str = "taskVersion < :version AND begins_with(taskVersion, :kind)";
        let found = match self {
            Self::NothingOrWaiting => {
                return format!(
                    "attribute_not_exists(taskId) \
                     OR (taskStatus = :pending AND NOT (#ttl <= :seconds) AND {OLDER})"
                );
            }
            Self::Expired => "taskStatus = :pending AND #ttl <= :seconds",
            Self::Settled => "taskStatus IN (:success, :failure)",
            Self::Running => "taskStatus = :taken AND attribute_not_exists(overtaken)",
            Self::RunningOvertaken => "taskStatus = :taken AND attribute_exists(overtaken)",
        };
        format!("{found} AND {OLDER}")
    }

    /// Whether the replaced state had not run yet, so that it counts as superseded.
    fn supersedes(self) -> bool {
        matches!(self, Self::NothingOrWaiting | Self::RunningOvertaken)
    }

    /// Whether the key has a position in the queue that it can keep.
    fn has_place(self) -> bool {
        !matches!(self, Self::Settled | Self::Running)
    }

    fn answer(self, before: &Item) -> Inserted {
        Inserted::Replaced(match self {
            Self::NothingOrWaiting if item::version(before).is_none() => return Inserted::Created,
            Self::NothingOrWaiting | Self::RunningOvertaken => Replaced::Waiting,
            Self::Expired => Replaced::Expired,
            Self::Settled => Replaced::Settled,
            Self::Running => Replaced::Running,
        })
    }

    /// Classifies the item. Returns the put's result as `Err` if the item is not an older state.
    fn sort(there: &Item, task: &NewTask, keyed: &Keyed) -> Result<Self, Inserted> {
        if there.is_empty() {
            return Ok(Self::NothingOrWaiting);
        }
        if item::is_created_by(there, task.create_token) {
            return Err(Inserted::Created);
        }
        let Some(version) = item::version(there) else {
            return Err(Inserted::Conflict(Conflict::NotAKey));
        };
        if !version.is_comparable(&keyed.version) {
            return Err(Inserted::Conflict(Conflict::OtherOrder));
        }
        if version == keyed.version {
            return Err(Inserted::Duplicate);
        }
        if version > keyed.version {
            return Err(Inserted::Outdated);
        }
        match item::status(there) {
            Ok(TaskStatus::Pending) => Ok(match item::ttl(there) {
                Ttl::Seconds(at) if at <= keyed.written.floor_seconds() => Self::Expired,
                _ => Self::NothingOrWaiting,
            }),
            Ok(TaskStatus::Taken) if item::is_overtaken(there) => Ok(Self::RunningOvertaken),
            Ok(TaskStatus::Taken) => Ok(Self::Running),
            Ok(TaskStatus::Success | TaskStatus::Failure) => Ok(Self::Settled),
            // The queue does not change an item with an unknown status.
            Err(_) => Err(Inserted::Conflict(Conflict::NotAKey)),
        }
    }
}

impl DynamoStore {
    /// Puts the state of a key. The first attempt assumes the usual cases: no item, or an older
    /// PENDING state. Further attempts depend on the item that failed the condition.
    pub(super) async fn insert_keyed(
        &self,
        task: &NewTask,
        keyed: &Keyed,
    ) -> Result<Inserted, StoreError> {
        let payload = item::payload(task)?;
        let mut found = Found::NothingOrWaiting;
        for _ in 0..CONTENDERS {
            let update = self.state_update(task, keyed, payload.clone(), found);
            let there = match send(update).await? {
                Updated::Done(before) => return Ok(found.answer(&before)),
                Updated::Rejected(there) => there,
            };
            found = match Found::sort(&there, task, keyed) {
                Ok(found) => found,
                Err(answer) => return Ok(answer),
            };
        }
        Err(contended(task.id.as_str()))
    }

    fn state_update(
        &self,
        task: &NewTask,
        keyed: &Keyed,
        payload: Option<AttributeValue>,
        found: Found,
    ) -> UpdateItemFluentBuilder {
        let (mut set, mut remove) = (STATE.to_vec(), vec!["lastError"]);
        let mut replace = |is_there: bool, assignment, name| match is_there {
            true => set.push(assignment),
            false => remove.push(name),
        };
        replace(payload.is_some(), "payload = :payload", "payload");
        replace(task.trace.is_some(), "traceHeader = :trace", "traceHeader");
        match keyed.place {
            Place::Moves => {
                set.push("taskCreated = :created");
                remove.push("stateCreated");
            }
            Place::Stays => {
                set.push("stateCreated = :created");
                set.push(match found.has_place() {
                    true => "taskCreated = if_not_exists(taskCreated, :created)",
                    false => "taskCreated = :created",
                });
            }
        }
        set.extend(match found {
            Found::Running => &["expiresAt = :ttl", "overtaken = :yes"][..],
            Found::RunningOvertaken => &["expiresAt = :ttl"],
            _ => &WAITING,
        });
        set.extend(task.not_before.map(|_| "notBefore = :notBefore"));
        if found.supersedes() {
            // -1 + 1 = 0, because the first state of a key replaces no other state.
            set.push("superseded = if_not_exists(superseded, :none) + :one");
        }
        set.extend((found == Found::Expired).then_some("revived = :createToken"));
        let change = format!("SET {} REMOVE {}", set.join(", "), remove.join(", "));
        let update = self
            .update(task.id.as_str())
            .return_values(ReturnValue::AllOld);
        let mut values = vec![
            (":version", string(&keyed.version)),
            (":kind", string(keyed.version.kind())),
            (":createToken", string(task.create_token)),
            (":written", number(keyed.written.0)),
            (":seconds", number(keyed.written.floor_seconds().0)),
            (":created", number(task.created.0)),
            (":ttl", number(task.expires_at.0)),
            (":none", number(-1)),
        ];
        values.extend(payload.map(|payload| (":payload", payload)));
        values.extend(task.not_before.map(|at| (":notBefore", number(at.0))));
        values.extend(task.trace.as_ref().map(|trace| (":trace", string(trace))));
        with_used(update, &change, &found.condition(), values)
    }

    /// Builds the update that ends a run during which a newer state was written: TAKEN → PENDING,
    /// or FAILURE for a key that crashes its processes.
    pub(super) fn overtaken_update(
        &self,
        lease: &Lease,
        end: &OvertakenEnd<'_>,
        reason: LastError<'_>,
        now: Millis,
    ) -> UpdateItemFluentBuilder {
        let mut set = vec![
            "taskUpdated = :written",
            "attempts = :zero",
            "totalAttempts = :zero",
        ];
        let mut values = vec![(":written", number(now.0)), (":token", string(lease.token))];
        set.extend(match end.swept {
            Some(Reclaim::FailCrashing { keep_until, .. }) => {
                values.push((":keepUntil", number(keep_until.0)));
                ["taskStatus = :failure", "#ttl = :keepUntil"]
            }
            _ => [
                "taskStatus = :pending",
                "#ttl = if_not_exists(expiresAt, #ttl)",
            ],
        });
        if let Some(at) = end.not_before {
            // A newer state with a delay keeps its own `notBefore`.
            set.push("notBefore = if_not_exists(notBefore, :notBefore)");
            values.push((":notBefore", number(at.0)));
        }
        if let Some(token) = end.token {
            set.push("leaseToken = :newToken");
            values.push((":newToken", string(token)));
        }
        if end.supersedes {
            set.push("superseded = if_not_exists(superseded, :zero) + :one");
        }
        let (crashes, swept) = match end.swept {
            None if end.supersedes => ("", String::new()),
            // The run settled its state. Reset the crashes.
            None => (", crashes", String::new()),
            Some(swept) => {
                set.push(CRASHED);
                let (condition, crashes) = crash_condition(swept);
                values.extend(crashes.map(|crashes| (":crashes", number(crashes))));
                ("", format!(" AND leaseUntil <= :written AND {condition}"))
            }
        };
        let (set_error, remove_error) = reason.terms();
        let change = format!(
            "SET {}{set_error} REMOVE leaseUntil, expiresAt, overtaken{crashes}{remove_error}",
            set.join(", ")
        );
        let condition = format!(
            "taskStatus = :taken AND leaseToken = :token AND attribute_exists(overtaken){swept}"
        );
        if let LastError::Is(reason) = reason {
            values.push((":error", string(truncate_error(reason))));
        }
        let update = self.update(lease.task.as_str());
        with_used(update, &change, &condition, values)
    }

    /// Ends a run during which a newer state was written.
    pub(super) async fn end_overtaken(
        &self,
        lease: &Lease,
        end: &OvertakenEnd<'_>,
        reason: LastError<'_>,
        now: Millis,
    ) -> Result<Written, StoreError> {
        let update = |reason: LastError<'_>| self.overtaken_update(lease, end, reason, now);
        Ok(match send_fitting(update, reason, &lease.task).await? {
            Updated::Done(_) => Written::Overtaken,
            // An earlier attempt succeeded. A sweep removes the token and can't detect this.
            Updated::Rejected(item)
                if end.swept.is_none()
                    && item::is_ours(&item, TaskStatus::Pending, lease.token) =>
            {
                Written::Overtaken
            }
            Updated::Rejected(_) => Written::Lost,
        })
    }
}

/// The end of a run during which a newer state was written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OvertakenEnd<'a> {
    /// Earliest start of the newer state, unless it has its own delay.
    pub(super) not_before: Option<Millis>,
    /// The new value of `leaseToken`, if it changes.
    pub(super) token: Option<TokenText>,
    /// Whether the run did not settle its state, so that the state counts as superseded.
    pub(super) supersedes: bool,
    /// The sweep's change, which requires an expired lease.
    pub(super) swept: Option<&'a Reclaim>,
}

/// Assignments of every put of a state.
const STATE: [&str; 3] = [
    "taskVersion = :version",
    "createToken = :createToken",
    "taskUpdated = :written",
];

/// Further assignments of a put that makes the task PENDING.
const WAITING: [&str; 4] = [
    "taskStatus = :pending",
    "#ttl = :ttl",
    "attempts = :zero",
    "totalAttempts = :zero",
];

/// Adds the change, its condition, and only the names and values that these use, because DynamoDB
/// rejects requests with unused names or values.
fn with_used(
    update: UpdateItemFluentBuilder,
    change: &str,
    condition: &str,
    mut values: Vec<(&'static str, AttributeValue)>,
) -> UpdateItemFluentBuilder {
    let status = |status: TaskStatus| string(StatusKey::from(status));
    values.extend([
        (":pending", status(TaskStatus::Pending)),
        (":taken", status(TaskStatus::Taken)),
        (":success", status(TaskStatus::Success)),
        (":failure", status(TaskStatus::Failure)),
        (":zero", number(0)),
        (":one", number(1)),
        (":yes", AttributeValue::Bool(true)),
    ]);
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '#' | ':');
    let is_used = |placeholder: &str| {
        let mut texts = [change, condition].into_iter();
        texts.any(|text| text.split(|c| !is_word(c)).any(|word| word == placeholder))
    };
    let mut update = update
        .update_expression(change)
        .condition_expression(condition);
    if is_used("#ttl") {
        update = update.expression_attribute_names("#ttl", schema::TTL);
    }
    for (placeholder, value) in values {
        if is_used(placeholder) {
            update = update.expression_attribute_values(placeholder, value);
        }
    }
    update
}
