//! Measures the cost of a read of a queue, by the depth of the queue.

use std::collections::BTreeMap;
use std::time::Instant;

use agent_queue::agent::Ticket;
use agent_queue::criteria::QueueName;
use agent_queue::dimension::{Dimensions, MAX_TRANSACTION};
use agent_queue::name::AgentId;
use agent_queue::queue::Settings;
use agent_queue::store::dynamodb::DynamoStore;
use agent_queue::store::{AgentStore, Committed, Order};
use agent_queue::time::{Clock, SystemClock};
use agent_queue::transaction::{Change, QueueEntry, Step};
use serde_json::json;
use simulator::conflicts::{Conflicts, Latency};
use simulator::dynamodb::{AGENT_TABLE, client, create_agent_table};

use crate::Error;
use crate::table::median;

const DEPTHS: [usize; 4] = [10, 100, 1_000, 10_000];

const LOOKS: usize = 21;

pub(super) struct Looked {
    pub(super) depth: usize,
    pub(super) cost: Cost,
}

#[derive(Clone, Copy)]
pub(super) struct Cost {
    pub(super) units: f64,
    /// The median of the time in milliseconds, without added latency.
    pub(super) millis: f64,
}

pub(super) async fn measure(address: &str) -> Result<Vec<Looked>, Error> {
    let address = address.parse()?;
    let plain = client(address);
    create_agent_table(&plain, AGENT_TABLE).await?;
    let conflicts = Conflicts::new(Latency::default());
    let client = conflicts.client(address);
    let store = DynamoStore::new(client, AGENT_TABLE, Dimensions::default());
    let page = Settings::default().page;
    let mut looked = vec![];
    for depth in DEPTHS {
        let queue = fill(&store, depth).await?;
        drop(conflicts.take_figures());
        let cost = cost(&conflicts, async || {
            let first = store.peek(&queue, Order::Fifo, page).await?;
            found(first.len(), usize::from(page))
        });
        looked.push(Looked {
            depth,
            cost: cost.await?,
        });
    }
    Ok(looked)
}

async fn cost(
    conflicts: &Conflicts,
    look: impl AsyncFn() -> Result<(), Error>,
) -> Result<Cost, Error> {
    let mut millis = vec![];
    for _ in 0..LOOKS {
        let started = Instant::now();
        look().await?;
        millis.push(started.elapsed().as_secs_f64() * 1_000.0);
    }
    Ok(Cost {
        units: conflicts.take_figures().read_units() / LOOKS as f64,
        millis: median(millis.into_iter()),
    })
}

fn found(entries: usize, wanted: usize) -> Result<(), Error> {
    if entries == wanted {
        Ok(())
    } else {
        Err(format!("a read found {entries} entries instead of {wanted}").into())
    }
}

async fn fill(store: &DynamoStore, depth: usize) -> Result<QueueName, Error> {
    let criteria = Dimensions::default().criteria(&BTreeMap::from([
        ("language".to_owned(), json!(format!("depth-{depth}"))),
        ("gender".to_owned(), json!("F")),
    ]))?;
    let queue = criteria.exact().ok_or("no queue of its own")?;
    let names: Vec<_> = (0..depth).map(|n| format!("agent-{n:05}")).collect();
    for names in names.chunks(MAX_TRANSACTION) {
        let join = |name: &String| {
            Ok::<_, Error>(Step::Join(QueueEntry {
                queue: queue.clone(),
                at: SystemClock.now(),
                agent: AgentId::new(name.as_str())?,
                agent_name: name.clone(),
                ticket: Ticket::fresh(),
                queues: vec![queue.clone()],
            }))
        };
        let steps = names.iter().map(join).collect::<Result<_, _>>()?;
        if store.commit(&Change::of(steps)).await? != Committed::Done {
            return Err("a queue was not filled".into());
        }
    }
    Ok(queue)
}
