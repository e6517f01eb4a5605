//! Reads the settings of a table.

use aws_sdk_dynamodb::types::TimeToLiveStatus;
use serde_json::{Map, Value, json};

use super::aws::{AwsStack, found};
use crate::failure::Failure;

impl AwsStack {
    pub(super) async fn table(&self, name: &str) -> Result<Option<Value>, Failure> {
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
            "TableStatus": table.table_status().map(|status| status.as_str()),
            "Indexes": indexes.collect::<Map<_, _>>(),
            "StreamSpecification": { "StreamViewType": view.map(|view| view.as_str()) },
            "BillingMode": billing.map_or("PROVISIONED", |billing| billing.as_str()),
            "DeletionProtectionEnabled": table.deletion_protection_enabled().unwrap_or(false),
            "SSESpecification": { "SSEEnabled": encryption },
            "TimeToLiveSpecification": self.time_to_live(name).await?,
            "PointInTimeRecoverySpecification": self.point_in_time_recovery(name).await?,
        })))
    }

    async fn time_to_live(&self, name: &str) -> Result<Value, Failure> {
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

    async fn point_in_time_recovery(&self, name: &str) -> Result<Value, Failure> {
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
