//! The two updates of a turn for each task, at the same concurrency, without the loop. They show
//! the cost of a lease compared with a bare change of status.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt};
use lifo_queue::store::dynamodb::DynamoStore;
use lifo_queue::store::{Candidate, QueueStore, TakeOutcome, TakeRequest, Written};
use lifo_queue::task::{LeaseToken, Retention, Settlement, TaskId, Ttl};
use lifo_queue::time::{Clock, EpochSeconds, SystemClock};
use simulator::dynamodb::{TABLE, client};

use crate::process::{Figures, peak_memory_kib};
use crate::{Arguments, Error, turn};

const DAY: Duration = Duration::from_secs(86_400);

pub(crate) fn measure(arguments: &Arguments, address: &str) -> Result<Figures, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(updates(arguments, address))
}

async fn updates(arguments: &Arguments, address: &str) -> Result<Figures, Error> {
    let store: Arc<dyn QueueStore> = Arc::new(DynamoStore::new(client(address.parse()?), TABLE));
    turn::insert_all(&store, arguments.tasks).await?;
    let started = Instant::now();
    let tasks = (0..arguments.tasks).map(|n| take_and_settle(&store, n));
    let at_once = usize::from(arguments.slots);
    futures::stream::iter(tasks)
        .buffer_unordered(at_once)
        .try_collect::<Vec<_>>()
        .await?;
    Ok(Figures {
        seconds: started.elapsed().as_secs_f64(),
        calls: BTreeMap::from([("update".to_owned(), 2 * arguments.tasks)]),
        peak_memory_kib: peak_memory_kib(),
    })
}

async fn take_and_settle(store: &Arc<dyn QueueStore>, n: u32) -> Result<(), Error> {
    let now = SystemClock.now();
    let request = TakeRequest {
        candidate: Candidate {
            id: TaskId::from_stored(turn::task_id(n)),
            created: now,
            ttl: Ttl::Seconds(EpochSeconds(0)),
            not_before: None,
            attempts: 0,
            lease_ran_out: false,
        },
        token: LeaseToken::fresh(),
        lease_until: now.plus(Duration::from_secs(42)),
        taken_ttl: now.ceil_seconds().plus(DAY),
        default_deadline: now.ceil_seconds().plus(DAY),
        alone: false,
        now,
    };
    let TakeOutcome::Won(taken) = store.take(&request).await? else {
        return Err("a task was not taken".into());
    };
    let retention = Retention {
        success: DAY,
        failure: DAY,
    };
    match store
        .settle(&taken.lease, &Settlement::Success, &retention, now)
        .await?
    {
        Written::Done => Ok(()),
        Written::Overtaken | Written::Lost => Err("a task was not settled".into()),
    }
}
