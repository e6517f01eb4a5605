//! An ingest with queues that record their messages and can fail.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use conformance::NOW;
use lifo_queue::backoff::Backoff;
use lifo_queue::create::CreateSettings;
use lifo_queue::ingest::{
    DeadLetter, Deadlines, Delivery, Ingest, IngestQueue, IngestReport, IngestSettings, Postponed,
};
use lifo_queue::shed::{HandOverError, NotHandedOver, ShedCounter, ShedSink, ShedTask};
use lifo_queue::store::{QueueStore, Source, TaskStore};
use lifo_queue::time::{Clock, Millis};
use tokio::time::Instant;

pub(crate) const SETTINGS: IngestSettings = IngestSettings {
    create: CreateSettings {
        default_ttl: Duration::from_secs(3_600),
        max_ttl: Duration::from_secs(7_200),
        key_ttl: lifo_queue::create::LONGEST_TTL,
        place: lifo_queue::task::Place::Moves,
        groups: false,
    },
    parallel: 8,
    visibility: Backoff {
        base: Duration::from_secs(4),
        max: Duration::from_secs(64),
    },
    admission: None,
};

pub(crate) struct Still;

impl Clock for Still {
    fn now(&self) -> Millis {
        NOW
    }
}

/// The ingest queue, its dead-letter queue, and the shed queue.
#[derive(Default)]
pub(crate) struct Queues {
    pub(crate) letters: Mutex<BTreeMap<String, Vec<DeadLetter>>>,
    pub(crate) postponed: Mutex<Vec<Postponed>>,
    pub(crate) shed: Mutex<Vec<String>>,
    pub(crate) rejects: Mutex<BTreeSet<String>>,
    pub(crate) keeps_out: Mutex<BTreeSet<String>>,
    /// Duration of a write to the dead-letter queue.
    pub(crate) slow: Mutex<Duration>,
    /// Visible messages, in the order in which SQS delivers them.
    pub(crate) visible: Mutex<VecDeque<Delivery>>,
    /// The requests of the ingest and its counts, in order.
    pub(crate) steps: Mutex<Vec<Step>>,
    /// Whether deletions fail.
    pub(crate) keeps: Mutex<bool>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// A receive request, with the time for which it hides the messages.
    Receive(Duration),
    Count {
        messages: usize,
        created: u64,
    },
    /// A deletion of these receipts.
    Delete(Vec<String>),
}

#[async_trait]
impl IngestQueue for Queues {
    async fn bury(&self, letters: &[DeadLetter]) -> Vec<Result<(), Source>> {
        let slow = *self.slow.lock().unwrap();
        if !letters.is_empty() {
            tokio::time::sleep(slow).await;
        }
        let rejects = self.rejects.lock().unwrap();
        let mut kept = self.letters.lock().unwrap();
        let bury = |letter: &DeadLetter| {
            if rejects.contains(&letter.message_id) {
                return Err("rejected".into());
            }
            let of_message = kept.entry(letter.message_id.clone()).or_default();
            of_message.push(letter.clone());
            Ok(())
        };
        letters.iter().map(bury).collect()
    }

    async fn postpone(&self, messages: &[Postponed]) -> Vec<Source> {
        self.postponed.lock().unwrap().extend_from_slice(messages);
        vec![]
    }

    async fn receive(&self, hidden: Duration) -> Result<Vec<Delivery>, Source> {
        self.steps.lock().unwrap().push(Step::Receive(hidden));
        tokio::time::sleep(Duration::from_millis(20)).await;
        let mut visible = self.visible.lock().unwrap();
        let most = visible.len().min(10);
        Ok(visible.drain(..most).collect())
    }

    async fn delete(&self, receipts: &[String]) -> Vec<Source> {
        let step = Step::Delete(receipts.to_vec());
        self.steps.lock().unwrap().push(step);
        match *self.keeps.lock().unwrap() {
            true => receipts.iter().map(|_| "rejected".into()).collect(),
            false => vec![],
        }
    }
}

pub(crate) struct Sink(pub(crate) Arc<Queues>);

#[async_trait]
impl ShedSink for Sink {
    async fn hand_over(&self, tasks: &[ShedTask]) -> Vec<NotHandedOver> {
        let keeps_out = self.0.keeps_out.lock().unwrap();
        let mut shed = self.0.shed.lock().unwrap();
        for (index, task) in tasks.iter().enumerate() {
            let id = task.task_id.as_ref().unwrap().to_string();
            if keeps_out.contains(&id) {
                let rejected = |index| NotHandedOver {
                    index,
                    error: HandOverError::NotTried,
                };
                return (index..tasks.len()).map(rejected).collect();
            }
            shed.push(id);
        }
        vec![]
    }
}

pub(crate) fn ingest(store: Arc<dyn QueueStore>, queues: &Arc<Queues>) -> Ingest {
    let store: Arc<dyn TaskStore> = store;
    let shed = ShedCounter::new(Some(Arc::new(Sink(queues.clone()))));
    Ingest::new(store, queues.clone(), shed, Arc::new(Still), SETTINGS)
}

/// Processes a batch with ten seconds for the writes and two more for the report.
pub(crate) async fn work(ingest: &Ingest, batch: &[Delivery]) -> IngestReport {
    ingest.work(batch, deadlines()).await
}

pub(crate) fn deadlines() -> Deadlines {
    let now = Instant::now();
    Deadlines {
        writes: now + Duration::from_secs(10),
        report: now + Duration::from_secs(12),
    }
}

/// A message that was sent a minute ago and received immediately.
pub(crate) fn message(id: &str, body: impl ToString) -> Delivery {
    Delivery {
        id: id.to_owned(),
        receipt: format!("receipt of {id}"),
        group: None,
        body: body.to_string(),
        sent: NOW.minus(Duration::from_secs(60)),
        first_received: NOW.minus(Duration::from_secs(60)),
        receives: 1,
    }
}
