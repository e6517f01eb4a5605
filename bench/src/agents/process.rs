//! A process that matches calls, and the desk that queues agents.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_queue::agent_lifecycle::Changed;
use agent_queue::call::{Assignment, OutboxEvent};
use agent_queue::intake::{CallQueue, DeadLetters, Delivery, Intake};
use agent_queue::name::{AgentId, CallId};
use agent_queue::publish::{PublishError, Publisher};
use agent_queue::queue::AgentQueue;
use agent_queue::time::Clock;
use async_trait::async_trait;
use serde_json::json;
use simulator::sync::lock;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;

use super::crowd::{Person, Wish};
use crate::Error;

/// Time limit per batch, longer than any batch takes.
const DEADLINE: Duration = Duration::from_secs(3_600);

#[derive(Default)]
pub(super) struct Published {
    pub(super) begun: Mutex<HashMap<CallId, Instant>>,
    pub(super) made: Mutex<Vec<(Instant, Duration)>>,
    pub(super) onward: Option<UnboundedSender<Assignment>>,
}

impl Published {
    /// Returns the time of each publication and its delay since the arrival of the call's batch.
    pub(super) fn made(&self) -> Vec<(Instant, Duration)> {
        lock(&self.made).clone()
    }
}

#[async_trait]
impl Publisher for Published {
    async fn publish(&self, events: &[OutboxEvent]) -> Vec<Result<(), PublishError>> {
        let now = Instant::now();
        for event in events {
            if let OutboxEvent::Assigned(assignment) = event {
                let begun = lock(&self.begun).remove(&assignment.call_id);
                let took = begun.map_or(Duration::ZERO, |begun| now - begun);
                lock(&self.made).push((now, took));
                if let Some(onward) = &self.onward {
                    // Ignore an error: the receiver may have ended together with the run.
                    let _ = onward.send(assignment.clone());
                }
            }
        }
        events.iter().map(|_| Ok(())).collect()
    }
}

#[async_trait]
impl DeadLetters for Published {
    async fn bury(&self, letter: &Delivery, reason: &str) -> Result<(), PublishError> {
        Err(PublishError {
            call: letter.deduplication.clone(),
            reason: reason.to_owned(),
        })
    }
}

#[async_trait]
impl CallQueue for Published {
    /// Does nothing, because failed messages can be in the next batch immediately.
    async fn show_again(&self, _: &[&Delivery], _: Duration) -> Result<(), String> {
        Ok(())
    }
}

pub(super) struct Matcher {
    intake: Intake,
    published: Arc<Published>,
}

impl Matcher {
    pub(super) fn new(queue: Arc<AgentQueue>, published: Arc<Published>) -> Self {
        let intake = Intake::new(queue, published.clone(), published.clone())
            .showing_again(published.clone());
        Self { intake, published }
    }

    pub(super) async fn work(&self, batch: &[Delivery]) -> Vec<Delivery> {
        let now = Instant::now();
        for delivery in batch {
            if let Ok(id) = CallId::new(delivery.deduplication.as_str()) {
                lock(&self.published.begun).entry(id).or_insert(now);
            }
        }
        let report = self.intake.work(batch, now + DEADLINE).await;
        let left = batch.iter();
        let left = left.filter(|delivery| report.failed.contains(&delivery.id));
        left.cloned().collect()
    }
}

pub(super) fn delivery(number: usize, wish: Wish, clock: &dyn Clock) -> Delivery {
    let criteria = json!({"language": wish.language, "gender": wish.gender});
    Delivery {
        id: format!("message-{number}"),
        receipt: String::new(),
        received: 1,
        body: json!({ "criteria": criteria }).to_string(),
        group: wish.group(),
        deduplication: format!("call-{number}"),
        sent: clock.now(),
        sequence: number as u128,
    }
}

pub(super) async fn register(queue: &AgentQueue, person: &Person) -> Result<AgentId, Error> {
    let profile = queue.settings().dimensions.profile(&BTreeMap::from([
        ("language".to_owned(), json!(person.languages)),
        ("gender".to_owned(), json!(person.gender)),
    ]))?;
    let id = AgentId::new(person.name.as_str())?;
    done(queue.register(&id, &person.name, &profile).await?)?;
    done(queue.become_available(&id).await?)?;
    Ok(id)
}

pub(super) fn done(changed: Changed) -> Result<(), Error> {
    match changed {
        Changed::Done(_) => Ok(()),
        other => Err(format!("an agent was not changed: {other:?}").into()),
    }
}
