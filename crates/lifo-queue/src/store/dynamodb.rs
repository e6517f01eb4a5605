//! The store on DynamoDB. Every transition is one conditional write
//! (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.ConditionExpressions.html>).
//! If the condition fails, the response contains the item (`ReturnValuesOnConditionCheckFailure`).
//! So the store can distinguish a lost race from a lost acknowledgement of its own write without
//! another request.

mod admission;
mod control;
mod groups;
mod index;
mod item;
mod keyed;
mod operator;
mod reclaim;
mod update;

use async_trait::async_trait;
use aws::error_chain;
use aws::store_error::store_error;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::operation::update_item::{UpdateItemError, UpdateItemOutput};
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure;

use self::item::{Item, number, string};
pub use self::item::{control, groups};
use self::keyed::OvertakenEnd;
use self::update::LastError;
use super::{
    Candidate, Conflict, Inserted, Page, PageQuery, StoreError, TakeOutcome, TakeRequest,
    TakenPage, TaskStore, Written,
};
use crate::schema;
use crate::task::{
    Lease, MAX_TTL_SECONDS, NewTask, Reclaim, Retention, Return, Settlement, StatusKey, TakenTask,
    TaskId, TaskStatus, TokenText, Ttl,
};
use crate::time::{EpochSeconds, Millis};

/// Maximum number of attempts at a write if other requests change the item before each attempt.
const CONTENDERS: u32 = 20;

/// The error returned if other requests changed the item with this id before every attempt.
fn contended(id: &str) -> StoreError {
    StoreError::Contended {
        operation: "UpdateItem",
        key: id.to_owned(),
    }
}

/// A store on one DynamoDB table.
#[derive(Clone, Debug)]
pub struct DynamoStore {
    client: Client,
    table: String,
}

/// The result of a conditional update.
enum Updated {
    Done(Item),
    /// The condition failed. Contains the current item; empty if there is none.
    Rejected(Item),
}

impl DynamoStore {
    /// A store on `table`. The client may use its own retries, because the store recognizes a write
    /// whose acknowledgement was lost.
    #[must_use]
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self {
            client,
            table: table.into(),
        }
    }

    fn update(&self, id: &str) -> UpdateItemFluentBuilder {
        self.client
            .update_item()
            .table_name(&self.table)
            .key(schema::TASK_ID, string(id))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
    }

    /// Ends a run by sending the lease holder's update. If a newer state of the key was written
    /// during the run, makes the task PENDING instead.
    async fn end_run(
        &self,
        update: impl Fn(LastError<'_>) -> UpdateItemFluentBuilder,
        reason: LastError<'_>,
        target: TaskStatus,
        overtaken: OvertakenEnd<'_>,
        (lease, now): (&Lease, Millis),
    ) -> Result<Written, StoreError> {
        let there = match send_fitting(update, reason, &lease.task).await? {
            Updated::Done(_) => return Ok(Written::Done),
            Updated::Rejected(there) => there,
        };
        let is_ours = |status| item::is_ours(&there, status, lease.token);
        if is_ours(TaskStatus::Taken) && item::is_overtaken(&there) {
            return self.end_overtaken(lease, &overtaken, reason, now).await;
        }
        Ok(match item::version(&there) {
            // The item has this call's token and target status, so an earlier attempt succeeded.
            _ if is_ours(target) => Written::Done,
            // An earlier attempt succeeded, and a newer state made the task PENDING.
            Some(_) if is_ours(TaskStatus::Pending) => Written::Overtaken,
            _ => Written::Lost,
        })
    }

    async fn insert_item(&self, task: &NewTask, item: Item) -> Result<Inserted, StoreError> {
        let put = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(item))
            .condition_expression("attribute_not_exists(taskId)")
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let Err(error) = put.send().await else {
            return Ok(Inserted::Created);
        };
        let rejected = error
            .as_service_error()
            .filter(|e| e.is_conditional_check_failed_exception());
        match rejected {
            None => Err(store_error("PutItem", error)),
            Some(aws_sdk_dynamodb::operation::put_item::PutItemError::ConditionalCheckFailedException(there))
                if there.item().is_some_and(|item| item::is_created_by(item, task.create_token)) =>
            {
                Ok(Inserted::Created)
            }
            Some(aws_sdk_dynamodb::operation::put_item::PutItemError::ConditionalCheckFailedException(there))
                if there.item().is_some_and(|item| item::version(item).is_some()) =>
            {
                Ok(Inserted::Conflict(Conflict::IsAKey))
            }
            Some(_) => Ok(Inserted::Duplicate),
        }
    }
}

/// Sends a conditional update. A failed condition is a value, not an error.
async fn send(update: UpdateItemFluentBuilder) -> Result<Updated, StoreError> {
    match update.send().await {
        Ok(UpdateItemOutput { attributes, .. }) => {
            Ok(Updated::Done(attributes.unwrap_or_default()))
        }
        Err(error) => match error.as_service_error() {
            Some(UpdateItemError::ConditionalCheckFailedException(rejected)) => Ok(
                Updated::Rejected(rejected.item().cloned().unwrap_or_default()),
            ),
            _ => Err(store_error("UpdateItem", error)),
        },
    }
}

/// Sends an update that writes `lastError`. An item near DynamoDB's 400 KB limit may have no space
/// for this attribute. In that case, sends the update without the attribute.
async fn send_fitting(
    update: impl Fn(LastError<'_>) -> UpdateItemFluentBuilder,
    reason: LastError<'_>,
    task: &TaskId,
) -> Result<Updated, StoreError> {
    match send(update(reason)).await {
        Err(error) if error.is_validation() && matches!(reason, LastError::Is(_)) => {
            let error = error_chain::chain(&error);
            tracing::warn!(
                task_id = %task,
                error,
                "DynamoDB rejected the update of the task; retrying without lastError"
            );
            send(update(LastError::Dropped)).await
        }
        answer => answer,
    }
}

#[async_trait]
impl TaskStore for DynamoStore {
    async fn insert(&self, task: &NewTask) -> Result<Inserted, StoreError> {
        match &task.keyed {
            Some(keyed) => self.insert_keyed(task, keyed).await,
            None => self.insert_item(task, item::new_item(task)?).await,
        }
    }

    async fn pending_page(&self, query: &PageQuery) -> Result<Page, StoreError> {
        self.read_pending(query).await
    }

    async fn taken_page(&self, query: &PageQuery) -> Result<TakenPage, StoreError> {
        self.read_taken(query).await
    }

    async fn take(&self, request: &TakeRequest) -> Result<TakeOutcome, StoreError> {
        let mut lease = Lease {
            task: request.candidate.id.clone(),
            token: request.token,
            until: request.lease_until,
        };
        let Some(update) = self.take_update(request) else {
            let reason = format!("{} is not a number; write epoch seconds", schema::TTL);
            return Ok(TakeOutcome::Rejected { reason });
        };
        let item = match send(update).await {
            Ok(Updated::Done(item)) => item,
            // The item has the token of this call: an earlier attempt succeeded.
            Ok(Updated::Rejected(item)) if item::is_ours(&item, TaskStatus::Taken, lease.token) => {
                item
            }
            Ok(Updated::Rejected(_)) => return Ok(TakeOutcome::Lost),
            Err(error) if error.is_validation() => {
                let reason = error_chain::chain(&error);
                return Ok(TakeOutcome::Rejected { reason });
            }
            Err(error) => return Err(error),
        };
        // An earlier attempt may have set the lease's expiry, so use the item's value.
        lease.until = item::lease_until(&item).unwrap_or(lease.until);
        Ok(match item::taken_task(&item, &lease) {
            Ok(task) => TakeOutcome::Won(Box::new(TakenTask {
                task,
                lease,
                trace: item::trace(&item),
            })),
            Err(reason) => TakeOutcome::Unreadable { lease, reason },
        })
    }

    async fn settle(
        &self,
        lease: &Lease,
        settlement: &Settlement,
        retention: &Retention,
        now: Millis,
    ) -> Result<Written, StoreError> {
        let reason = match settlement {
            Settlement::Success => LastError::Unchanged,
            Settlement::Failure { reason } => LastError::Is(reason),
        };
        let update =
            |reason: LastError<'_>| self.settle_update(lease, settlement, reason, retention, now);
        let overtaken = OvertakenEnd::default();
        let target = settlement.status();
        self.end_run(update, reason, target, overtaken, (lease, now))
            .await
    }

    async fn return_task(
        &self,
        lease: &Lease,
        returned: &Return,
        now: Millis,
    ) -> Result<Written, StoreError> {
        let update = |reason: LastError<'_>| self.return_update(lease, returned, reason, now);
        let reason = LastError::Is(&returned.reason);
        let marked = TokenText {
            token: Some(lease.token),
            lease_expired: true,
        };
        let overtaken = OvertakenEnd {
            not_before: Some(returned.not_before),
            token: returned.lease_expired.then_some(marked),
            supersedes: true,
            swept: None,
        };
        let target = TaskStatus::Pending;
        self.end_run(update, reason, target, overtaken, (lease, now))
            .await
    }

    async fn reclaim(
        &self,
        lease: &Lease,
        reclaim: &Reclaim,
        now: Millis,
    ) -> Result<Written, StoreError> {
        self.end_expired(lease, reclaim, now).await
    }

    async fn quarantine(
        &self,
        seen: &Candidate,
        reason: &str,
        keep_until: EpochSeconds,
        now: Millis,
    ) -> Result<Written, StoreError> {
        let update = self.quarantine_update(seen, reason, keep_until, now);
        let answer = match send(update).await {
            Err(error) if error.is_validation() => send(self.bare_quarantine_update(seen)).await,
            answer => answer,
        };
        Ok(match answer? {
            Updated::Done(_) => Written::Done,
            Updated::Rejected(_) => Written::Lost,
        })
    }

    async fn adopt_ttl(
        &self,
        task: &TaskId,
        seen: Ttl,
        ttl: EpochSeconds,
    ) -> Result<Written, StoreError> {
        let unchanged = match seen {
            Ttl::Missing => "attribute_not_exists(#ttl)",
            Ttl::Milliseconds(_) => "#ttl > :max",
            Ttl::Seconds(_) | Ttl::Malformed => return Ok(Written::Lost),
        };
        let mut update = self
            .update(task.as_str())
            .update_expression("SET #ttl = :ttl")
            .condition_expression(format!("taskStatus = :pending AND {unchanged}"))
            .expression_attribute_names("#ttl", schema::TTL)
            .expression_attribute_values(":pending", string(StatusKey::from(TaskStatus::Pending)))
            .expression_attribute_values(":ttl", number(ttl.0));
        if let Ttl::Milliseconds(_) = seen {
            update = update.expression_attribute_values(":max", number(MAX_TTL_SECONDS));
        }
        Ok(match send(update).await? {
            Updated::Done(_) => Written::Done,
            Updated::Rejected(_) => Written::Lost,
        })
    }
}
