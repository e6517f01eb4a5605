//! Changes one group and reports the outcome.

use lifo_queue::control::{
    GroupChange, GroupChanged, GroupPause, GroupStates, MAX_OVERRIDES, OperatorLimit,
};
use lifo_queue::task::GroupName;
use lifo_queue::time::Millis;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::failure::Result;
use crate::overrides::{self, limit_of, pause_of};
use crate::queue::Queue;
use crate::report::Report;

/// Changes the limit or the pause of a group and reports the stored state afterwards.
pub(in crate::verbs) async fn change(
    queue: &Queue,
    group: &GroupName,
    change: GroupChange,
) -> Result<Report> {
    let changed = queue.operator.change_group(group, &change).await?;
    // Report the stored state, because operators and processors act on it.
    let states = queue.store.groups().await?;
    let changed = Changed {
        now: queue.clock.now(),
        group,
        change,
        changed,
        states,
    };
    let exit = match changed.is_in_effect() {
        true => Exit::Done,
        false => Exit::NotAll,
    };
    Ok(Report::new(exit, changed.text(), changed.json()))
}

/// The outcome of a change to one group.
struct Changed<'a> {
    now: Millis,
    group: &'a GroupName,
    change: GroupChange,
    changed: GroupChanged,
    states: GroupStates,
}

impl Changed<'_> {
    fn row(&self) -> (Option<&OperatorLimit>, Option<&GroupPause>) {
        let one = self.states.overrides.get(self.group.as_str());
        (
            one.and_then(|one| limit_of(one, self.now)),
            one.and_then(|one| pause_of(one, self.now)),
        )
    }

    /// Returns whether the change is in effect.
    fn is_in_effect(&self) -> bool {
        let (limit, pause) = self.row();
        self.changed == GroupChanged::Done
            && match &self.change {
                GroupChange::Limit(wanted) => wanted.is_some() == limit.is_some(),
                GroupChange::Pause(wanted) => wanted.is_some() == pause.is_some(),
            }
    }

    fn text(&self) -> String {
        let Self { group, now, .. } = self;
        if self.changed == GroupChanged::TooMany {
            return format!(
                "not changed: {MAX_OVERRIDES} other groups have a limit or a pause; freshq groups shows them, and freshq limit --off --group or freshq resume --group ends one"
            );
        }
        if !self.is_in_effect() {
            return "not changed: another operator changed the group at the same time".to_owned();
        }
        let without = "in a queue without processing.groups this has no effect";
        match (&self.change, self.row()) {
            (GroupChange::Limit(_), (Some(limit), _)) => format!(
                "group {group} is limited to {}\n{without}; freshq limit --off --group {group} ends the limit",
                overrides::limit(limit, *now)
            ),
            (GroupChange::Limit(_), (None, _)) => format!(
                "the limit of group {group} has ended; an active processor applies the limits of the settings with its next heartbeat"
            ),
            (GroupChange::Pause(_), (_, Some(pause))) => format!(
                "group {group} is {}\nrunning tasks finish; {without}; freshq resume --group {group} ends the pause",
                overrides::pause(pause, *now)
            ),
            (GroupChange::Pause(_), (_, None)) => format!("the pause of group {group} has ended"),
        }
    }

    fn json(&self) -> Value {
        let (limit, pause) = self.row();
        json!({
            "group": self.group.as_str(),
            "done": self.is_in_effect(),
            "limit": limit.map(|limit| overrides::limit_json(limit, self.now)),
            "paused": pause.map(|pause| overrides::pause_json(pause, self.now)),
        })
    }
}
