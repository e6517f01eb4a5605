//! Batches of call queue messages: which messages are reported, which are sent to the dead-letter
//! queue, and when assignments are published.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_queue::call::{CallState, OutboxEvent};
use agent_queue::intake::{CallQueue, DeadLetters, Delivery, Intake, MARGIN};
use agent_queue::name::CallId;
use agent_queue::publish::{PublishError, Published, Publisher};
use agent_queue::queue::{AgentQueue, Settings};
use agent_queue::store::memory::MemoryStore;
use agent_queue::time::TokioClock;
use agents::watched::{Partly, watched};
use agents::{NOW, agent_id, profile};
use async_trait::async_trait;
use proptest::prelude::*;
use tokio::time::Instant;

/// Time from the deadline until a call without a response is returned.
const MATCH_ENDS: Duration = Duration::from_secs(1);

/// Time for which an assignment waits for others, so that they are published together.
const JOINED: Duration = Duration::from_millis(5);

/// Records published assignments, messages for the dead-letter queue, and messages made visible
/// again.
#[derive(Default)]
struct World {
    letters: Mutex<Vec<(String, String)>>,
    closed: bool,
    shown: Mutex<Vec<(String, Duration)>>,
    published: Mutex<Vec<(String, Instant)>>,
    publishing: Duration,
    requests: Mutex<Vec<usize>>,
}

#[async_trait]
impl CallQueue for World {
    async fn show_again(&self, messages: &[&Delivery], after: Duration) -> Result<(), String> {
        let ids = messages.iter().map(|message| (message.id.clone(), after));
        self.shown.lock().unwrap().extend(ids);
        Ok(())
    }
}

#[async_trait]
impl Publisher for World {
    async fn publish(&self, events: &[OutboxEvent]) -> Vec<Result<(), PublishError>> {
        tokio::time::sleep(self.publishing).await;
        self.requests.lock().unwrap().push(events.len());
        let now = Instant::now();
        let ids = events
            .iter()
            .map(|event| (event.call_id().to_string(), now));
        self.published.lock().unwrap().extend(ids);
        events.iter().map(|_| Ok(())).collect()
    }
}

#[async_trait]
impl DeadLetters for World {
    async fn bury(&self, letter: &Delivery, reason: &str) -> Result<(), PublishError> {
        if self.closed {
            return Err(PublishError {
                call: letter.id.clone(),
                reason: "closed".to_owned(),
            });
        }
        let letter = (letter.id.clone(), reason.to_owned());
        self.letters.lock().unwrap().push(letter);
        Ok(())
    }
}

fn intake(world: World) -> (Intake, Arc<AgentQueue>, Arc<World>) {
    let store = Arc::new(watched(Arc::new(MemoryStore::new()), Arc::new(Partly)));
    let clock = Arc::new(TokioClock::starting_at(NOW));
    let queue = Arc::new(AgentQueue::new(store, clock, Settings::default()));
    let world = Arc::new(world);
    let intake =
        Intake::new(queue.clone(), world.clone(), world.clone()).showing_again(world.clone());
    (intake, queue, world)
}

fn delivery(id: &str, language: &str) -> Delivery {
    Delivery {
        id: format!("message-{id}"),
        receipt: format!("receipt-{id}"),
        received: 1,
        body: format!(r#"{{"criteria": {{"language": "{language}", "gender": "F"}}}}"#),
        group: format!("{language}#F"),
        deduplication: id.to_owned(),
        sent: NOW,
        sequence: 0,
    }
}

/// Creates messages for calls, each with its language, such as `A:a1 B:b1`.
fn deliveries(calls: &str) -> Vec<Delivery> {
    let one = |call: &str| {
        call.split_once(':')
            .map(|(language, id)| delivery(id, language))
    };
    calls.split(' ').map(|call| one(call).unwrap()).collect()
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(10)
}

#[tokio::test(start_paused = true)]
async fn failure_skips_only_the_rest_of_its_group() {
    let (intake, queue, _) = intake(World::default());
    let batch = deliveries("A:a1 B:b1 A:bad1 A:a2 B:b2");
    let report = intake.work(&batch, soon()).await;
    assert_eq!(report.failed, ["message-bad1", "message-a2"]);
    assert_eq!(report.queued, 3);
    for (id, there) in [("a1", true), ("a2", false), ("b1", true), ("b2", true)] {
        let call = queue.call(&CallId::new(id).unwrap()).await.unwrap();
        assert_eq!(call.is_some(), there, "{id}");
    }
}

#[tokio::test(start_paused = true)]
async fn invalid_call_goes_to_dead_letter_queue_and_blocks_no_other_call() {
    let (intake, _, world) = intake(World::default());
    let mut wrong = delivery("x", "A");
    wrong.body = "no call".to_owned();
    let mut other_group = delivery("y", "B");
    other_group.group = "A#F".to_owned();
    let batch = [wrong, other_group, delivery("a1", "A")];
    let report = intake.work(&batch, soon()).await;
    assert_eq!(
        (report.rejected, report.queued, report.failed.len()),
        (2, 1, 0)
    );
    let letters = world.letters.lock().unwrap();
    assert_eq!(letters[0].0, "message-x");
    assert!(letters[0].1.contains("the body must be"), "{letters:?}");
    assert!(
        letters[1].1.contains("the criteria require \"B#F\""),
        "{letters:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn unreadable_call_goes_to_dead_letter_queue_and_does_not_block_others() {
    let (intake, _, world) = intake(World::default());
    let batch = deliveries("A:torn1 A:a1");
    let report = intake.work(&batch, soon()).await;
    assert_eq!(report.failed, [""; 0]);
    assert_eq!((report.rejected, report.queued), (1, 1));
    let letters = world.letters.lock().unwrap();
    assert_eq!(letters[0].0, "message-torn1");
    assert!(letters[0].1.contains("cannot be read"), "{letters:?}");
}

#[tokio::test(start_paused = true)]
async fn invalid_call_is_redelivered_if_the_dead_letter_queue_fails() {
    let closed = World {
        closed: true,
        ..World::default()
    };
    let (intake, _, _) = intake(closed);
    let mut wrong = delivery("x", "A");
    wrong.body = "no call".to_owned();
    let report = intake.work(&[wrong, delivery("a1", "A")], soon()).await;
    assert_eq!(report.failed, ["message-x", "message-a1"]);
}

/// Unfinished messages of a group become visible again after two seconds, not after the queue's
/// visibility timeout. From the sixth receive on, the delay doubles, up to 30 seconds.
#[tokio::test(start_paused = true)]
async fn unfinished_messages_of_a_group_are_redelivered_with_backoff() {
    let (intake, _, world) = intake(World::default());
    let batch = deliveries("A:a1 A:bad1 A:a2 B:b1");
    intake.work(&batch, soon()).await;
    let again = |id: &str, seconds| (format!("message-{id}"), Duration::from_secs(seconds));
    let shown = std::mem::take(&mut *world.shown.lock().unwrap());
    assert_eq!(shown, [again("bad1", 2), again("a2", 2)]);
    for (received, seconds) in [(5, 2), (6, 4), (7, 8), (9, 30), (1_000, 30)] {
        let mut bad = delivery("bad1", "A");
        bad.received = received;
        intake.work(&[bad], soon()).await;
        let shown = std::mem::take(&mut *world.shown.lock().unwrap());
        assert_eq!(shown, [again("bad1", seconds)], "received {received} times");
    }
}

async fn add_agent(queue: &AgentQueue, id: &str, language: &str) {
    agents::world::join(queue, id, &profile(&[language], "F")).await;
}

async fn agents(queue: &AgentQueue, languages: &[&str]) {
    for language in languages {
        add_agent(queue, &format!("agent-{language}"), language).await;
    }
}

/// A single request publishes the assignments of groups that end at the same time.
#[tokio::test(start_paused = true)]
async fn groups_that_end_together_share_one_publish_request() {
    let (intake, queue, world) = intake(World::default());
    agents(&queue, &["A", "B", "C"]).await;
    let batch = deliveries("A:a B:b C:c");
    let began = Instant::now();
    let report = intake.work(&batch, began + Duration::from_secs(10)).await;
    assert_eq!((report.assigned, report.published.published), (3, 3));
    assert_eq!(*world.requests.lock().unwrap(), [3]);
    assert_eq!(Instant::now(), began, "nothing is waited for");
}

/// DynamoDB never responds to one group's change, and the topic is slow. The report is still on
/// time, and the other assignments of both groups are published long before it.
#[tokio::test(start_paused = true)]
async fn a_group_that_hangs_delays_no_earlier_assignment_and_no_report() {
    let (intake, queue, world) = intake(World {
        publishing: Duration::from_secs(1),
        ..World::default()
    });
    agents(&queue, &["A", "B"]).await;
    let began = Instant::now();
    let deadline = began + Duration::from_secs(10);
    let batch = deliveries("A:a1 A:slow2 A:a3 B:b1");
    let report = intake.work(&batch, deadline).await;
    assert_eq!(report.failed, ["message-slow2", "message-a3"]);
    assert_eq!((report.assigned, report.published.published), (2, 2));
    assert!(Instant::now() <= deadline + MATCH_ENDS);
    let published = world.published.lock().unwrap();
    let at = began + JOINED + Duration::from_secs(1);
    assert_eq!(
        published[..],
        [("a1".to_owned(), at), ("b1".to_owned(), at)]
    );
}

#[tokio::test(start_paused = true)]
async fn hanging_topic_does_not_delay_the_report() {
    let (intake, queue, _) = intake(World {
        publishing: Duration::from_secs(3_600),
        ..World::default()
    });
    agents(&queue, &["A"]).await;
    let deadline = Instant::now() + Duration::from_secs(10);
    let report = intake
        .work(&[delivery("a1", "A"), delivery("bad1", "A")], deadline)
        .await;
    assert!(Instant::now() < deadline + MARGIN);
    assert_eq!(report.failed, ["message-bad1"]);
    assert_eq!(
        (report.assigned, report.published),
        (1, Published::default())
    );
}

/// SQS redelivers a batch after nine of its ten calls were assigned.
#[tokio::test(start_paused = true)]
async fn new_call_of_a_redelivered_batch_gets_the_first_agent() {
    let (intake, queue, _) = intake(World::default());
    for number in 0..40 {
        add_agent(&queue, &format!("a{number:02}"), "English").await;
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    let mut batch: Vec<_> = (0..10)
        .map(|number| delivery(&format!("c{number}"), "English"))
        .collect();
    let first = intake.work(&batch[..9], soon()).await;
    assert_eq!(first.assigned, 9);
    for delivery in &mut batch {
        delivery.received = 2;
    }
    let second = intake.work(&batch, soon()).await;
    assert_eq!((second.assigned, second.failed.len()), (1, 0));
    let call = queue.call(&CallId::new("c9").unwrap()).await.unwrap();
    let (state, next) = (call.unwrap().state, agent_id("a09"));
    assert!(
        matches!(&state, CallState::Assigned(made) if made.agent_id == next),
        "{state:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn no_call_is_started_after_the_deadline() {
    let (intake, _, _) = intake(World::default());
    let report = intake.work(&[delivery("a1", "A")], Instant::now()).await;
    assert_eq!(report.failed, ["message-a1"]);
}

proptest! {
    #[test]
    fn only_unprocessed_messages_are_reported_as_failed(
        batch in prop::collection::vec(("[ABC]", any::<bool>(), prop::bool::weighted(0.2)), 0..10)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let (intake, queue, world) = intake(World::default());
            let batch: Vec<_> = batch.iter().enumerate().map(|(n, (language, bad, wrong))| {
                let id = format!("{}{n}", if *bad { "bad" } else { "good" });
                let mut delivery = delivery(&id, language);
                if *wrong {
                    delivery.body = "{}".to_owned();
                }
                delivery
            }).collect();
            let report = intake.work(&batch, soon()).await;
            let failed: BTreeSet<_> = report.failed.iter().collect();
            prop_assert_eq!(failed.len(), report.failed.len(), "each once");
            for delivery in &batch {
                let id = CallId::new(delivery.deduplication.as_str()).unwrap();
                let stored = queue.call(&id).await.unwrap().is_some();
                let buried = world.letters.lock().unwrap().iter().any(|(id, _)| *id == delivery.id);
                prop_assert_eq!(stored || buried, !failed.contains(&delivery.id));
            }
            Ok(())
        })?;
    }
}
