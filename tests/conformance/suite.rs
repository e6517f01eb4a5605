//! The stores under test, and helpers that the suites share.

mod queue;
mod table;

use std::sync::Arc;
use std::time::Duration;

use lifo_queue::control::{Carried, Claim, IdleTurns, Pause, Release, Renewal};
use lifo_queue::store::dynamodb::DynamoStore;
use lifo_queue::store::memory::MemoryStore;
use lifo_queue::store::{
    Candidate, Inserted, Order, PageQuery, QueueStore, TakeOutcome, TakeRequest, Written,
};
use lifo_queue::task::{
    Counts, Keyed, Lease, LeaseToken, NewTask, Place, Reclaim, Retention, Return, Settlement,
    StatusKey, TakenTask, TaskId, TaskStatus, Ttl, Version,
};
use lifo_queue::time::{EpochSeconds, Millis};
use lifo_queue::trace::TraceHeader;
use simulator::dynamodb::{TABLE, dispatch};
use simulator::engine::Engine;
use uuid::Uuid;

pub use self::queue::{MARKER, Queue};
pub use self::table::{Table, on_dynamodb};

/// The time at which the suites start.
pub const NOW: Millis = Millis(1_800_000_000_000);

pub const RETENTION: Retention = Retention {
    success: Duration::from_secs(60),
    failure: Duration::from_secs(600),
};

pub fn memory() -> Arc<dyn QueueStore> {
    Arc::new(MemoryStore::new())
}

/// A fresh DynamoDB store.
pub fn dynamodb() -> Arc<dyn QueueStore> {
    Arc::new(DynamoStore::new(database().client(), TABLE))
}

/// A fresh DynamoDB with the task table.
pub fn database() -> Engine {
    let engine = Engine::start().expect("DynamoDB starts");
    let created = engine.create_table(dispatch::task_table(TABLE));
    created.expect("a task table");
    engine
}

/// A task whose creation time is [`NOW`] plus `created` milliseconds, and whose expiry is about an
/// hour after [`NOW`].
pub fn new_task(id: &str, created: i64) -> NewTask {
    NewTask {
        id: TaskId::from_stored(id),
        created: Millis(NOW.0 + created),
        expires_at: NOW.floor_seconds().plus(Duration::from_secs(3600)),
        not_before: None,
        payload: Some(serde_json::json!({"n": created, "deep": [1, -2.5, null, "ü"]})),
        create_token: Uuid::new_v4(),
        keyed: None,
        trace: None,
    }
}

/// A state of a key. Its creation time is [`NOW`] plus `sequence` milliseconds.
pub fn state(key: &str, sequence: u64, place: Place) -> NewTask {
    let created = i64::try_from(sequence).expect("a small number");
    NewTask {
        keyed: Some(Keyed {
            version: Version::by_sequence(sequence),
            place,
            written: NOW,
        }),
        ..new_task(key, created)
    }
}

/// A trace header in which every hex digit is `letter`.
pub fn trace(letter: char) -> TraceHeader {
    let [time, random, parent] = [8, 24, 16].map(|digits| letter.to_string().repeat(digits));
    let header = format!("Root=1-{time}-{random};Parent={parent};Sampled=1");
    header.parse().expect("a hex digit")
}

/// Inserts tasks created one millisecond apart, in this order.
pub async fn insert(store: &dyn QueueStore, ids: &[impl AsRef<str>]) {
    for (created, id) in (0..).zip(ids) {
        let inserted = store
            .insert(&new_task(id.as_ref(), created))
            .await
            .expect("inserted");
        assert_eq!(inserted, Inserted::Created);
    }
}

/// The ids t0000, t0001, and so on.
pub fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("t{n:04}")).collect()
}

pub fn first_page(limit: u16) -> PageQuery {
    PageQuery {
        status: StatusKey::from(TaskStatus::Pending),
        order: Order::NewestFirst,
        created_from: None,
        after: None,
        limit,
        now: NOW,
    }
}

/// The index entry of a task whose `ttl` is 0, in epoch seconds.
pub fn candidate(id: &str) -> Candidate {
    let ttl = Ttl::Seconds(EpochSeconds(0));
    Candidate {
        id: TaskId::from_stored(id),
        created: NOW,
        ttl,
        not_before: None,
        attempts: 0,
        lease_expired: false,
    }
}

/// The index entry of the task at position `created` of the ids passed to [`insert`].
pub fn inserted(id: &str, created: i64) -> Candidate {
    let task = new_task(id, created);
    Candidate {
        created: task.created,
        ttl: Ttl::Seconds(task.expires_at),
        ..candidate(id)
    }
}

/// A sweep's return that makes the task due now, with a high limit on crashes.
pub fn swept_back() -> Reclaim {
    Reclaim::Return {
        not_before: NOW,
        max_crashes: 9,
    }
}

pub fn wish(candidate: Candidate) -> TakeRequest {
    TakeRequest {
        candidate,
        token: LeaseToken::fresh(),
        lease_until: NOW.plus(Duration::from_secs(40)),
        taken_ttl: NOW.floor_seconds().plus(Duration::from_secs(86_400)),
        default_deadline: NOW.floor_seconds().plus(Duration::from_secs(3600)),
        alone: false,
        now: NOW,
    }
}

/// Takes a task now.
pub async fn take(store: &dyn QueueStore, id: &str) -> TakenTask {
    take_by(store, &wish(candidate(id))).await
}

/// Takes a task now to run alone.
pub async fn take_alone(store: &dyn QueueStore, id: &str) -> TakenTask {
    let request = TakeRequest {
        alone: true,
        ..wish(candidate(id))
    };
    take_by(store, &request).await
}

pub async fn take_by(store: &dyn QueueStore, request: &TakeRequest) -> TakenTask {
    match store.take(request).await.expect("a result") {
        TakeOutcome::Won(taken) => *taken,
        outcome => panic!("{} was not taken: {outcome:?}", request.candidate.id),
    }
}

/// Whether taking this task now returns `Lost`.
pub async fn loses_take(store: &dyn QueueStore, id: &str) -> bool {
    let taken = store.take(&wish(candidate(id))).await;
    taken.is_ok_and(|outcome| outcome == TakeOutcome::Lost)
}

/// Settles a task as SUCCESS.
pub async fn settle(store: &dyn QueueStore, lease: &Lease) -> Written {
    let settled = store.settle(lease, &Settlement::Success, &RETENTION, NOW);
    settled.await.expect("a result")
}

/// Settles a task as FAILURE.
pub async fn fail(store: &dyn QueueStore, lease: &Lease) -> Written {
    let failure = Settlement::Failure {
        reason: "broken".to_owned(),
    };
    let settled = store.settle(lease, &failure, &RETENTION, NOW);
    settled.await.expect("a result")
}

/// A return that is due now.
pub fn back(counts: Counts, lease_expired: bool) -> Return {
    Return {
        not_before: NOW,
        counts,
        lease_expired,
        reason: "again".to_owned(),
    }
}

/// The pending tasks that have not expired.
pub async fn pending(store: &dyn QueueStore) -> Vec<Candidate> {
    let page = store.pending_page(&first_page(10)).await;
    page.expect("a page").candidates
}

/// A pause by an operator.
pub fn pause(until: Millis) -> Pause {
    Pause {
        until,
        reason: "maintenance".to_owned(),
        by: None,
    }
}

/// A claim on the processor lease that lasts ten seconds from `now`.
pub fn claim(message_id: &str, now: Millis) -> Claim {
    let until = now.plus(Duration::from_secs(10));
    Claim {
        owner: Uuid::new_v4(),
        message_id: message_id.to_owned(),
        until,
        rate_full_at: None,
    }
}

/// The release at the end of a turn that settled a task.
pub fn release(owner: Uuid, if_requested_is: Option<u64>, idle_turns: IdleTurns) -> Release {
    Release {
        owner,
        if_requested_is,
        idle_turns,
        carried: Carried::default(),
    }
}

pub fn renewal(owner: Uuid, until: Millis) -> Renewal {
    Renewal {
        owner,
        until,
        carried: Carried::default(),
    }
}
