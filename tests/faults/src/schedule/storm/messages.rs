//! The messages of a storm, and the queues through which they pass.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use fastrand::Rng;
use lifo_queue::ingest::{DeadLetter, Delivery, IngestQueue, IngestReport, Postponed};
use lifo_queue::shed::{HandOverError, NotHandedOver, ShedSink, ShedTask};
use lifo_queue::store::Source;
use lifo_queue::time::Millis;
use simulator::sync::lock;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Time until SQS redelivers a message of a crashed process. It is longer than a batch can take.
pub(super) const VISIBILITY: Duration = Duration::from_secs(40);
/// Time until a failed message becomes visible again.
const SOON: Duration = Duration::from_millis(500);
const BATCH: usize = 10;

/// A queue message with one to three tasks, and possibly an invalid element.
#[derive(Clone, Debug)]
pub(super) struct Message {
    delivery: Delivery,
    visible: Millis,
}

#[derive(Default)]
pub(super) struct State {
    messages: Vec<Message>,
    /// Ids of all tasks in messages that were sent.
    pub(super) sent: BTreeSet<String>,
    pub(super) created: BTreeSet<String>,
    pub(super) shed: BTreeSet<String>,
    /// Tasks whose process died, or whose deletion failed, after they were counted.
    recounted: BTreeSet<String>,
    /// Ids of messages whose invalid element is not in the dead-letter queue yet.
    invalid: BTreeSet<String>,
    pub(super) sends: bool,
    broken: Option<String>,
}

impl State {
    pub(super) fn send(&mut self, id: String, tasks: usize, invalid: bool, now: Millis) {
        let ids = (0..tasks).map(|index| format!("{id}#{index}"));
        self.sent.extend(ids);
        let mut elements = vec!["{}"; tasks];
        if invalid {
            elements.push("5");
            self.invalid.insert(id.clone());
        }
        let delivery = Delivery {
            receipt: id.clone(),
            group: None,
            body: format!("[{}]", elements.join(",")),
            sent: now,
            first_received: now,
            receives: 0,
            id,
        };
        let visible = now;
        self.messages.push(Message { delivery, visible });
    }

    /// Whether the queue is empty and no more messages are sent.
    pub(super) fn is_done(&self) -> bool {
        self.messages.is_empty() && !self.sends
    }

    /// Returns a broken guarantee, if any, after the last message.
    pub(super) fn broken(&self) -> Option<String> {
        let ends = &self.created | &self.shed;
        let both = &(&self.created & &self.shed) - &self.recounted;
        let holds = self.messages.is_empty() && both.is_empty() && ends == self.sent;
        let holds = holds && self.invalid.is_empty();
        self.broken.clone().or_else(|| {
            (!holds).then(|| {
                let (lost, left) = (&self.sent - &ends, self.messages.len());
                let invalid = &self.invalid;
                format!(
                    "S5.14: lost {lost:?}, created and shed {both:?}, invalid and not in the \
                     dead-letter queue {invalid:?}, {left} messages left"
                )
            })
        })
    }

    fn delete(&mut self, receipts: &[String]) {
        let is_left = |message: &Message| !receipts.contains(&message.delivery.receipt);
        self.messages.retain(is_left);
    }

    fn hide(&mut self, receipt: &str, until: Millis) {
        let mut messages = self.messages.iter_mut();
        if let Some(message) = messages.find(|message| message.delivery.receipt == receipt) {
            message.visible = until;
        }
    }
}

/// The id of a task's message.
fn message_of(task: &str) -> &str {
    task.split_once('#').map_or(task, |(message, _)| message)
}

/// Receives the first visible messages.
pub(super) fn receive(state: &mut State, now: Millis, hidden: Duration) -> Vec<Delivery> {
    let visible = state.messages.iter_mut();
    let visible = visible.filter(|message| message.visible <= now).take(BATCH);
    visible
        .map(|message| {
            message.visible = now.plus(hidden);
            message.delivery.receives += 1;
            if message.delivery.receives == 1 {
                message.delivery.first_received = now;
            }
            message.delivery.clone()
        })
        .collect()
}

/// The queues as one process uses them. A process can die before and after each request.
pub(super) struct Client {
    state: Arc<Mutex<State>>,
    began: (Millis, Instant),
    /// Percentage of the requests that fail, and before and after which the process dies.
    rejects: u32,
    dies: u32,
    rng: Mutex<Rng>,
    died: Notify,
    /// Tasks that the shed queue accepted since the last count.
    taken: Mutex<Vec<String>>,
    /// Tasks that were counted as shed and whose messages were not deleted.
    counted: Mutex<Vec<String>>,
}

impl Client {
    pub(super) fn new(
        state: Arc<Mutex<State>>,
        now: Millis,
        (rejects, dies): (u32, u32),
        seed: u64,
    ) -> Self {
        Self {
            state,
            began: (now, Instant::now()),
            rejects,
            dies,
            rng: Mutex::new(Rng::with_seed(seed)),
            died: Notify::new(),
            taken: Mutex::default(),
            counted: Mutex::default(),
        }
    }

    fn now(&self) -> Millis {
        self.began.0.plus(self.began.1.elapsed())
    }

    fn happens(&self, percent: u32) -> bool {
        lock(&self.rng).u32(0..100) < percent
    }

    /// A point at which the process can die.
    async fn step(&self) {
        if self.happens(self.dies) {
            self.died.notify_one();
            std::future::pending().await
        }
    }

    /// Waits until the process dies.
    pub(super) async fn died(&self) {
        self.died.notified().await;
    }

    /// Records the death of the process.
    pub(super) fn die(&self) {
        lock(&self.taken).clear();
        let counted = std::mem::take(&mut *lock(&self.counted));
        lock(&self.state).recounted.extend(counted);
    }

    /// Records the count of a batch, whose tasks in the shed queue are shed if their message is
    /// deleted.
    pub(super) fn count(&self, report: &IngestReport) {
        let is_done = |id: &String| !report.returned.iter().any(|one| one == message_of(id));
        let taken = std::mem::take(&mut *lock(&self.taken));
        let shed: Vec<_> = taken.into_iter().filter(is_done).collect();
        let mut state = lock(&self.state);
        if shed.len() as u64 != report.shed.counted() {
            let counted = report.shed.counted();
            let text = format!("S5.14: {counted} tasks counted as shed instead of {shed:?}");
            state.broken.get_or_insert(text);
        }
        for id in &shed {
            if !state.shed.insert(id.clone()) && !state.recounted.contains(id) {
                let text = format!("S5.14: {id} counted as shed twice");
                state.broken.get_or_insert(text);
            }
        }
        lock(&self.counted).extend(shed);
    }

    /// Deletes the messages that Lambda's batch response does not name.
    pub(super) fn respond(&self, batch: &[Delivery], returned: &[String]) {
        let done = batch
            .iter()
            .filter(|message| !returned.contains(&message.id));
        let receipts: Vec<_> = done.map(|message| message.receipt.clone()).collect();
        lock(&self.state).delete(&receipts);
        lock(&self.counted).clear();
    }
}

#[async_trait]
impl IngestQueue for Client {
    async fn bury(&self, letters: &[DeadLetter]) -> Vec<Result<(), Source>> {
        self.step().await;
        let bury = |letter: &DeadLetter| {
            if self.happens(self.rejects) {
                return Err("rejected".into());
            }
            lock(&self.state).invalid.remove(&letter.message_id);
            Ok(())
        };
        let results = letters.iter().map(bury).collect();
        self.step().await;
        results
    }

    /// Makes the messages visible soon, so that the schedule ends.
    async fn postpone(&self, messages: &[Postponed]) -> Vec<Source> {
        self.step().await;
        let soon = self.now().plus(SOON);
        for message in messages {
            lock(&self.state).hide(&message.receipt, soon);
        }
        self.step().await;
        vec![]
    }

    async fn receive(&self, hidden: Duration) -> Result<Vec<Delivery>, Source> {
        self.step().await;
        if self.happens(self.rejects) {
            return Err("rejected".into());
        }
        let received = receive(&mut lock(&self.state), self.now(), hidden);
        self.step().await;
        Ok(received)
    }

    async fn delete(&self, receipts: &[String]) -> Vec<Source> {
        self.step().await;
        let (kept, deleted): (Vec<String>, Vec<String>) = receipts
            .iter()
            .cloned()
            .partition(|_| self.happens(self.rejects));
        {
            let mut state = lock(&self.state);
            state.delete(&deleted);
            let counted = std::mem::take(&mut *lock(&self.counted));
            let is_kept = |id: &String| kept.iter().any(|kept| kept == message_of(id));
            state.recounted.extend(counted.into_iter().filter(is_kept));
        }
        self.step().await;
        kept.into_iter().map(|_| "rejected".into()).collect()
    }
}

/// The shed queue sometimes accepts only the first tasks.
#[async_trait]
impl ShedSink for Client {
    async fn hand_over(&self, tasks: &[ShedTask]) -> Vec<NotHandedOver> {
        self.step().await;
        let fits = match self.happens(self.rejects) {
            true => lock(&self.rng).usize(0..tasks.len()),
            false => tasks.len(),
        };
        let ids = tasks[..fits].iter().flat_map(|task| &task.task_id);
        lock(&self.taken).extend(ids.map(ToString::to_string));
        self.step().await;
        let not_tried = |index| NotHandedOver {
            index,
            error: HandOverError::NotTried,
        };
        (fits..tasks.len()).map(not_tried).collect()
    }
}
