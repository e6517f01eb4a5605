//! Repeats a cancelled transaction on an item of its own.

use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem, Update};
use lifo_queue::schema;
use lifo_queue::time::{Clock, SystemClock};
use std::time::Duration;
use uuid::Uuid;

use super::aws::{AwsStack, failed};
use crate::failure::Result;

/// Lifetime of the item if this process is killed before it deletes the item.
const TTL: Duration = Duration::from_secs(60);

impl AwsStack {
    pub(super) async fn repeats_cancelled(&self, table: &str) -> Result<bool> {
        let (token, now) = (Uuid::new_v4().to_string(), SystemClock.now());
        let key = AttributeValue::S(format!("freshq-smoke-{token}"));
        let update = Update::builder()
            .table_name(table)
            .key(schema::TASK_ID, key.clone())
            .update_expression("SET smoke = :two")
            .condition_expression("smoke = :one")
            .expression_attribute_values(":one", AttributeValue::N("1".to_owned()))
            .expression_attribute_values(":two", AttributeValue::N("2".to_owned()))
            .build()
            .map_err(|error| failed("TransactWriteItems", error))?;
        let first = self.is_cancelled(&token, update.clone()).await?;
        let create = self.dynamodb.update_item().table_name(table);
        let create = create
            .key(schema::TASK_ID, key.clone())
            .update_expression("SET smoke = :one, #ttl = :ttl")
            .expression_attribute_names("#ttl", schema::TTL)
            .expression_attribute_values(":one", AttributeValue::N("1".to_owned()))
            .expression_attribute_values(
                ":ttl",
                AttributeValue::N(now.plus(TTL).ceil_seconds().0.to_string()),
            );
        create
            .send()
            .await
            .map_err(|error| failed("UpdateItem", error))?;
        let second = self.is_cancelled(&token, update).await;
        let delete = self.dynamodb.delete_item().table_name(table);
        let deleted = delete.key(schema::TASK_ID, key).send().await;
        deleted.map_err(|error| failed("DeleteItem", error))?;
        Ok(first && !second?)
    }

    async fn is_cancelled(&self, token: &str, update: Update) -> Result<bool> {
        let item = TransactWriteItem::builder().update(update).build();
        let write = self.dynamodb.transact_write_items();
        let written = write
            .client_request_token(token)
            .transact_items(item)
            .send()
            .await;
        match written {
            Ok(_) => Ok(false),
            Err(error) => match error.as_service_error() {
                Some(TransactWriteItemsError::TransactionCanceledException(_)) => Ok(true),
                _ => Err(failed("TransactWriteItems", error)),
            },
        }
    }
}
