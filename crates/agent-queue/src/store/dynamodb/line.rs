//! The registry of lines of pending calls. Its writes are not part of transactions.

use aws::store_error::store_error;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;

use super::DynamoStore;
use super::item::{key, string};
use super::read::readable;
use crate::criteria::Criteria;
use crate::schema;
use crate::store::{Line, Result};
use crate::time::Micros;
use crate::transaction::line_key;

const UPDATE: &str = "UpdateItem";
const DELETE: &str = "DeleteItem";

impl DynamoStore {
    pub(super) async fn all_lines(&self) -> Result<Vec<Line>> {
        let items = self.all(schema::ALL_CRITERIA).await?;
        Ok(readable(&items, |attributes| {
            let sort = attributes.sort_key()?;
            let criteria = sort.strip_prefix(schema::CRITERIA_PREFIX);
            Ok(Line {
                criteria: Criteria::from_stored(criteria.unwrap_or(sort)),
                seen: attributes.seen()?,
            })
        }))
    }

    pub(super) async fn note_line(&self, criteria: &Criteria, at: Micros) -> Result<()> {
        let request = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(key(line_key(criteria))))
            .update_expression("SET SeenAt = :at")
            .expression_attribute_values(":at", string(at));
        let sent = request.send().await;
        sent.map(drop).map_err(|error| store_error(UPDATE, error))
    }

    pub(super) async fn delete_line(&self, line: &Line) -> Result<()> {
        let request = self
            .client
            .delete_item()
            .table_name(&self.table)
            .set_key(Some(key(line_key(&line.criteria))))
            .condition_expression("SeenAt = :seen")
            .expression_attribute_values(":seen", string(line.seen));
        match request.send().await {
            Ok(_) => Ok(()),
            Err(error) => {
                let code = error
                    .as_service_error()
                    .and_then(ProvideErrorMetadata::code);
                match code {
                    // The line was opened again after it was read.
                    Some("ConditionalCheckFailedException") => Ok(()),
                    _ => Err(store_error(DELETE, error)),
                }
            }
        }
    }
}
