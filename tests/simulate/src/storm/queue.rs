//! Simulates the parts of an SQS standard queue and Lambda's pollers that a storm depends on.
//!
//! Messages are received in the order in which they became visible. At most 120,000 are in flight
//! (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use lifo_queue::ingest::{DeadLetter, Delivery, IngestQueue, IngestReport, Postponed};
use lifo_queue::store::Source;
use lifo_queue::time::{Clock, Millis, TokioClock};
use simulator::sync::lock;
use tokio::time::sleep;

/// Maximum number of messages in a response.
const RESPONSE: usize = 10;
/// Duration of a request to SQS.
const REQUEST: Duration = Duration::from_millis(15);
/// Time that a function with 256 MB (0.145 vCPU) takes to receive and delete a message, in two
/// requests per ten messages, to postpone it, in another one, and to write a task, which takes
/// 290 µs of processor time (`docs/explanation/scaling.md`).
const MESSAGE: Duration = Duration::from_micros(500);
const POSTPONE: Duration = Duration::from_micros(200);
const WRITE: Duration = Duration::from_millis(2);
/// The in-flight message limit of a standard queue.
const MAX_IN_FLIGHT: usize = 120_000;

#[derive(Clone, Copy, Debug)]
struct Message {
    number: usize,
    sent: Millis,
    first_received: Option<Millis>,
    receives: u32,
    /// Time at which the message becomes visible, if its visibility timeout is known.
    hidden_until: Option<Millis>,
}

#[derive(Default)]
struct State {
    visible: VecDeque<Message>,
    /// Received messages by message number.
    in_flight: HashMap<usize, Message>,
    /// The times at which received messages become visible again.
    hidden: BinaryHeap<Reverse<(Millis, usize)>>,
    receives: u64,
}

pub(super) struct Queue {
    clock: TokioClock,
    /// If set, every second task has this expiry.
    every_second: Option<Duration>,
    state: Mutex<State>,
}

impl Queue {
    pub(super) fn new(clock: TokioClock, every_second: Option<Duration>) -> Self {
        Self {
            clock,
            every_second,
            state: Mutex::default(),
        }
    }

    /// Adds messages that are sent now and numbered from `first`.
    pub(super) fn send(&self, first: usize, count: usize) {
        let sent = self.clock.now();
        let messages = (first..first + count).map(|number| Message {
            number,
            sent,
            first_received: None,
            receives: 0,
            hidden_until: None,
        });
        lock(&self.state).visible.extend(messages);
    }

    /// Receives up to `most` messages.
    pub(super) fn receive(&self, most: usize) -> Vec<Delivery> {
        let now = self.clock.now();
        let mut state = lock(&self.state);
        while let Some(Reverse((at, number))) = state.hidden.peek().copied()
            && at <= now
        {
            state.hidden.pop();
            let is_due = |message: &Message| message.hidden_until == Some(at);
            if state.in_flight.get(&number).is_some_and(is_due)
                && let Some(message) = state.in_flight.remove(&number)
            {
                state.visible.push_back(message);
            }
        }
        let room = MAX_IN_FLIGHT.saturating_sub(state.in_flight.len());
        let most = most.min(room).min(state.visible.len());
        let mut received: Vec<_> = state.visible.drain(..most).collect();
        for message in &mut received {
            message.receives += 1;
            message.hidden_until = None;
            message.first_received.get_or_insert(now);
        }
        state.receives += received.len() as u64;
        let numbered = received.iter().map(|message| (message.number, *message));
        state.in_flight.extend(numbered);
        let deliveries = received.iter();
        deliveries
            .map(|message| self.delivery(message, now))
            .collect()
    }

    fn delete(&self, receipts: &[String]) {
        let mut state = lock(&self.state);
        for receipt in receipts {
            state.in_flight.remove(&number(receipt));
        }
    }

    /// Hides received messages for these times, in whole seconds.
    fn hide<'a>(&self, messages: impl Iterator<Item = (&'a str, Duration)>) {
        let now = self.clock.now();
        let mut state = lock(&self.state);
        for (receipt, hidden) in messages {
            let seconds = hidden.as_secs_f64().ceil();
            let until = now.plus(Duration::from_secs(1).mul_f64(seconds));
            let number = number(receipt);
            if let Some(message) = state.in_flight.get_mut(&number) {
                message.hidden_until = Some(until);
                state.hidden.push(Reverse((until, number)));
            }
        }
    }

    /// Returns the number of receives.
    pub(super) fn receives(&self) -> u64 {
        lock(&self.state).receives
    }

    fn delivery(&self, message: &Message, now: Millis) -> Delivery {
        let id = message.number.to_string();
        let expiry = self
            .every_second
            .filter(|_| message.number.is_multiple_of(2));
        Delivery {
            receipt: id.clone(),
            id,
            group: None,
            body: expiry.map_or("{}".to_owned(), |expiry| {
                format!("{{\"ttlSeconds\":{}}}", expiry.as_secs())
            }),
            sent: message.sent,
            first_received: message.first_received.unwrap_or(now),
            receives: message.receives,
        }
    }
}

fn number(id: &str) -> usize {
    id.parse().unwrap_or(usize::MAX)
}

/// The queue as one invocation at a time uses it.
pub(super) struct Client {
    queue: Arc<Queue>,
    /// Whether the ingest changes the visibility timeouts.
    postpones: bool,
    /// Processor time of the last batch, as elapsed time.
    owed: Mutex<Duration>,
}

impl Client {
    pub(super) fn new(queue: Arc<Queue>, postpones: bool) -> Self {
        Self {
            queue,
            postpones,
            owed: Mutex::default(),
        }
    }

    /// Adds the processor time of a batch.
    pub(super) fn owe(&self, report: &IngestReport) {
        let times = |time: Duration, count: usize| time * u32::try_from(count).unwrap_or(u32::MAX);
        let created = usize::try_from(report.created).unwrap_or(usize::MAX);
        *lock(&self.owed) += times(MESSAGE, report.messages)
            + times(POSTPONE, report.returned.len())
            + times(WRITE, created);
    }

    /// Waits for the processor time of the last batch.
    pub(super) async fn pay(&self) {
        let owed = std::mem::take(&mut *lock(&self.owed));
        sleep(owed).await;
    }

    /// Deletes the messages of a batch that were processed.
    pub(super) fn delete_done(&self, batch: &[Delivery], returned: &[String]) {
        let done = batch
            .iter()
            .filter(|message| !returned.contains(&message.id));
        let receipts: Vec<_> = done.map(|message| message.receipt.clone()).collect();
        self.queue.delete(&receipts);
    }
}

#[async_trait]
impl IngestQueue for Client {
    /// A storm's messages are never invalid.
    async fn bury(&self, letters: &[DeadLetter]) -> Vec<Result<(), Source>> {
        let reasons = letters.iter().map(|letter| letter.reason.clone());
        reasons.map(|reason| Err(reason.into())).collect()
    }

    async fn receive(&self, hidden: Duration) -> Result<Vec<Delivery>, Source> {
        sleep(REQUEST).await;
        let received = self.queue.receive(RESPONSE);
        let receipts = received.iter().map(|message| (&*message.receipt, hidden));
        self.queue.hide(receipts);
        Ok(received)
    }

    async fn delete(&self, receipts: &[String]) -> Vec<Source> {
        sleep(REQUEST).await;
        self.pay().await;
        self.queue.delete(receipts);
        vec![]
    }

    async fn postpone(&self, messages: &[Postponed]) -> Vec<Source> {
        if self.postpones {
            let messages = messages.iter();
            self.queue.hide(messages.map(|one| (&*one.receipt, one.by)));
        }
        vec![]
    }
}
