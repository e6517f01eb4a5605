//! Simulates the parts of an SQS standard queue and Lambda's pollers that a storm depends on.
//!
//! Messages are received in the order in which they became visible. At most 120,000 are in flight
//! (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use lifo_queue::ingest::{DeadLetter, Delivery, IngestQueue, Postponed};
use lifo_queue::store::Source;
use lifo_queue::time::{Clock, Millis, TokioClock};
use simulator::sync::lock;

/// The in-flight message limit of a standard queue.
const MAX_IN_FLIGHT: usize = 120_000;

#[derive(Clone, Copy, Debug)]
struct Message {
    number: usize,
    sent: Millis,
    first_received: Option<Millis>,
    receives: u32,
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
    /// Whether the ingest changes the visibility timeouts.
    postpones: bool,
    state: Mutex<State>,
}

impl Queue {
    pub(super) fn new(clock: TokioClock, every_second: Option<Duration>, postpones: bool) -> Self {
        Self {
            clock,
            every_second,
            postpones,
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
            if let Some(message) = state.in_flight.remove(&number) {
                state.visible.push_back(message);
            }
        }
        let room = MAX_IN_FLIGHT.saturating_sub(state.in_flight.len());
        let most = most.min(room).min(state.visible.len());
        let mut received: Vec<_> = state.visible.drain(..most).collect();
        for message in &mut received {
            message.receives += 1;
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

    /// Deletes messages that were processed.
    pub(super) fn delete(&self, batch: &[Delivery], returned: &[String]) {
        let mut state = lock(&self.state);
        let done = |message: &&Delivery| !returned.contains(&message.id);
        for message in batch.iter().filter(done) {
            state.in_flight.remove(&number(&message.id));
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

#[async_trait]
impl IngestQueue for Queue {
    /// A storm's messages are never invalid.
    async fn bury(&self, letters: &[DeadLetter]) -> Vec<Result<(), Source>> {
        let reasons = letters.iter().map(|letter| letter.reason.clone());
        reasons.map(|reason| Err(reason.into())).collect()
    }

    async fn postpone(&self, messages: &[Postponed]) -> Vec<Source> {
        if !self.postpones {
            return vec![];
        }
        let now = self.clock.now();
        let second = Duration::from_secs(1);
        let mut state = lock(&self.state);
        for message in messages {
            let seconds = message.by.as_secs_f64().ceil();
            let until = now.plus(second.mul_f64(seconds));
            state
                .hidden
                .push(Reverse((until, number(&message.receipt))));
        }
        vec![]
    }
}
