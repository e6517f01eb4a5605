//! Reads the settings of a table.

use aws_sdk_dynamodb::types::{AttributeValue, TimeToLiveStatus};
use lifo_queue::schema;
use serde_json::{Map, Value, json};

use super::aws::{AwsStack, failed, found};
use crate::failure::Result;

/// Field for one task id per misspelled status. No list or count includes such tasks.
pub(crate) const MISSPELLED: &str = "Misspelled";

impl AwsStack {
    pub(super) async fn table(&self, name: &str) -> Result<Option<Value>> {
        let read = self.dynamodb.describe_table().table_name(name).send().await;
        let Some(read) = found("DescribeTable", read)? else {
            return Ok(None);
        };
        let Some(table) = read.table() else {
            return Ok(None);
        };
        let indexes = table.global_secondary_indexes().iter().map(|index| {
            let status = index
                .index_status()
                .map_or("ACTIVE", |status| status.as_str());
            (
                index.index_name().unwrap_or_default().to_owned(),
                json!(status),
            )
        });
        let indexes: Map<_, _> = indexes.collect();
        // The agents' table has no such index.
        let misspelled = match indexes.contains_key(schema::INDEX) {
            true => self.misspelled(name).await?,
            false => Map::new(),
        };
        let stream = table.stream_specification();
        let view = stream
            .filter(|stream| stream.stream_enabled())
            .and_then(|stream| stream.stream_view_type());
        let billing = table
            .billing_mode_summary()
            .and_then(|billing| billing.billing_mode());
        let encryption = match table.sse_description().and_then(|there| there.status()) {
            None if self.is_local => Value::Null,
            status => json!(status.is_some_and(|status| status.as_str() == "ENABLED")),
        };
        Ok(Some(json!({
            MISSPELLED: misspelled,
            "TableStatus": table.table_status().map(|status| status.as_str()),
            "Indexes": indexes,
            "StreamSpecification": { "StreamViewType": view.map(|view| view.as_str()) },
            "BillingMode": billing.map_or("PROVISIONED", |billing| billing.as_str()),
            "DeletionProtectionEnabled": table.deletion_protection_enabled().unwrap_or(false),
            "SSESpecification": { "SSEEnabled": encryption },
            "TimeToLiveSpecification": self.time_to_live(name).await?,
            "PointInTimeRecoverySpecification": self.point_in_time_recovery(name).await?,
        })))
    }

    /// Finds one task id per misspelled status.
    async fn misspelled(&self, table: &str) -> Result<Map<String, Value>> {
        let mut found = Map::new();
        for status in ["pending", "Pending"] {
            let query = self
                .dynamodb
                .query()
                .table_name(table)
                .index_name(schema::INDEX)
                .key_condition_expression("#status = :status")
                .expression_attribute_names("#status", schema::TASK_STATUS)
                .expression_attribute_values(":status", AttributeValue::S(status.to_owned()))
                .limit(1);
            let read = query.send().await.map_err(|error| failed("Query", error))?;
            let task = read
                .items()
                .first()
                .and_then(|task| task.get(schema::TASK_ID));
            if let Some(Ok(id)) = task.map(AttributeValue::as_s) {
                found.insert(status.to_owned(), json!(id));
            }
        }
        Ok(found)
    }

    async fn time_to_live(&self, name: &str) -> Result<Value> {
        let read = self
            .dynamodb
            .describe_time_to_live()
            .table_name(name)
            .send()
            .await;
        let read = found("DescribeTimeToLive", read)?;
        let expiry = read
            .as_ref()
            .and_then(|read| read.time_to_live_description());
        let status = expiry.and_then(|expiry| expiry.time_to_live_status());
        let enabled = matches!(
            status,
            Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling)
        );
        let attribute = expiry.and_then(|expiry| expiry.attribute_name());
        Ok(json!({ "Enabled": enabled, "AttributeName": attribute }))
    }

    async fn point_in_time_recovery(&self, name: &str) -> Result<Value> {
        let read = self
            .dynamodb
            .describe_continuous_backups()
            .table_name(name)
            .send()
            .await;
        let read = found("DescribeContinuousBackups", read)?;
        let enabled = read
            .as_ref()
            .and_then(|read| read.continuous_backups_description())
            .and_then(|backups| backups.point_in_time_recovery_description())
            .and_then(|recovery| recovery.point_in_time_recovery_status())
            .is_some_and(|status| status.as_str() == "ENABLED");
        Ok(json!({ "PointInTimeRecoveryEnabled": enabled }))
    }
}
