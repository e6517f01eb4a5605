//! The topic and the dead-letter queue. Both sometimes fail, and both record all messages.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use agent_queue::call::{Assignment, OutboxEvent};
use agent_queue::intake::{DeadLetters, Delivery};
use agent_queue::name::CallId;
use agent_queue::publish::{PublishError, Publisher};
use async_trait::async_trait;
use fastrand::Rng;
use simulator::sync;
use tokio::time::Instant;

/// The topic and the dead-letter queue of one schedule.
pub(crate) struct World {
    pub(crate) started: Instant,
    healthy: AtomicBool,
    state: Mutex<State>,
}

struct State {
    rng: Rng,
    published: BTreeMap<CallId, Vec<Assignment>>,
    buried: BTreeMap<CallId, u32>,
}

impl World {
    pub(crate) fn new(rng: Rng) -> Self {
        Self {
            started: Instant::now(),
            healthy: AtomicBool::new(false),
            state: Mutex::new(State {
                rng,
                published: BTreeMap::new(),
                buried: BTreeMap::new(),
            }),
        }
    }

    pub(crate) fn heal(&self) {
        self.healthy.store(true, Ordering::Relaxed);
    }

    pub(crate) fn published(&self, call: &CallId) -> Vec<Assignment> {
        self.lock().published.get(call).cloned().unwrap_or_default()
    }

    pub(crate) fn buried(&self, call: &CallId) -> u32 {
        self.lock().buried.get(call).copied().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        sync::lock(&self.state)
    }

    fn keep(&self, event: &OutboxEvent) -> Result<(), PublishError> {
        let healthy = self.healthy.load(Ordering::Relaxed);
        let mut state = self.lock();
        let failed = PublishError {
            call: event.call_id().to_string(),
            reason: "no answer".to_owned(),
        };
        let fate = if healthy { 9 } else { state.rng.u8(0..10) };
        if fate == 0 {
            return Err(failed);
        }
        match event {
            OutboxEvent::Assigned(assignment) => {
                let call = assignment.call_id.clone();
                let published = state.published.entry(call).or_default();
                published.push(assignment.clone());
            }
            OutboxEvent::Expired(call) => {
                *state.buried.entry(call.call_id.clone()).or_default() += 1;
            }
        }
        // The message arrived, but the response did not.
        if fate == 1 { Err(failed) } else { Ok(()) }
    }
}

#[async_trait]
impl Publisher for World {
    async fn publish(&self, events: &[OutboxEvent]) -> Vec<Result<(), PublishError>> {
        let pause = self.lock().rng.u64(1..20);
        tokio::time::sleep(Duration::from_millis(pause)).await;
        events.iter().map(|event| self.keep(event)).collect()
    }
}

#[async_trait]
impl DeadLetters for World {
    /// The schedules send only valid calls, so a rejected message is an error.
    async fn bury(&self, letter: &Delivery, reason: &str) -> Result<(), PublishError> {
        Err(PublishError {
            call: letter.deduplication.clone(),
            reason: format!("rejected: {reason}"),
        })
    }
}
