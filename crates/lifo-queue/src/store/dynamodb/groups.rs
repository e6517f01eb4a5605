//! The item `#groups` on DynamoDB.

use std::collections::BTreeMap;

use async_trait::async_trait;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use uuid::Uuid;

use super::item::{self, number, string};
use super::{CONTENDERS, DynamoStore, Updated, contended, send};
use crate::control::{GroupChange, GroupChanged, GroupOverride, GroupStates, LearnedGroups};
use crate::schema;
use crate::store::{GroupStore, StoreError, Written};
use crate::task::GroupName;
use crate::time::Millis;

#[async_trait]
impl GroupStore for DynamoStore {
    async fn groups(&self) -> Result<GroupStates, StoreError> {
        item::groups(&self.item(schema::GROUPS_ITEM).await?)
    }

    /// Uses compare-and-set on the number of changes, because other operators may write
    /// concurrently.
    async fn change_group(
        &self,
        group: &GroupName,
        change: &GroupChange,
        now: Millis,
    ) -> Result<GroupChanged, StoreError> {
        let mut there = self.groups().await?;
        for _ in 0..CONTENDERS {
            let Some(overrides) = there.changed(group, change, now) else {
                return Ok(GroupChanged::TooMany);
            };
            // Also true if this change was already applied but its acknowledgement was lost.
            if overrides == there.overrides {
                return Ok(GroupChanged::Done);
            }
            match send(self.overrides_update(&overrides, there.changes)?).await? {
                Updated::Done(_) => return Ok(GroupChanged::Done),
                Updated::Rejected(item) => there = item::groups(&item)?,
            }
        }
        Err(contended(schema::GROUPS_ITEM))
    }

    async fn save_groups(
        &self,
        learned: &LearnedGroups,
        by: Uuid,
        seen: Option<Uuid>,
    ) -> Result<Written, StoreError> {
        let unchanged = match seen {
            Some(_) => "learnedBy = :seen",
            None => "attribute_not_exists(learnedBy)",
        };
        let mut update = self
            .update(schema::GROUPS_ITEM)
            .update_expression("SET learned = :learned, learnedBy = :by")
            .condition_expression(format!("{unchanged} OR learnedBy = :by"))
            .expression_attribute_values(":learned", item::map("UpdateItem", learned)?)
            .expression_attribute_values(":by", string(by));
        if let Some(seen) = seen {
            update = update.expression_attribute_values(":seen", string(seen));
        }
        Ok(match send(update).await? {
            Updated::Done(_) => Written::Done,
            Updated::Rejected(_) => Written::Lost,
        })
    }
}

impl DynamoStore {
    fn overrides_update(
        &self,
        overrides: &BTreeMap<String, GroupOverride>,
        changes: u64,
    ) -> Result<UpdateItemFluentBuilder, StoreError> {
        let overrides = item::map("UpdateItem", overrides)?;
        let update = self
            .update(schema::GROUPS_ITEM)
            .update_expression("SET overrides = :overrides, changes = :next")
            .expression_attribute_values(":overrides", overrides)
            .expression_attribute_values(":next", number(changes + 1));
        Ok(match changes {
            0 => update.condition_expression("attribute_not_exists(changes)"),
            _ => update
                .condition_expression("changes = :changes")
                .expression_attribute_values(":changes", number(changes)),
        })
    }
}
