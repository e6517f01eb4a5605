//! Throttled writes: new messages first.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_smithy_runtime_api::client::http::http_client_fn;
use conformance::{NOW, memory};
use lifo_queue::ingest::{Delivery, Ingest};
use lifo_queue::store::dynamodb::DynamoStore;
use lifo_queue::task::NewTask;
use simulator::dynamodb::TABLE;
use simulator::fault::Fault;
use simulator::faulty::FaultyStore;
use simulator::protocol;
use tokio::time::{Instant, sleep};

use super::world::{Queues, ingest, message, work};

/// Creates an `Ingest` whose table throttles the writes that `throttles` selects by task id and
/// time since the start. Also returns the ids of the attempted inserts, in order.
fn throttled(
    queues: &Arc<Queues>,
    throttles: impl Fn(&str, Duration) -> bool + Send + Sync + 'static,
) -> (Ingest, Arc<Mutex<Vec<String>>>) {
    let (started, tried) = (Instant::now(), Arc::<Mutex<Vec<String>>>::default());
    let log = tried.clone();
    let store = FaultyStore::failing_inserts(memory(), move |task: &NewTask| {
        log.lock().unwrap().push(task.id.to_string());
        throttles(task.id.as_str(), started.elapsed()).then_some(Fault::Throttled)
    });
    (ingest(Arc::new(store), queues), tried)
}

/// An old message, which was first received two seconds after it was sent.
fn old(id: &str) -> Delivery {
    Delivery {
        first_received: NOW.minus(Duration::from_secs(58)),
        ..message(id, "{}")
    }
}

#[tokio::test(start_paused = true)]
async fn throttled_write_of_a_new_message_is_retried_for_a_second() {
    let (queues, started) = (Arc::<Queues>::default(), Instant::now());
    let (ingest, _) = throttled(&queues, |id, at| {
        id == "never" || id == "late" && at < Duration::from_millis(500)
    });
    let batch = ["never", "late", "now"].map(|id| message(id, "{}"));
    let report = work(&ingest, &batch).await;
    assert_eq!((report.created, report.postponed), (2, 1));
    assert_eq!(report.returned, ["never"]);
    assert!(
        started.elapsed() < Duration::from_secs(4),
        "before the deadline"
    );
}

/// The client of the functions repeats a throttled request on its own, as its version of the SDK's
/// behavior says.
#[tokio::test(start_paused = true)]
async fn client_of_the_functions_retries_a_throttled_write_of_a_new_message_for_a_second() {
    let (queues, started) = (Arc::<Queues>::default(), Instant::now());
    let requests = Arc::<Mutex<Vec<Duration>>>::default();
    let log = requests.clone();
    let connector = protocol::connector(move |_| {
        log.lock().unwrap().push(started.elapsed());
        async { protocol::error(400, "ThrottlingException", "slow") }
    });
    let client = protocol::config().http_client(http_client_fn(move |_, _| connector.clone()));
    let client = aws_sdk_dynamodb::Client::from_conf(client.build());
    let ingest = ingest(Arc::new(DynamoStore::new(client, TABLE)), &queues);
    let report = work(&ingest, &[message("never", "{}")]).await;
    assert_eq!((report.created, report.postponed), (0, 1));
    let requests = requests.lock().unwrap();
    let within = |limit| requests.iter().filter(|at| **at <= limit).count();
    let second = Duration::from_secs(1);
    assert!(within(second) >= 6, "more than one call: {requests:?}");
    assert!(within(3 * second) == requests.len(), "{requests:?}");
}

#[tokio::test(start_paused = true)]
async fn old_messages_return_at_once_while_the_table_throttles() {
    let queues = Arc::<Queues>::default();
    let (ingest, tried) = throttled(&queues, |id, _| id == "first");
    let redelivered = Delivery {
        receives: 3,
        ..message("again", "{}")
    };
    // Without backpressure, old messages are written in the same way as new ones.
    let calm = work(&ingest, &[old("calm")]).await;
    assert_eq!((calm.created, calm.postponed), (1, 0));
    work(&ingest, &[old("first")]).await;
    let batch = [old("old"), redelivered, message("new", "{}")];
    let report = work(&ingest, &batch).await;
    assert_eq!((report.created, report.postponed), (1, 2));
    assert_eq!(report.returned, ["old", "again"]);
    assert_eq!(*tried.lock().unwrap(), ["calm", "first", "new"]);
    let postponed = queues.postponed.lock().unwrap();
    let bounds: Vec<_> = postponed
        .iter()
        .map(|message| message.by.as_secs_f64())
        .collect();
    assert!((15.0..=30.0).contains(&bounds[1]), "{bounds:?}");
    // The setting's limit is 64 s.
    assert!((32.0..=64.0).contains(&bounds[2]), "{bounds:?}");
}

#[tokio::test(start_paused = true)]
async fn old_messages_are_written_again_a_second_after_the_last_throttled_write() {
    let queues = Arc::<Queues>::default();
    let (ingest, _) = throttled(&queues, |id, _| id == "first");
    work(&ingest, &[old("first")]).await;
    let soon = work(&ingest, &[old("soon")]).await;
    sleep(Duration::from_secs(1)).await;
    let later = work(&ingest, &[old("later")]).await;
    assert_eq!((soon.created, soon.postponed), (0, 1));
    assert_eq!((later.created, later.postponed), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn other_failures_keep_their_shorter_backoff() {
    let queues = Arc::<Queues>::default();
    let store = FaultyStore::failing_inserts(memory(), |_| Some(Fault::Denied));
    let report = work(&ingest(Arc::new(store), &queues), &[old("denied")]).await;
    assert_eq!((report.returned.len(), report.postponed), (1, 0));
    assert!(queues.postponed.lock().unwrap()[0].by <= Duration::from_secs(4));
}
