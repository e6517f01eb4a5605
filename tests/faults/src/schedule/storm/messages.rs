//! The messages of a storm, and the queues through which they pass.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use fastrand::Rng;
use lifo_queue::ingest::{DeadLetter, Delivery, IngestQueue, Postponed};
use lifo_queue::shed::{HandOverError, NotHandedOver, ShedSink, ShedTask};
use lifo_queue::store::Source;
use lifo_queue::time::Millis;

/// Time until SQS redelivers a message of a crashed process. It is longer than a batch can take.
const VISIBILITY: Duration = Duration::from_secs(40);
const BATCH: usize = 10;

/// A queue message with one to three tasks.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) delivery: Delivery,
    tasks: Vec<String>,
    pub(super) visible: Millis,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) messages: Vec<Message>,
    pub(super) sent: usize,
    pub(super) sends: bool,
    pub(super) created: BTreeSet<String>,
    pub(super) shed: BTreeSet<String>,
    pub(super) broken: Option<String>,
}

impl State {
    /// Whether the queue is empty and no more messages are sent.
    pub(super) fn is_done(&self) -> bool {
        self.messages.is_empty() && !self.sends
    }

    /// Deletes the messages that were not returned. Their tasks that the shed queue accepted count as shed.
    pub(super) fn settle(
        &mut self,
        batch: &[Delivery],
        returned: &[String],
        taken: &[String],
        counted: u64,
    ) {
        let is_done = |message: &Message| {
            let id = &message.delivery.id;
            batch.iter().any(|each| each.id == *id) && !returned.contains(id)
        };
        let (done, left) = std::mem::take(&mut self.messages)
            .into_iter()
            .partition(is_done);
        self.messages = left;
        let done: Vec<Message> = done;
        let tasks = done.iter().flat_map(|message| &message.tasks);
        let shed: Vec<String> = tasks.filter(|id| taken.contains(id)).cloned().collect();
        if shed.len() as u64 != counted {
            let text = format!("S5.14: {counted} tasks counted as shed instead of {shed:?}");
            self.broken.get_or_insert(text);
        }
        self.shed.extend(shed);
    }
}

pub(super) fn message(id: String, tasks: usize, now: Millis) -> Message {
    let ids = (0..tasks).map(|index| format!("{id}#{index}"));
    Message {
        tasks: ids.collect(),
        delivery: Delivery {
            receipt: id.clone(),
            group: None,
            body: format!("[{}]", vec!["{}"; tasks].join(",")),
            sent: now,
            first_received: now,
            receives: 0,
            id,
        },
        visible: now,
    }
}

/// Receives the first visible messages.
pub(super) fn receive(state: &mut State, now: Millis) -> Vec<Delivery> {
    let visible = state.messages.iter_mut();
    let visible = visible.filter(|message| message.visible <= now).take(BATCH);
    visible
        .map(|message| {
            message.visible = now.plus(VISIBILITY);
            message.delivery.receives += 1;
            if message.delivery.receives == 1 {
                message.delivery.first_received = now;
            }
            message.delivery.clone()
        })
        .collect()
}

pub(super) fn tasks_of(messages: &[Message], batch: &[Delivery]) -> Vec<String> {
    let is_in = |message: &&Message| batch.iter().any(|each| each.id == message.delivery.id);
    let messages = messages.iter().filter(is_in);
    messages.flat_map(|message| message.tasks.clone()).collect()
}

/// The ingest queue. The schedule itself determines when a message returns.
pub(super) struct Queue;

#[async_trait]
impl IngestQueue for Queue {
    /// A storm's messages are never invalid.
    async fn bury(&self, letters: &[DeadLetter]) -> Vec<Result<(), Source>> {
        let reasons = letters.iter().map(|letter| letter.reason.clone());
        reasons.map(|reason| Err(reason.into())).collect()
    }

    async fn postpone(&self, _: &[Postponed]) -> Vec<Source> {
        vec![]
    }
}

/// The shed queue, which sometimes accepts only the first tasks.
pub(super) struct Sink {
    pub(super) rejects: u32,
    pub(super) rng: Mutex<Rng>,
    pub(super) taken: Mutex<Vec<String>>,
}

#[async_trait]
impl ShedSink for Sink {
    async fn hand_over(&self, tasks: &[ShedTask]) -> Vec<NotHandedOver> {
        let mut rng = lock(&self.rng);
        let fits = match rng.u32(0..100) < self.rejects {
            true => rng.usize(0..tasks.len()),
            false => tasks.len(),
        };
        let ids = tasks[..fits].iter().flat_map(|task| &task.task_id);
        lock(&self.taken).extend(ids.map(ToString::to_string));
        let not_tried = |index| NotHandedOver {
            index,
            error: HandOverError::NotTried,
        };
        (fits..tasks.len()).map(not_tried).collect()
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
