//! The item `#groups`.

use async_trait::async_trait;
use uuid::Uuid;

use super::{StoreError, Written};
use crate::control::{GroupChange, GroupChanged, GroupStates, LearnedGroups};
use crate::task::GroupName;
use crate::time::Millis;

/// The item `#groups`, which only queues with groups have. Each method is one atomic step.
#[async_trait]
pub trait GroupStore: Send + Sync {
    /// Reads the item with strong consistency.
    async fn groups(&self) -> Result<GroupStates, StoreError>;

    /// Applies an operator's change to one group's override. Also deletes overrides that have ended
    /// by `now`. A processor applies the change with its next heartbeat. The caller requests a
    /// wake-up if the group may start more tasks.
    async fn change_group(
        &self,
        group: &GroupName,
        change: &GroupChange,
        now: Millis,
    ) -> Result<GroupChanged, StoreError>;

    /// Replaces the processors' state for `by`, the owner of the processor lease. Returns
    /// [`Written::Lost`] if another processor has written the state since this processor read it
    /// with `seen` as the last writer.
    async fn save_groups(
        &self,
        learned: &LearnedGroups,
        by: Uuid,
        seen: Option<Uuid>,
    ) -> Result<Written, StoreError>;
}
