//! The operators' transitions on DynamoDB.

use async_trait::async_trait;
use aws::store_error::store_error;
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValuesOnConditionCheckFailure};
use serde_json::{Map, Value};

use super::item::{self, Item, number, string};
use super::{CONTENDERS, DynamoStore, Updated, contended, send};
use crate::control::{BreakerHold, OperatorLimits, RedrivenTasks};
use crate::schema;
use crate::store::{Cancelled, OperatorStore, Redrive, Redriven, Seen, StoreError};
use crate::task::{StatusKey, TaskId, TaskStatus, truncate_error};
use crate::time::{EpochSeconds, Millis};

#[async_trait]
impl OperatorStore for DynamoStore {
    async fn redrive(&self, redrive: &Redrive, now: Millis) -> Result<Redriven, StoreError> {
        let mut there = self.item(redrive.task.as_str()).await?;
        for _ in 0..CONTENDERS {
            if there.is_empty() {
                return Ok(Redriven::NotFound);
            }
            let status = item::status(&there)?;
            if status != TaskStatus::Failure {
                return Ok(Redriven::Is(status));
            }
            if !item::is_seen(&there, &redrive.state) {
                return Ok(Redriven::Replaced);
            }
            // A redrive keeps `taskCreated`, but a newer state of a key changes it. So each attempt
            // widens the bound again, in case such a state was written and failed.
            let (created, stored) = item::created(&there)?;
            self.widen_bound(created, redrive.expires_at, now).await?;
            match send(self.redrive_update(redrive, stored, now)).await? {
                Updated::Done(_) => return Ok(Redriven::Done),
                Updated::Rejected(item) => there = item,
            }
        }
        Err(contended(redrive.task.as_str()))
    }

    async fn attributes(&self, task: &TaskId) -> Result<Option<Map<String, Value>>, StoreError> {
        let item = self.item(task.as_str()).await?;
        Ok((!item.is_empty()).then(|| item::attributes(item)))
    }

    async fn purge(&self, task: &TaskId, state: &Seen) -> Result<Cancelled, StoreError> {
        let of = [
            TaskStatus::Pending,
            TaskStatus::Success,
            TaskStatus::Failure,
        ];
        self.delete(task, &of, state).await
    }

    async fn cancel(&self, task: &TaskId, state: &Seen) -> Result<Cancelled, StoreError> {
        self.delete(task, &[TaskStatus::Pending], state).await
    }

    async fn resume(&self) -> Result<(), StoreError> {
        let update = self.update_control().update_expression(
            "REMOVE pausedUntil, pauseReason, pausedBy, pausedAt, busyPauses, notifiedUntil, notifiedBy",
        );
        send(update).await.map(drop)
    }

    // A client retry of this method or of `close_breaker` counts as a second command but has no
    // other effect.
    async fn hold_breaker(&self, hold: &BreakerHold) -> Result<(), StoreError> {
        let update = self
            .command_breaker("SET breakerHeldUntil = :until, breakerReason = :reason")
            .expression_attribute_values(":until", number(hold.until.0))
            .expression_attribute_values(":reason", string(truncate_error(&hold.reason)));
        send(update).await.map(drop)
    }

    async fn close_breaker(&self) -> Result<(), StoreError> {
        let update = self
            .command_breaker("REMOVE breakerSince, breakerProbes, breakerHeldUntil, breakerReason");
        send(update).await.map(drop)
    }

    async fn limit(&self, limits: &OperatorLimits) -> Result<(), StoreError> {
        let limits = item::map("UpdateItem", limits)?;
        let update = self
            .update_control()
            .update_expression("SET limits = :limits")
            .expression_attribute_values(":limits", limits);
        send(update).await.map(drop)
    }
}

impl DynamoStore {
    /// Reads an item with strong consistency; empty if there is none.
    pub(super) async fn item(&self, id: &str) -> Result<Item, StoreError> {
        let output = self
            .client
            .get_item()
            .table_name(&self.table)
            .key(schema::TASK_ID, string(id))
            .consistent_read(true)
            .send()
            .await
            .map_err(|error| store_error("GetItem", error))?;
        Ok(output.item.unwrap_or_default())
    }

    /// Deletes a task that has one of these statuses and this state. A failed condition is a value,
    /// not an error.
    async fn delete(
        &self,
        task: &TaskId,
        of: &[TaskStatus],
        state: &Seen,
    ) -> Result<Cancelled, StoreError> {
        let mut condition = String::from("taskStatus IN (");
        let mut delete = self
            .client
            .delete_item()
            .table_name(&self.table)
            .key(schema::TASK_ID, string(task))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        for (n, status) in of.iter().enumerate() {
            let separator = if n == 0 { "" } else { ", " };
            condition += &format!("{separator}:status{n}");
            let status = string(StatusKey::from(*status));
            delete = delete.expression_attribute_values(format!(":status{n}"), status);
        }
        condition += ")";
        let (term, values) = item::seen_condition(state);
        condition += term;
        for (name, value) in values {
            delete = delete.expression_attribute_values(name, value);
        }
        let Err(error) = delete.condition_expression(condition).send().await else {
            return Ok(Cancelled::Done);
        };
        match error.as_service_error() {
            Some(DeleteItemError::ConditionalCheckFailedException(there)) => match there.item() {
                Some(item) if !item.is_empty() => Ok(match item::status(item)? {
                    status if of.contains(&status) => Cancelled::Replaced,
                    status => Cancelled::Is(status),
                }),
                _ => Ok(Cancelled::NotFound),
            },
            _ => Err(store_error("DeleteItem", error)),
        }
    }

    fn command_breaker(&self, change: &str) -> UpdateItemFluentBuilder {
        self.update_control()
            .update_expression(format!("{change} ADD breakerCommands :one"))
            .expression_attribute_values(":one", number(1))
    }

    fn redrive_update(
        &self,
        redrive: &Redrive,
        created: &AttributeValue,
        now: Millis,
    ) -> UpdateItemFluentBuilder {
        let (term, values) = item::seen_condition(&redrive.state);
        let mut update = self.update(redrive.task.as_str());
        for (name, value) in values {
            update = update.expression_attribute_values(name, value);
        }
        update
            .update_expression(
                "SET taskStatus = :pending, taskUpdated = :now, #ttl = :ttl, attempts = :zero, \
                 totalAttempts = :zero \
                 REMOVE leaseToken, leaseUntil, notBefore, expiresAt, alone, crashes",
            )
            .condition_expression(format!(
                "taskStatus = :failure AND taskCreated = :created{term}"
            ))
            .expression_attribute_names("#ttl", schema::TTL)
            .expression_attribute_values(":pending", string(StatusKey::from(TaskStatus::Pending)))
            .expression_attribute_values(":failure", string(StatusKey::from(TaskStatus::Failure)))
            // Compares the stored value, because a direct writer may have written decimals.
            .expression_attribute_values(":created", created.clone())
            .expression_attribute_values(":now", number(now.0))
            .expression_attribute_values(":ttl", number(redrive.expires_at.0))
            .expression_attribute_values(":zero", number(0))
    }

    /// Stores in the control item that a task created at `created` may be PENDING until `until`.
    /// Uses compare-and-set, because other redrives may write concurrently.
    async fn widen_bound(
        &self,
        created: Millis,
        until: EpochSeconds,
        now: Millis,
    ) -> Result<(), StoreError> {
        let mut there = item::redriven(&self.item(schema::CONTROL_ITEM).await?);
        for _ in 0..CONTENDERS {
            let live = there.filter(|redriven| redriven.until.millis() > now);
            let wider = live.map_or(
                RedrivenTasks {
                    oldest: created,
                    until,
                },
                |live| RedrivenTasks {
                    oldest: live.oldest.min(created),
                    until: live.until.max(until),
                },
            );
            if there == Some(wider) {
                return Ok(());
            }
            match send(self.redriven_update(there, wider)).await? {
                Updated::Done(_) => return Ok(()),
                Updated::Rejected(item) => there = item::redriven(&item),
            }
        }
        Err(contended(schema::CONTROL_ITEM))
    }

    fn redriven_update(
        &self,
        there: Option<RedrivenTasks>,
        wider: RedrivenTasks,
    ) -> UpdateItemFluentBuilder {
        let update = self
            .update_control()
            .update_expression("SET oldestRedriven = :oldest, redrivenUntil = :until")
            .expression_attribute_values(":oldest", number(wider.oldest.0))
            .expression_attribute_values(":until", number(wider.until.0));
        match there {
            None => update.condition_expression("attribute_not_exists(redrivenUntil)"),
            Some(there) => update
                .condition_expression(
                    "oldestRedriven = :oldestThere AND redrivenUntil = :untilThere",
                )
                .expression_attribute_values(":oldestThere", number(there.oldest.0))
                .expression_attribute_values(":untilThere", number(there.until.0)),
        }
    }
}
