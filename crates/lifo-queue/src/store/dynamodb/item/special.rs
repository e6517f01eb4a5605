//! Reads the items that are not tasks: control, admission and groups.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::{Item, count, integer, text, undecodable};
use crate::control::{
    Author, BreakerByHand, BreakerHold, Control, GroupStates, OpenBreaker, ProcessorLease,
    RedrivenTasks,
};
use crate::schema;
use crate::store::{Meter, StoreError};
use crate::time::{EpochSeconds, Millis};

/// Reads the control item. A missing count is 0, and any other missing attribute is `None`.
pub fn control(item: &Item) -> Control {
    Control {
        requested: counter(item, schema::REQUESTED),
        lease: processor_lease(item),
        paused_until: integer(item, schema::PAUSED_UNTIL).map(Millis),
        pause_reason: text(item, schema::PAUSE_REASON).map(str::to_owned),
        paused_by: author(item),
        notified_until: integer(item, schema::NOTIFIED_UNTIL).map(Millis),
        notified_by: text(item, schema::NOTIFIED_BY).map(str::to_owned),
        idle_turns: idle_turns(item),
        rate_full_at: integer(item, schema::RATE_FULL_AT).map(Millis),
        redriven: redriven(item),
        breaker: breaker(item),
        health: map_of(item, schema::HEALTH),
        breaker_by_hand: breaker_by_hand(item),
        limits: map_of(item, schema::LIMITS),
        overloaded_since: integer(item, schema::OVERLOADED_SINCE).map(Millis),
        observed: map_of(item, schema::OBSERVED),
    }
}

/// Reads the admission meter. A missing total is 0.
pub(in super::super) fn meter(item: &Item) -> Meter {
    Meter {
        received: counter(item, schema::RECEIVED),
        admitted: counter(item, schema::ADMITTED),
        mark: map_of(item, schema::MARK),
    }
}

/// Reads the groups item.
///
/// # Errors
/// If the overrides can't be read, because changing one of them would delete the others.
pub fn groups(item: &Item) -> Result<GroupStates, StoreError> {
    let overrides = match item.get(schema::OVERRIDES) {
        None => Ok(BTreeMap::new()),
        Some(map) => serde_dynamo::from_attribute_value(map.clone()),
    };
    Ok(GroupStates {
        overrides: overrides
            .map_err(|_: serde_dynamo::Error| undecodable(item, "GetItem", schema::OVERRIDES))?,
        changes: counter(item, schema::CHANGES),
        learned: map_of(item, schema::LEARNED),
        learned_by: text(item, schema::LEARNED_BY).and_then(|owner| Uuid::parse_str(owner).ok()),
    })
}

/// The author of the pause.
fn author(item: &Item) -> Option<Author> {
    Some(Author {
        name: text(item, schema::PAUSED_BY)?.to_owned(),
        at: Millis(integer(item, schema::PAUSED_AT)?),
    })
}

/// The content of a map attribute; empty if another version wrote it in an unknown format.
fn map_of<T: Default + DeserializeOwned>(item: &Item, attribute: &str) -> T {
    let map = item.get(attribute).cloned();
    map.and_then(|map| serde_dynamo::from_attribute_value(map).ok())
        .unwrap_or_default()
}

/// The circuit breaker, while it is open.
fn breaker(item: &Item) -> Option<OpenBreaker> {
    Some(OpenBreaker {
        since: Millis(integer(item, schema::BREAKER_SINCE)?),
        probes: count(item, schema::BREAKER_PROBES).unwrap_or(0),
    })
}

/// The operators' circuit breaker commands.
fn breaker_by_hand(item: &Item) -> BreakerByHand {
    let until = integer(item, schema::BREAKER_HELD_UNTIL).map(Millis);
    BreakerByHand {
        commands: counter(item, schema::BREAKER_COMMANDS),
        hold: until.map(|until| BreakerHold {
            until,
            reason: text(item, schema::BREAKER_REASON)
                .unwrap_or_default()
                .to_owned(),
        }),
    }
}

/// Age and expiry of the redriven tasks, from the control item.
pub(in super::super) fn redriven(item: &Item) -> Option<RedrivenTasks> {
    Some(RedrivenTasks {
        oldest: Millis(integer(item, schema::OLDEST_REDRIVEN)?),
        until: EpochSeconds(integer(item, schema::REDRIVEN_UNTIL)?),
    })
}

/// A count that only grows; 0 if it is missing.
fn counter(item: &Item, attribute: &str) -> u64 {
    integer(item, attribute)
        .and_then(|value| u64::try_from(value).ok())
        .unwrap_or(0)
}

/// Number of consecutive turns that settled no task.
pub(in super::super) fn idle_turns(item: &Item) -> u32 {
    count(item, schema::IDLE_TURNS).unwrap_or(0)
}

/// The processor lease, live or expired.
fn processor_lease(item: &Item) -> Option<ProcessorLease> {
    Some(ProcessorLease {
        owner: Uuid::parse_str(text(item, schema::OWNER)?).ok()?,
        message_id: text(item, schema::MESSAGE_ID)
            .unwrap_or_default()
            .to_owned(),
        until: Millis(integer(item, schema::LEASE_UNTIL)?),
    })
}
