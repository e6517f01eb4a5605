//! The admission meter on DynamoDB: the item `#ingest`.

use async_trait::async_trait;
use aws_sdk_dynamodb::types::ReturnValue;

use super::item::{self, number};
use super::{DynamoStore, Updated, send};
use crate::control::Control;
use crate::schema;
use crate::store::{AdmissionStore, ControlStore, Counts, Mark, Meter, StoreError};

#[async_trait]
impl AdmissionStore for DynamoStore {
    async fn meter(
        &self,
        counts: Counts,
        mark: Option<Mark>,
    ) -> Result<(Meter, Control), StoreError> {
        let set = match mark {
            Some(_) => "SET mark = :mark ",
            None => "",
        };
        let mut update = self
            .update(schema::INGEST_ITEM)
            .update_expression(format!("{set}ADD received :received, admitted :admitted"))
            .return_values(ReturnValue::AllNew)
            .expression_attribute_values(":received", number(counts.received))
            .expression_attribute_values(":admitted", number(counts.admitted));
        if let Some(mark) = mark {
            let mark = item::map("UpdateItem", &mark)?;
            update = update.expression_attribute_values(":mark", mark);
        }
        let (updated, control) = tokio::join!(send(update), self.control());
        let (Updated::Done(item) | Updated::Rejected(item)) = updated?;
        Ok((item::meter(&item), control?))
    }
}
