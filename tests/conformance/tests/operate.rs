//! Operators: the reports they get, and the processors that their commands wake.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use conformance::{NOW, claim, insert, new_task, take};
use lifo_queue::control::Acquired;
use lifo_queue::depth::Depth;
use lifo_queue::notify::WakeReason;
use lifo_queue::operate::{OperateError, Operator, RedriveReport};
use lifo_queue::store::memory::MemoryStore;
use lifo_queue::store::{Cancelled, ControlStore, QueueStore, Redriven, TaskStore, Written};
use lifo_queue::task::{TaskId, TaskStatus, Ttl};
use lifo_queue::time::{Clock, TokioClock};
use lifo_queue::wake::{Wake, Waker};
use simulator::faulty::{Fault, FaultyStore};
use simulator::topics::Topics;

const MARKER: Duration = Duration::from_secs(10);
const HOUR: Duration = Duration::from_secs(3_600);

struct World {
    store: Arc<MemoryStore>,
    topics: Arc<Topics>,
    clock: Arc<TokioClock>,
}

impl World {
    fn start() -> Self {
        Self {
            store: Arc::default(),
            topics: Arc::default(),
            clock: Arc::new(TokioClock::starting_at(NOW)),
        }
    }

    fn operator(&self) -> Operator {
        self.operator_on(self.store.clone())
    }

    fn operator_on(&self, store: Arc<dyn QueueStore>) -> Operator {
        let (topics, clock) = (self.topics.clone(), self.clock.clone());
        let waker = Waker::new(store.clone(), topics, clock.clone(), MARKER);
        Operator::new(store, waker, clock)
    }

    /// Adds tasks in FAILURE, created one millisecond apart.
    async fn with_failed(self, ids: &[&str]) -> Self {
        insert(&*self.store, ids).await;
        for id in ids {
            let id = TaskId::from_stored(*id);
            let keep_until = self.clock.now().floor_seconds().plus(HOUR);
            let failed = self
                .store
                .quarantine(&id, None, "bad", keep_until, NOW)
                .await;
            assert_eq!(failed.unwrap(), Written::Done);
        }
        self
    }

    fn status(&self, id: &str) -> Option<TaskStatus> {
        let record = self.store.record(&TaskId::from_stored(id));
        record.map(|record| record.status)
    }

    fn count(&self, status: TaskStatus) -> usize {
        let records = self.store.records();
        records
            .iter()
            .filter(|(_, there)| there.status == status)
            .count()
    }

    fn notifications(&self) -> usize {
        self.topics.process_tasks().len()
    }
}

fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("t{n:04}")).collect()
}

fn exactly(count: u32) -> Depth {
    Depth { count, exact: true }
}

#[tokio::test(start_paused = true)]
async fn status_counts_pending_taken_and_failed_tasks_but_no_expired_ones() {
    let world = World::start().with_failed(&["f0", "f1"]).await;
    for n in 0..1_500 {
        let mut task = new_task(&format!("t{n}"), 100 + n);
        if n < 200 {
            task.expires_at = NOW.floor_seconds();
        }
        world.store.insert(&task).await.unwrap();
    }
    take(&*world.store, "t1000").await;
    world.store.acquire(&claim("m1", NOW), NOW).await.unwrap();
    world.store.request().await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let status = world.operator().status().await.unwrap();
    assert_eq!(status.now, NOW.plus(Duration::from_secs(2)));
    assert_eq!(
        (status.pending, status.taken, status.failed),
        (exactly(1_299), exactly(1), exactly(2))
    );
    assert_eq!(
        status.oldest_pending,
        Some(NOW.plus(Duration::from_millis(300)))
    );
    assert_eq!(status.control, world.store.control().await.unwrap());
    assert_eq!(status.control.requested, 1);
    assert!(status.control.live_lease(status.now).is_some());
}

#[tokio::test(start_paused = true)]
async fn status_of_an_empty_queue_has_counts_of_zero() {
    let status = World::start().operator().status().await.unwrap();
    assert_eq!((status.pending, status.oldest_pending), (exactly(0), None));
    assert_eq!((status.taken, status.failed), (exactly(0), exactly(0)));
}

#[tokio::test(start_paused = true)]
async fn status_fails_if_any_of_its_reads_fails() {
    for read in ["control", "pending_page"] {
        let world = World::start();
        let broken = FaultyStore::new(world.store.clone(), move |operation| {
            if operation == read {
                Fault::Refused
            } else {
                Fault::None
            }
        });
        let status = world.operator_on(Arc::new(broken)).status().await;
        assert!(status.is_err(), "{read}");
    }
}

#[tokio::test(start_paused = true)]
async fn redriven_task_gets_a_new_deadline_and_wakes_the_queue() {
    let world = World::start().with_failed(&["a"]).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let id = TaskId::from_stored("a");
    let redriven = world.operator().redrive(&id, HOUR).await.unwrap();
    assert_eq!(redriven, Redriven::Done);
    let record = world.store.record(&id).unwrap();
    let deadline = world.clock.now().ceil_seconds().plus(HOUR);
    assert_eq!((record.created, record.ttl), (NOW, Ttl::Seconds(deadline)));
    let published = world.topics.process_tasks();
    assert_eq!(published.len(), 1);
    assert_eq!(published[0].reason, WakeReason::Operator);
}

#[tokio::test(start_paused = true)]
async fn redrive_of_no_task_sends_no_wake_up() {
    let world = World::start();
    insert(&*world.store, &["waits"]).await;
    let operator = world.operator();
    let redrive = |id: &'static str| {
        let operator = &operator;
        async move {
            operator
                .redrive(&TaskId::from_stored(id), HOUR)
                .await
                .unwrap()
        }
    };
    assert_eq!(redrive("waits").await, Redriven::Is(TaskStatus::Pending));
    assert_eq!(redrive("nobody").await, Redriven::NotFound);
    let nothing = operator.redrive_all(HOUR).await.unwrap();
    assert_eq!(nothing, RedriveReport::default());
    assert_eq!(world.store.control().await.unwrap().requested, 0);
    assert_eq!(world.notifications(), 0);
}

#[tokio::test(start_paused = true)]
async fn all_failed_tasks_are_redriven_with_one_wake_up() {
    let ids = numbered(2_300);
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let world = World::start().with_failed(&ids).await;
    let report = world.operator().redrive_all(HOUR).await.unwrap();
    let expected = RedriveReport {
        redriven: 2_300,
        wake: Some(Wake::Published),
        ..RedriveReport::default()
    };
    assert_eq!(report, expected);
    assert_eq!(world.count(TaskStatus::Pending), 2_300);
    assert_eq!(world.store.control().await.unwrap().requested, 1);
    assert_eq!(world.notifications(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_changes_between_the_page_and_its_redrive_is_counted_as_lost() {
    let world = World::start().with_failed(&["a", "b", "c"]).await;
    let store = world.store.clone();
    let racing = FaultyStore::new(world.store.clone(), move |operation| {
        let id = TaskId::from_stored("a");
        if operation == "redrive"
            && let Some(mut record) = store.record(&id)
        {
            record.status = TaskStatus::Success;
            store.put(id, record);
        }
        Fault::None
    });
    let report = world.operator_on(Arc::new(racing)).redrive_all(HOUR).await;
    let report = report.unwrap();
    assert_eq!((report.redriven, report.lost), (2, 1));
    assert_eq!(world.status("a"), Some(TaskStatus::Success));
}

#[tokio::test(start_paused = true)]
async fn task_that_cannot_be_changed_stops_no_change_of_other_tasks() {
    let ids = numbered(40);
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let world = World::start().with_failed(&ids).await;
    let calls = AtomicU32::new(0);
    let third_fails = FaultyStore::new(world.store.clone(), move |operation| {
        let is_change = matches!(operation, "redrive" | "purge");
        match is_change && calls.fetch_add(1, Ordering::SeqCst) % 40 == 2 {
            true => Fault::Invalid,
            false => Fault::None,
        }
    });
    let operator = world.operator_on(Arc::new(third_fails));
    let redriven = operator.redrive_all(HOUR).await.unwrap();
    assert_eq!((redriven.redriven, redriven.lost), (39, 0));
    let [failed] = redriven.failed.as_slice() else {
        panic!("{redriven:?}");
    };
    assert_eq!(
        world.status(failed.task.as_str()),
        Some(TaskStatus::Failure)
    );
    assert!(
        failed.error.contains("rejected by DynamoDB"),
        "{}",
        failed.error
    );
    assert_eq!(world.notifications(), 1);
    let purged = operator.purge(|_| {}).await.unwrap();
    assert_eq!((purged.deleted, purged.failed.len()), (39, 1));
}

#[tokio::test(start_paused = true)]
async fn interrupted_redrive_wakes_the_queue_for_its_redriven_tasks() {
    let ids = numbered(1_500);
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    for (step, nth, least) in [("pending_page", 2, 1_000), ("redrive", 700, 600)] {
        let world = World::start().with_failed(&ids).await;
        let calls = AtomicU32::new(0);
        let broken = FaultyStore::new(world.store.clone(), move |operation| {
            let is_it = operation == step && calls.fetch_add(1, Ordering::SeqCst) + 1 == nth;
            if is_it { Fault::Refused } else { Fault::None }
        });
        let redriven = world.operator_on(Arc::new(broken)).redrive_all(HOUR).await;
        assert!(
            matches!(redriven, Err(OperateError::Store(_))),
            "{step}: {redriven:?}"
        );
        let pending = world.count(TaskStatus::Pending);
        assert!((least..1_500).contains(&pending), "{step}: {pending}");
        assert_eq!(world.notifications(), 1, "{step}");
        // A repetition, as the error advises, redrives the other tasks.
        let rest = world.operator().redrive_all(HOUR).await.unwrap();
        assert_eq!(rest.redriven as usize, 1_500 - pending, "{step}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wake_up_that_fails_is_an_error_and_the_task_stays_redriven() {
    let world = World::start().with_failed(&["a", "b", "c"]).await;
    world.topics.set_broken(true);
    let one = world
        .operator()
        .redrive(&TaskId::from_stored("a"), HOUR)
        .await;
    assert!(matches!(one, Err(OperateError::Wake(_))), "{one:?}");
    assert_eq!(world.status("a"), Some(TaskStatus::Pending));
    tokio::time::sleep(MARKER).await;
    let all = world.operator().redrive_all(HOUR).await;
    assert!(matches!(all, Err(OperateError::Wake(_))), "{all:?}");
    assert_eq!(world.count(TaskStatus::Pending), 3);
}

#[tokio::test(start_paused = true)]
async fn pause_blocks_wake_ups_and_resume_wakes_the_queue() {
    let world = World::start();
    let operator = world.operator();
    let pause = |time| operator.pause(time, "maintenance");
    assert_eq!(pause(HOUR).await.unwrap(), Written::Done);
    assert_eq!(pause(HOUR / 2).await.unwrap(), Written::Lost);
    let control = world.store.control().await.unwrap();
    assert_eq!(control.paused_until, Some(NOW.plus(HOUR)));
    assert_eq!(
        (control.pause_reason.as_deref(), control.busy_pauses),
        (Some("maintenance"), 0)
    );
    assert_eq!(operator.wake().await.unwrap(), Wake::Paused);
    assert_eq!(world.notifications(), 0);
    assert_eq!(operator.resume().await.unwrap(), Wake::Published);
    assert_eq!(world.store.control().await.unwrap().paused_until, None);
    assert_eq!(world.notifications(), 1);
}

#[tokio::test]
async fn notification_during_a_pause_does_not_block_resume() {
    for store in [conformance::memory(), conformance::dynamodb().await] {
        let world = World::start();
        let (topics, clock) = (world.topics.clone(), world.clock.clone());
        let waker = Waker::new(store.clone(), topics, clock, MARKER);
        let wake = waker.request("batch", WakeReason::Insert).await;
        assert_eq!(wake.unwrap(), Wake::Published);
        let operator = world.operator_on(store.clone());
        operator.pause(HOUR, "maintenance").await.unwrap();
        let met = store.acquire(&claim("m1", NOW), world.clock.now()).await;
        assert!(matches!(met, Ok(Acquired::Paused(_))), "{met:?}");
        assert_eq!(operator.resume().await.unwrap(), Wake::Published);
    }
}

#[tokio::test(start_paused = true)]
async fn a_resume_whose_wake_up_fails_is_an_error_and_the_pause_is_over() {
    let world = World::start();
    world.operator().pause(HOUR, "maintenance").await.unwrap();
    world.topics.set_broken(true);
    let resumed = world.operator().resume().await;
    assert!(matches!(resumed, Err(OperateError::Wake(_))), "{resumed:?}");
    assert!(!world.store.control().await.unwrap().is_paused(NOW));
}

#[tokio::test(start_paused = true)]
async fn each_wake_up_of_an_operator_is_a_separate_event() {
    let world = World::start();
    let operator = world.operator();
    assert_eq!(operator.wake().await.unwrap(), Wake::Published);
    assert_eq!(operator.wake().await.unwrap(), Wake::AlreadyNotified);
    tokio::time::sleep(MARKER).await;
    assert_eq!(operator.wake().await.unwrap(), Wake::Published);
    let now = world.clock.now();
    world.store.acquire(&claim("m1", now), now).await.unwrap();
    assert_eq!(operator.wake().await.unwrap(), Wake::AlreadyAwake);
    assert_eq!(world.store.control().await.unwrap().requested, 4);
}

#[tokio::test(start_paused = true)]
async fn cancelled_task_is_deleted_without_a_wake_up() {
    let world = World::start();
    insert(&*world.store, &["waits", "runs"]).await;
    take(&*world.store, "runs").await;
    let operator = world.operator();
    let cancel = |id: &'static str| {
        let operator = &operator;
        async move { operator.cancel(&TaskId::from_stored(id)).await.unwrap() }
    };
    assert_eq!(cancel("waits").await, Cancelled::Done);
    assert_eq!(cancel("waits").await, Cancelled::NotFound);
    assert_eq!(cancel("runs").await, Cancelled::Is(TaskStatus::Taken));
    assert_eq!(
        (world.status("waits"), world.status("runs")),
        (None, Some(TaskStatus::Taken))
    );
    assert_eq!(world.store.control().await.unwrap().requested, 0);
}
