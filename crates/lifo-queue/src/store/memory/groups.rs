//! The in-memory item `#groups`.

use async_trait::async_trait;
use uuid::Uuid;

use super::MemoryStore;
use crate::control::{GroupChange, GroupChanged, GroupStates, LearnedGroups};
use crate::store::{GroupStore, StoreError, Written};
use crate::task::GroupName;
use crate::time::Millis;

#[async_trait]
impl GroupStore for MemoryStore {
    async fn groups(&self) -> Result<GroupStates, StoreError> {
        Ok(self.lock().groups.clone())
    }

    async fn change_group(
        &self,
        group: &GroupName,
        change: &GroupChange,
        now: Millis,
    ) -> Result<GroupChanged, StoreError> {
        let groups = &mut self.lock().groups;
        let Some(overrides) = groups.changed(group, change, now) else {
            return Ok(GroupChanged::TooMany);
        };
        groups.changes += u64::from(overrides != groups.overrides);
        groups.overrides = overrides;
        Ok(GroupChanged::Done)
    }

    async fn save_groups(
        &self,
        learned: &LearnedGroups,
        by: Uuid,
        seen: Option<Uuid>,
    ) -> Result<Written, StoreError> {
        let groups = &mut self.lock().groups;
        if groups.learned_by != seen && groups.learned_by != Some(by) {
            return Ok(Written::Lost);
        }
        groups.learned = learned.clone();
        groups.learned_by = Some(by);
        Ok(Written::Done)
    }
}
