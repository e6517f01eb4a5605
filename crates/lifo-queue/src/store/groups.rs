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
    /// Reads the item, strongly consistent.
    async fn groups(&self) -> Result<GroupStates, StoreError>;

    /// An operator's change of the override of one group. Also deletes overrides that have ended by
    /// `now`. A processor applies it with its next heartbeat. The caller requests a wake-up if the
    /// group may start more tasks.
    async fn change_group(
        &self,
        group: &GroupName,
        change: &GroupChange,
        now: Millis,
    ) -> Result<GroupChanged, StoreError>;

    /// Replaces the processors' state, as the owner `by` of the processor lease. It is
    /// [`Written::Lost`] if another processor wrote it since: after `seen`, the last writer when
    /// this processor read the item.
    async fn learn_groups(
        &self,
        learned: &LearnedGroups,
        by: Uuid,
        seen: Option<Uuid>,
    ) -> Result<Written, StoreError>;
}
