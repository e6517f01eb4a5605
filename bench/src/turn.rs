//! One turn over a backlog, with a runner that takes no time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt};
use lifo_queue::process::{Exit, Invocation, ProcessSettings, Processor};
use lifo_queue::runner::{Outcome, TaskRunner};
use lifo_queue::store::QueueStore;
use lifo_queue::store::dynamodb::DynamoStore;
use lifo_queue::task::{NewTask, Retention, Task, TaskId};
use lifo_queue::time::{Clock, SystemClock};
use simulator::dynamodb::{TABLE, client};
use simulator::faulty::FaultyStore;
use simulator::sync::lock;
use simulator::topics::Topics;
use uuid::Uuid;

use crate::process::{Figures, peak_memory_kib};
use crate::{Arguments, Error};

struct Costless;

#[async_trait]
impl TaskRunner for Costless {
    async fn run(&self, _task: &Task) -> Outcome {
        Outcome::Success
    }
}

/// Number of store calls by kind, and the time of the last settlement.
#[derive(Default)]
struct Counted {
    calls: BTreeMap<String, u32>,
    last_settle: Option<Instant>,
}

pub(crate) fn measure(arguments: &Arguments, address: &str) -> Result<Figures, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(turn(arguments, address))
}

async fn turn(arguments: &Arguments, address: &str) -> Result<Figures, Error> {
    let store: Arc<dyn QueueStore> = Arc::new(DynamoStore::new(client(address.parse()?), TABLE));
    insert_all(&store, arguments.tasks).await?;

    let counted = Arc::new(Mutex::new(Counted::default()));
    let counting = FaultyStore::new(store, {
        let counted = counted.clone();
        move |operation| {
            let mut counted = lock(&counted);
            *counted.calls.entry(operation.to_owned()).or_default() += 1;
            if operation == "settle" {
                counted.last_settle = Some(Instant::now());
            }
            None
        }
    });
    let processor = Processor::new(
        Arc::new(counting),
        Arc::new(Topics::default()),
        Arc::new(Costless),
        Arc::new(SystemClock),
        settings(arguments.slots),
    );
    let started = Instant::now();
    let invocation = Invocation {
        message_id: "bench".to_owned(),
        deadline: None,
    };
    let summary = processor.turn(invocation).await?;
    if summary.succeeded != arguments.tasks || summary.exit != Exit::Empty {
        return Err(format!("the turn did not drain the queue: {summary:?}").into());
    }
    let counted = std::mem::take(&mut *lock(&counted));
    let last = counted.last_settle.ok_or("nothing was settled")?;
    Ok(Figures {
        seconds: last.duration_since(started).as_secs_f64(),
        calls: counted.calls,
        peak_memory_kib: peak_memory_kib(),
    })
}

pub(crate) async fn insert_all(store: &Arc<dyn QueueStore>, tasks: u32) -> Result<(), Error> {
    let inserts = (0..tasks).map(|n| insert(store, n));
    futures::stream::iter(inserts)
        .buffer_unordered(16)
        .try_collect::<Vec<_>>()
        .await?;
    Ok(())
}

/// Returns the id of the backlog's n-th task.
pub(crate) fn task_id(n: u32) -> String {
    format!("task-{n:06}")
}

async fn insert(store: &Arc<dyn QueueStore>, n: u32) -> Result<(), Error> {
    let now = SystemClock.now();
    let task = NewTask {
        id: TaskId::from_stored(task_id(n)),
        created: now,
        expires_at: now.ceil_seconds().plus(Duration::from_secs(3600)),
        not_before: None,
        payload: Some(serde_json::json!({"device": format!("d-{n}"), "reading": [n, 2, 3]})),
        create_token: Uuid::new_v4(),
        keyed: None,
        trace: None,
    };
    store.insert(&task).await?;
    Ok(())
}

/// Returns the defaults of `infra/`, but with a longer turn and a shorter wait on an empty queue.
/// That wait is not timed.
pub(crate) fn settings(slots: u16) -> ProcessSettings {
    ProcessSettings {
        turn: Duration::from_secs(600),
        slots,
        index_lag: Duration::from_millis(200),
        retention: Retention {
            success: Duration::from_secs(86_400),
            failure: Duration::from_secs(86_400),
        },
        ..*simulator::deployed::PROCESS_TASKS
    }
}
