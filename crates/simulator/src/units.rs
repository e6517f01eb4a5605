//! Capacity units of tasks, as the embedded DynamoDB reports them (`ReturnConsumedCapacity`).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lifo_queue::process::{Invocation, ProcessSettings, Processor};
use lifo_queue::runner::{Outcome, TaskRunner};
use lifo_queue::store::dynamodb::DynamoStore;
use lifo_queue::store::{Candidate, StoreError, TakeOutcome, TakeRequest, TaskStore};
use lifo_queue::task::{
    Counts, Lease, LeaseToken, NewTask, Retention, Return, Settlement, Task, TaskId, Ttl,
};
use lifo_queue::time::{Clock, Millis, TokioClock};
use serde_json::json;
use uuid::Uuid;

use crate::agents::embedded::Embedded;
use crate::conflicts::{Conflicts, Figures, Latency};
use crate::deployed::PROCESS_TASKS;
use crate::dynamodb::{NotStarted, TABLE};
use crate::topics::Topics;

const NOW: Millis = Millis(1_800_000_000_000);
const DAY: Duration = Duration::from_secs(86_400);

pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Write units per task transition, in the table and in the index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransitionUnits {
    /// The insert of the PENDING task.
    pub create: f64,
    /// PENDING → TAKEN.
    pub take: f64,
    /// TAKEN → PENDING, after a failed attempt or because the downstream is busy.
    pub return_task: f64,
    /// TAKEN → SUCCESS.
    pub settle: f64,
}

/// An embedded task table whose units are counted.
struct Metered {
    store: DynamoStore,
    conflicts: Conflicts,
}

impl Metered {
    fn start() -> Result<Self, NotStarted> {
        let conflicts = Conflicts::new(Latency::default());
        let client = conflicts.client_of(Embedded::start()?.engine());
        Ok(Self {
            store: DynamoStore::new(client, TABLE),
            conflicts,
        })
    }

    fn write_units(&self) -> f64 {
        self.conflicts.take_figures().write_units()
    }
}

fn task(n: usize, payload: usize) -> NewTask {
    NewTask {
        id: TaskId::from_stored(format!("0197a3c4-5b6d-7e8f-9a0b-{n:012}")),
        created: NOW,
        expires_at: NOW.ceil_seconds().plus(DAY),
        not_before: None,
        payload: Some(json!({ "data": "x".repeat(payload) })),
        create_token: Uuid::new_v4(),
        keyed: None,
        trace: None,
    }
}

/// Measures each transition of a task with a payload of this size, in bytes.
pub async fn of_transitions(payload: usize) -> Result<TransitionUnits, Failure> {
    let metered = Metered::start()?;
    let new = task(0, payload);
    metered.store.insert(&new).await?;
    let create = metered.write_units();
    let lease = take(&metered.store, &new.id).await?;
    let take_units = metered.write_units();
    let returned = Return {
        not_before: NOW,
        reason: "HTTP 503 Service Unavailable".to_owned(),
        counts: Counts::Attempt,
        lease_expired: false,
    };
    metered.store.return_task(&lease, &returned, NOW).await?;
    let return_task = metered.write_units();
    let lease = take(&metered.store, &new.id).await?;
    metered.write_units();
    let retention = Retention {
        success: DAY,
        failure: DAY,
    };
    let settlement = Settlement::Success;
    metered
        .store
        .settle(&lease, &settlement, &retention, NOW)
        .await?;
    Ok(TransitionUnits {
        create,
        take: take_units,
        return_task,
        settle: metered.write_units(),
    })
}

async fn take(store: &DynamoStore, id: &TaskId) -> Result<Lease, StoreError> {
    let request = TakeRequest {
        candidate: Candidate {
            id: id.clone(),
            created: NOW,
            ttl: Ttl::Seconds(NOW.ceil_seconds().plus(DAY)),
            not_before: None,
            attempts: 0,
            lease_expired: false,
        },
        token: LeaseToken::fresh(),
        lease_until: NOW.plus(Duration::from_secs(42)),
        taken_ttl: NOW.ceil_seconds().plus(DAY),
        default_deadline: NOW.ceil_seconds().plus(DAY),
        alone: false,
        now: NOW,
    };
    match store.take(&request).await? {
        TakeOutcome::Won(taken) => Ok(taken.lease),
        other => unreachable!("the only task of the table was not taken: {other:?}"),
    }
}

/// Figures for a turn over a backlog, on a virtual clock.
#[derive(Clone, Debug)]
pub struct Turn {
    pub ran: u32,
    pub seconds: f64,
    /// Requests and capacity units by operation.
    pub figures: Figures,
}

struct Sleeps(Duration);

#[async_trait]
impl TaskRunner for Sleeps {
    async fn run(&self, _: &Task) -> Outcome {
        tokio::time::sleep(self.0).await;
        Outcome::Success
    }
}

/// Runs one turn with the default settings and `slots` concurrent tasks, over a backlog that the
/// turn cannot drain.
pub async fn of_a_turn(slots: u16, run: Duration) -> Result<Turn, Failure> {
    let metered = Metered::start()?;
    let settings = ProcessSettings {
        slots,
        ..*PROCESS_TASKS
    };
    let longest = settings.turn.as_secs_f64() + 10.0;
    let backlog = f64::from(slots) * longest / run.as_secs_f64();
    for n in 0..backlog as usize {
        metered.store.insert(&task(n, 100)).await?;
    }
    metered.write_units();
    let clock = TokioClock::starting_at(NOW);
    let processor = Processor::new(
        Arc::new(metered.store),
        Arc::new(Topics::default()),
        Arc::new(Sleeps(run)),
        Arc::new(clock),
        settings,
    );
    let invocation = Invocation {
        message_id: "a turn".to_owned(),
        deadline: None,
    };
    let summary = processor.turn(invocation).await?;
    Ok(Turn {
        ran: summary.succeeded,
        seconds: clock.now().since(NOW).as_secs_f64(),
        figures: metered.conflicts.take_figures(),
    })
}
