//! Retried changes: short pauses after conflicts, and growing pauses while DynamoDB throttles.
#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_queue::call::CallState;
use agent_queue::matching::lane::Batch;
use agent_queue::queue::{AgentQueue, QueueError, Settings};
use agent_queue::store::memory::MemoryStore;
use agent_queue::store::{AgentStore, Committed, StoreError};
use agent_queue::time::TokioClock;
use agent_queue::transaction::{Change, Step};
use agents::watched::{Outcome, Watch, denied, watched};
use agents::{NOW, agent, agent_id, call, profile, queued};
use async_trait::async_trait;
use tokio::time::{Instant, timeout};

const SECOND: Duration = Duration::from_secs(1);

/// Throttles changes to agents and to calls whose id starts with `throttled`. Changes to calls
/// whose id starts with `contended` always conflict. Changes to `failing` calls fail after three
/// conflicts.
#[derive(Default)]
struct Busy(Mutex<Vec<Instant>>);

impl Busy {
    fn pauses(&self) -> Vec<Duration> {
        let times = std::mem::take(&mut *self.0.lock().unwrap());
        times.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }
}

#[async_trait]
impl Watch for Busy {
    async fn commit(&self, store: &dyn AgentStore, change: &Change) -> Outcome {
        let attempts = {
            let mut times = self.0.lock().unwrap();
            times.push(Instant::now());
            times.len()
        };
        let throttled = StoreError::Throttled {
            operation: "TransactWriteItems",
            source: "injected".into(),
        };
        let calls = change.steps.iter().find_map(|step| match step {
            Step::Call(_, record) => Some(record.call.id.as_str()),
            _ => None,
        });
        match calls {
            Some(id) if id.starts_with("contended") => Ok(Committed::Conflict),
            Some(id) if id.starts_with("failing") && attempts <= 3 => Ok(Committed::Conflict),
            Some(id) if id.starts_with("failing") => denied(),
            Some(id) if !id.starts_with("throttled") => store.commit(change).await,
            _ => Err(throttled),
        }
    }
}

fn queue(store: &Arc<MemoryStore>) -> (AgentQueue, Arc<Busy>) {
    let busy = Arc::new(Busy::default());
    let watched = watched(store.clone(), busy.clone());
    let clock = Arc::new(TokioClock::starting_at(NOW));
    let queue = AgentQueue::new(Arc::new(watched), clock, Settings::default());
    (queue, busy)
}

/// Each pause is random, up to twice the one shown here.
#[tokio::test(start_paused = true)]
async fn pauses_of_a_throttled_change_double_up_to_seconds() {
    let (queue, busy) = queue(&Arc::default());
    let profile = profile(&["Spanish"], "F");
    let failed = queue.register(&agent_id("ana"), "Ana", &profile).await;
    let failed = failed.unwrap_err();
    assert!(matches!(
        failed,
        QueueError::Store(StoreError::Throttled { .. })
    ));
    let least = [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4000, 4000, 4000];
    let pauses = busy.pauses();
    assert_eq!(pauses.len(), least.len(), "{pauses:?}");
    for (pause, least) in std::iter::zip(&pauses, least.map(Duration::from_millis)) {
        // Tokio's timer rounds up to a millisecond.
        let most = 2 * least + Duration::from_millis(1);
        assert!((least..=most).contains(pause), "{pauses:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn throttled_change_ends_before_the_deadline() {
    let (queue, _) = queue(&Arc::default());
    let began = Instant::now();
    let profile = profile(&["Spanish"], "F");
    let queue = queue.until(began + 3 * SECOND);
    let failed = queue.register(&agent_id("ana"), "Ana", &profile).await;
    failed.unwrap_err();
    let took = began.elapsed();
    assert!((SECOND..3 * SECOND).contains(&took), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn pauses_after_conflicts_stay_short() {
    let (queue, busy) = queue(&Arc::default());
    let failed = queue.match_call(&call("contended", "Spanish#F", 0)).await;
    let failed = failed.unwrap_err();
    assert!(matches!(failed, QueueError::Contended { tries: 61, .. }));
    let pauses = busy.pauses();
    assert_eq!(pauses.len(), 60);
    let longest = pauses.iter().max().unwrap();
    assert!(*longest <= Duration::from_millis(65), "{pauses:?}");
}

/// After three consecutive conflicts, the process's calls claim agents one at a time. A call that
/// DynamoDB throttles delays the others by only 100 ms.
#[tokio::test(start_paused = true)]
async fn throttled_claim_delays_the_calls_of_other_lanes_by_a_tenth_of_a_second() {
    let store = Arc::new(MemoryStore::new());
    for (number, language) in (0..).zip(["English", "French", "Spanish"]) {
        let agent = agent(&format!("a{number}"), &[language], "F");
        queued(&*store, agent, number).await;
    }
    let (queue, _) = queue(&store);
    let batch = Batch::default();
    let failing = [call("failing", "English#F", 0)];
    let failed = queue.match_lane(&failing, &batch).await;
    assert!(failed[0].is_err(), "{failed:?}");

    let began = Instant::now();
    let throttled = [call("throttled", "French#F", 0)];
    let quick = [call("quick", "Spanish#F", 0)];
    let quick = async {
        let results = queue.match_lane(&quick, &batch).await;
        (results, began.elapsed())
    };
    let throttled = timeout(10 * SECOND, queue.match_lane(&throttled, &batch));
    let (throttled, (results, took)) = tokio::join!(throttled, quick);
    assert!(throttled.is_err(), "it is still repeated");
    let state = &results[0].as_ref().unwrap().state;
    assert!(matches!(state, CallState::Assigned(_)), "{state:?}");
    assert_eq!(took.as_millis() / 10, 10, "{took:?}");
}
