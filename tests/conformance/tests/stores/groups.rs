//! The group item: operators' overrides and the processors' state.

use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

use conformance::*;
use futures::future::join_all;
use lifo_queue::control::{
    Author, Cause, GroupChange, GroupChanged, GroupOverride, GroupPause, GroupStates, Health,
    LearnedGroup, LearnedGroups, MAX_OVERRIDES, OpenBreaker, OperatorLimit, OperatorRate,
};
use lifo_queue::store::{QueueStore, Written};
use lifo_queue::task::GroupName;
use lifo_queue::time::Millis;
use uuid::Uuid;

on_every_store! {
    operator_limits_and_pauses_single_groups,
    override_of_one_group_too_many_is_rejected,
    overrides_of_concurrent_operators_are_all_kept,
    only_one_processor_after_another_writes_what_it_learned,
}

const MINUTE: Duration = Duration::from_secs(60);

fn author() -> Author {
    Author {
        name: "user/ana".to_owned(),
        at: NOW,
    }
}

fn limit() -> OperatorLimit {
    OperatorLimit {
        concurrency: NonZeroU16::new(2),
        rate: Some(OperatorRate {
            interval: Duration::from_secs(1) / 3,
        }),
        until: NOW.plus(2 * MINUTE),
        reason: "migration".to_owned(),
        by: author(),
    }
}

fn pause(until: Millis) -> GroupPause {
    GroupPause {
        until,
        reason: "their host is down".to_owned(),
        by: author(),
    }
}

fn name(name: impl ToString) -> GroupName {
    GroupName::new(name.to_string()).unwrap()
}

async fn change(store: &dyn QueueStore, group: &str, change: GroupChange, now: Millis) {
    let changed = store.change_group(&name(group), &change, now).await;
    assert_eq!(changed.unwrap(), GroupChanged::Done);
}

async fn operator_limits_and_pauses_single_groups(store: Arc<dyn QueueStore>) {
    let store = &*store;
    assert_eq!(store.groups().await.unwrap(), GroupStates::default());
    let paused = pause(NOW.plus(MINUTE));
    change(store, "ä\"b", GroupChange::Limit(Some(limit())), NOW).await;
    change(store, "ä\"b", GroupChange::Pause(Some(paused.clone())), NOW).await;
    change(store, "acme", GroupChange::Pause(Some(paused.clone())), NOW).await;
    let there = store.groups().await.unwrap();
    let both = GroupOverride {
        limit: Some(limit()),
        pause: Some(paused.clone()),
    };
    assert_eq!(there.overrides["ä\"b"], both);
    assert_eq!(there.closed_until("acme", NOW), Some(paused.until));
    assert_eq!((there.overrides.len(), there.changes), (2, 3));
    // Repeating the change has no effect.
    change(store, "acme", GroupChange::Pause(Some(paused.clone())), NOW).await;
    assert_eq!(store.groups().await.unwrap(), there);
    // A change to one part leaves the other unchanged. Overrides that have ended are deleted.
    change(store, "acme", GroupChange::Limit(None), paused.until).await;
    let there = store.groups().await.unwrap();
    let left = GroupOverride {
        limit: Some(limit()),
        pause: None,
    };
    assert_eq!(Vec::from_iter(there.overrides), [("ä\"b".to_owned(), left)]);
    change(store, "ä\"b", GroupChange::Limit(None), NOW).await;
    assert!(store.groups().await.unwrap().overrides.is_empty());
    assert_eq!(store.control().await.unwrap(), Default::default());
}

async fn override_of_one_group_too_many_is_rejected(store: Arc<dyn QueueStore>) {
    let paused = GroupChange::Pause(Some(pause(NOW.plus(MINUTE))));
    for number in 0..MAX_OVERRIDES {
        change(&*store, &format!("g{number}"), paused.clone(), NOW).await;
    }
    let one_more = store.change_group(&name("more"), &paused, NOW).await;
    assert_eq!(one_more.unwrap(), GroupChanged::TooMany);
    change(&*store, "g7", GroupChange::Limit(Some(limit())), NOW).await;
    change(&*store, "g8", GroupChange::Pause(None), NOW).await;
    change(&*store, "more", paused, NOW).await;
    let there = store.groups().await.unwrap();
    assert_eq!(there.overrides.len(), MAX_OVERRIDES);
}

async fn overrides_of_concurrent_operators_are_all_kept(store: Arc<dyn QueueStore>) {
    let changes = (0..8).map(|number| {
        let store = store.clone();
        async move {
            let paused = GroupChange::Pause(Some(pause(NOW.plus(MINUTE))));
            let group = name(format!("g{number}"));
            store.change_group(&group, &paused, NOW).await.unwrap()
        }
    });
    let all = join_all(changes).await;
    assert!(all.iter().all(|changed| *changed == GroupChanged::Done));
    let there = store.groups().await.unwrap();
    assert_eq!((there.overrides.len(), there.changes), (8, 8));
}

async fn only_one_processor_after_another_writes_what_it_learned(store: Arc<dyn QueueStore>) {
    let learned = |name: &str| LearnedGroups {
        groups: vec![LearnedGroup {
            name: name.to_owned(),
            rate_full_at: Some(NOW),
            next_start: None,
            asked_until: Some(NOW),
            breaker: Some(OpenBreaker {
                since: NOW,
                probes: 3,
            }),
            health: Health {
                without_result: 7,
                cause: Some(Cause::Rejecting),
                next_probe: Some(NOW),
                ..Health::default()
            },
            leases: vec![NOW, NOW.plus(MINUTE)],
        }],
        empty_at: Some(NOW.plus(MINUTE)),
        count_at: Some(NOW),
    };
    let learn = async |name: &str, by: Uuid, seen| {
        let learned = learned(name);
        store.save_groups(&learned, by, seen).await.unwrap()
    };
    let [first, second, third] = [1, 2, 3].map(Uuid::from_u128);
    assert_eq!(learn("a", first, None).await, Written::Done);
    // The same processor can write again, for example after a lost acknowledgement.
    assert_eq!(learn("", first, None).await, Written::Done);
    assert_eq!(learn("b", second, None).await, Written::Lost);
    assert_eq!(learn("b", second, Some(first)).await, Written::Done);
    // A late write of the first processor.
    assert_eq!(learn("c", first, None).await, Written::Lost);
    assert_eq!(learn("c", third, Some(first)).await, Written::Lost);
    let paused = GroupChange::Pause(Some(pause(NOW.plus(MINUTE))));
    change(&*store, "acme", paused, NOW).await;
    let there = store.groups().await.unwrap();
    assert_eq!(
        (&there.learned, there.learned_by),
        (&learned("b"), Some(second))
    );
    assert_eq!(there.overrides.len(), 1);
    let nothing = LearnedGroups::default();
    let written = store.save_groups(&nothing, third, Some(second)).await;
    assert_eq!(written.unwrap(), Written::Done);
    assert_eq!(store.groups().await.unwrap().learned, nothing);
}
