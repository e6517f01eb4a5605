//! Moves items of an earlier release to the partitions that this release reads.
//!
//! The earlier release has one partition for the outbox and one for the call leases. Unmoved
//! entries of the outbox would never be published, and unmoved leases never end.

use aws::store_error::store_error;
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
        let news = self.adopt_from(schema::OUTBOX, schema::CALL_ID).await?;
        let leases = self.adopt_from(schema::LEASES, schema::AGENT_ID).await?;
        Ok(news + leases)
    }

    async fn adopt_from(&self, from: &str, id: &str) -> Result<u32, StoreError> {
        let mut moved = 0;
        for _ in 0..PAGES {
            let (items, next) = self.page(self.whole(from), AT_ONCE).await?;
            if items.is_empty() || !self.move_items(&items, id).await? {
                break;
            }
            moved += u32::try_from(items.len()).unwrap_or(u32::MAX);
            if next.is_none() {
                break;
            }
        }
        Ok(moved)
    }

    /// Moves items to the stripe of the id in the attribute `id`. Returns false if the transaction
    /// was cancelled, because another process changed one of the items. The next sweep then moves
    /// the rest.
    async fn move_items(&self, items: &[Item], id: &str) -> Result<bool, StoreError> {
        let mut request = self.client.transact_write_items();
        for item in items {
            let at = |name: &str| item.get(name).cloned().unwrap_or_else(|| string(""));
            let delete = Delete::builder()
                .table_name(&self.table)
                .key(schema::PK, at(schema::PK))
                .key(schema::SK, at(schema::SK))
                .condition_expression("attribute_exists(pk)")
                .build()
                .map_err(incomplete)?;
            let text = |name: &str| item.get(name)?.as_s().ok().map(String::as_str);
            let from = text(schema::PK).unwrap_or_default();
            let to = striped(from, stripe_of(text(id).unwrap_or_default()));
            let mut item = item.clone();
            item.insert(schema::PK.to_owned(), string(to));
            let put = Put::builder()
                .table_name(&self.table)
                .set_item(Some(item))
                .build()
                .map_err(incomplete)?;
            request = request
                .transact_items(TransactWriteItem::builder().delete(delete).build())
                .transact_items(TransactWriteItem::builder().put(put).build());
        }
        match request.send().await {
            Ok(_) => Ok(true),
            Err(error) => match error.as_service_error() {
                Some(TransactWriteItemsError::TransactionCanceledException(_)) => Ok(false),
                _ => Err(store_error(TRANSACT, error)),
            },
        }
    }
}
