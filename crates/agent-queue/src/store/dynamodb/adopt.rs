//! Moves items of earlier releases to the partitions of this release.
//!
//! Earlier releases have one partition for the agents, one for the outbox and one for the call
//! leases. Unmoved entries of the outbox would never be published, and unmoved leases never end.
//! All unmoved agents share the write units of one partition.

use aws::store_error::store_error;
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{Delete, Put, TransactWriteItem};

use super::item::{Item, string};
use super::{DynamoStore, TRANSACT, incomplete};
use crate::schema;
use crate::store::StoreError;
use crate::transaction::{stripe_of, striped};

/// Number of items moved in one transaction, with two actions each.
const AT_ONCE: u16 = 50;

/// Number of pages moved from one partition in one sweep.
const PAGES: usize = 10;

impl DynamoStore {
    pub(super) async fn adopt_all(&self) -> Result<u32, StoreError> {
        let former = [
            (schema::OUTBOX, schema::OUTBOX, schema::CALL_ID),
            (schema::LEASES, schema::LEASES, schema::AGENT_ID),
            (schema::ALL_AGENTS, schema::AGENTS, schema::AGENT_ID),
        ];
        let mut moved = 0;
        for (from, to, id) in former {
            moved += self.adopt_from(from, to, id).await?;
        }
        Ok(moved)
    }

    /// Moves the items of a partition to the stripes of the id in the attribute `id`.
    async fn adopt_from(&self, from: &str, to: &str, id: &str) -> Result<u32, StoreError> {
        let (mut moved, mut start) = (0, None);
        for _ in 0..PAGES {
            let query = self.whole(from).set_exclusive_start_key(start);
            let (items, next) = self.page(query, AT_ONCE).await?;
            moved += match self.move_items(&items, to, id).await? {
                0 => self.move_each(&items, to, id).await?,
                all => all,
            };
            start = next;
            if start.is_none() {
                break;
            }
        }
        Ok(moved)
    }

    /// Moves the items one by one, so that one that another process changes keeps no other.
    async fn move_each(&self, items: &[Item], to: &str, id: &str) -> Result<u32, StoreError> {
        let mut moved = 0;
        for item in items {
            moved += self.move_items(std::slice::from_ref(item), to, id).await?;
        }
        Ok(moved)
    }

    /// Moves these items in one transaction. Returns 0 if it was cancelled, because another process
    /// changed one of the items. The next sweep then moves the rest.
    async fn move_items(&self, items: &[Item], to: &str, id: &str) -> Result<u32, StoreError> {
        if items.is_empty() {
            return Ok(0);
        }
        let mut request = self.client.transact_write_items();
        for item in items {
            let id = item.get(id).and_then(|id| id.as_s().ok());
            let to = striped(to, stripe_of(id.map_or("", String::as_str)));
            let mut moved = item.clone();
            moved.insert(schema::PK.to_owned(), string(to));
            let put = Put::builder()
                .table_name(&self.table)
                .set_item(Some(moved))
                .condition_expression("attribute_not_exists(pk)")
                .build()
                .map_err(incomplete)?;
            request = request
                .transact_items(TransactWriteItem::builder().put(put).build())
                .transact_items(self.delete_unchanged(item).map_err(incomplete)?);
        }
        match request.send().await {
            Ok(_) => Ok(u32::try_from(items.len()).unwrap_or(u32::MAX)),
            Err(error) => match error.as_service_error() {
                Some(TransactWriteItemsError::TransactionCanceledException(_)) => Ok(0),
                _ => Err(store_error(TRANSACT, error)),
            },
        }
    }

    /// Deletes an item, if every attribute is as read.
    fn delete_unchanged(&self, item: &Item) -> Result<TransactWriteItem, BuildError> {
        let mut delete = Delete::builder().table_name(&self.table);
        let mut unchanged = vec!["attribute_exists(pk)".to_owned()];
        for (n, (name, value)) in item.iter().enumerate() {
            if [schema::PK, schema::SK].contains(&name.as_str()) {
                delete = delete.key(name, value.clone());
                continue;
            }
            unchanged.push(format!("#n{n} = :v{n}"));
            delete = delete
                .expression_attribute_names(format!("#n{n}"), name)
                .expression_attribute_values(format!(":v{n}"), value.clone());
        }
        let delete = delete.condition_expression(unchanged.join(" AND "));
        Ok(TransactWriteItem::builder().delete(delete.build()?).build())
    }
}
