//! Sequences in which a store once differed from the reference, now on every store.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use lifo_queue::control::{Claim, Pause};
use lifo_queue::store::memory::MemoryStore;
use lifo_queue::store::{Candidate, TakeRequest};
use lifo_queue::task::{LeaseToken, NewTask, TaskId, Ttl};
use lifo_queue::time::{EpochSeconds, Millis};
use reference::hold::replay;
use reference::machine::START;
use reference::operation::{ForeignTask, Operation};
use reference::subject::dynamodb::Table;
use simulator::dynamodb::EmbeddedDynamo;
use tokio::runtime::Builder;
use uuid::Uuid;

/// A time, in seconds after the start of the sequence.
fn at(seconds: u64) -> Millis {
    START.plus(Duration::from_secs(seconds))
}

fn on_every_store(operations: &[Operation]) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let memory = replay(&MemoryStore::new(), operations).await;
        assert_eq!(memory, Ok(()), "in memory");
        let dynamo = EmbeddedDynamo::start().await.unwrap();
        let table = Table::create(&dynamo, "found".to_owned());
        let dynamodb = replay(&table.unwrap(), operations).await;
        assert_eq!(dynamodb, Ok(()), "on DynamoDB");
    });
}

fn acquire(now: Millis) -> Operation {
    let claim = Claim {
        owner: Uuid::from_u128(1),
        message_id: "m1".to_owned(),
        until: now.plus(Duration::from_secs(10)),
        rate_full_at: None,
    };
    Operation::Acquire { claim, now }
}

fn take(ttl: Ttl) -> Operation {
    Operation::Take(TakeRequest {
        candidate: Candidate {
            id: TaskId::from_stored("a"),
            created: START,
            ttl,
            not_before: None,
            attempts: 0,
            lease_expired: false,
        },
        token: LeaseToken(Uuid::from_u128(1)),
        lease_until: at(40),
        taken_ttl: at(86_400).floor_seconds(),
        default_deadline: at(3_600).floor_seconds(),
        alone: false,
        now: START,
    })
}

fn foreign(ttl: Ttl) -> Operation {
    Operation::Foreign(ForeignTask {
        id: TaskId::from_stored("a"),
        created: START,
        ttl,
    })
}

/// The DynamoDB store answered that another process had the claim's own lease. The holder failed as
/// if an earlier attempt of its message had crashed.
#[test]
fn repeated_claim_during_a_pause_reports_the_pause() {
    let pause = Pause {
        until: at(5),
        reason: "maintenance".to_owned(),
        busy: false,
        by: None,
    };
    on_every_store(&[acquire(START), Operation::Pause(pause), acquire(at(1))]);
}

/// The in-memory store cleared the marker before it read the answer.
#[test]
fn claim_returns_the_marker_that_it_clears() {
    let mark = Operation::Mark {
        event: "e1".to_owned(),
        until: at(5),
        now: START,
    };
    on_every_store(&[mark, acquire(at(1)), Operation::Look]);
}

/// The in-memory store let them win.
#[test]
fn take_with_another_kind_of_deadline_is_lost() {
    let seconds = at(3_600).floor_seconds();
    let insert = Operation::Insert(NewTask {
        id: TaskId::from_stored("a"),
        created: START,
        expires_at: seconds,
        not_before: None,
        payload: None,
        create_token: Uuid::from_u128(2),
        keyed: None,
        trace: None,
    });
    on_every_store(&[insert.clone(), take(Ttl::Missing)]);
    on_every_store(&[insert, take(Ttl::Milliseconds(at(3_600)))]);
    on_every_store(&[foreign(Ttl::Missing), take(Ttl::Seconds(EpochSeconds(0)))]);
}

/// The DynamoDB store uses the deadline that the index showed; the in-memory store used the item's.
#[test]
fn take_and_adopt_use_the_millisecond_deadline_of_the_index() {
    let there = foreign(Ttl::Milliseconds(at(3_600)));
    let shown = Ttl::Milliseconds(at(1_800));
    let adopt = Operation::Adopt {
        task: TaskId::from_stored("a"),
        seen: shown,
        ttl: at(1_800).floor_seconds(),
    };
    on_every_store(&[there.clone(), take(shown)]);
    on_every_store(&[there, adopt]);
}

/// The in-memory store rejected such a task whatever the index showed.
#[test]
fn take_rejects_a_non_numeric_deadline_only_if_the_index_shows_it() {
    let malformed = foreign(Ttl::Malformed);
    on_every_store(&[malformed.clone(), take(Ttl::Malformed)]);
    on_every_store(&[malformed, take(Ttl::Seconds(at(3_600).floor_seconds()))]);
}
