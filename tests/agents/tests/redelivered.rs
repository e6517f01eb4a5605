//! Batches that SQS delivers again.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;
use std::time::Duration;

use agent_queue::call::CallState;
use agent_queue::intake::{DeadLetters, Delivery, Intake};
use agent_queue::publish::PublishError;
use agent_queue::queue::{AgentQueue, Settings};
use agent_queue::store::AgentStore;
use agent_queue::store::memory::MemoryStore;
use agent_queue::time::TokioClock;
use agents::world::Recorder;
use agents::{NOW, agent, agent_id, call_id, queued};
use async_trait::async_trait;
use tokio::time::Instant;

/// SQS delivers a batch again after nine of its ten calls were assigned.
#[tokio::test(start_paused = true)]
async fn new_call_of_a_redelivered_batch_gets_the_first_agent() {
    let store: Arc<dyn AgentStore> = Arc::new(MemoryStore::new());
    for number in 0..40 {
        let agent = agent(&format!("a{number:02}"), &["English"], "F");
        queued(&*store, agent, number).await;
    }
    let queue = AgentQueue::new(
        store.clone(),
        Arc::new(TokioClock::starting_at(NOW)),
        Settings::default(),
    );
    let publisher = Arc::new(Recorder::default());
    publisher.fail_for(&[]);
    let intake = Intake::new(Arc::new(queue), publisher.clone(), Arc::new(NoDeadLetters));
    let deliveries: Vec<_> = (0..10).map(delivery).collect();
    let deadline = || Instant::now() + Duration::from_secs(10);
    let first = intake.work(&deliveries[..9], deadline()).await;
    assert_eq!(first.assigned, 9);

    let again = deliveries.into_iter().map(|delivery| Delivery {
        received: 2,
        ..delivery
    });
    let again: Vec<_> = again.collect();
    let second = intake.work(&again, deadline()).await;
    assert_eq!((second.assigned, second.failed.len()), (1, 0));
    let state = store.call(&call_id("c9")).await.unwrap().unwrap().state;
    let next = agent_id("a09");
    assert!(
        matches!(&state, CallState::Assigned(made) if made.agent_id == next),
        "{state:?}"
    );
}

fn delivery(number: u64) -> Delivery {
    let id = format!("c{number}");
    Delivery {
        id: id.clone(),
        receipt: id.clone(),
        received: 1,
        body: r#"{"criteria": {"language": "English", "gender": "F"}}"#.to_owned(),
        group: "English#F".to_owned(),
        deduplication: id,
        sent: NOW,
        sequence: number.into(),
    }
}

struct NoDeadLetters;

#[async_trait]
impl DeadLetters for NoDeadLetters {
    async fn bury(&self, letter: &Delivery, reason: &str) -> Result<(), PublishError> {
        panic!("{letter:?}: {reason}");
    }
}
