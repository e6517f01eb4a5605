//! Turns of `process-tasks` on the in-memory store, on tokio's paused clock: minutes pass in
//! milliseconds, and always alike.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use conformance::{NOW, RETENTION, claim, new_task};
use lifo_queue::backoff::Backoff;
use lifo_queue::notify::WakeReason;
use lifo_queue::process::{
    Exit, FailedTurn, Invocation, ProcessSettings, Processor, TurnError, TurnSummary,
};
use lifo_queue::runner::{Outcome, TaskRunner};
use lifo_queue::store::memory::{MemoryStore, Record};
use lifo_queue::store::{ControlStore, QueueStore, TaskStore};
use lifo_queue::task::{Task, TaskId, TaskStatus, Ttl};
use lifo_queue::time::{Clock, Millis, TokioClock};
use lifo_queue::wake::{Wake, Waker};
use local_cloud::faulty::{Fault, FaultyStore};
use local_cloud::topics::Topics;

const SETTINGS: ProcessSettings = ProcessSettings {
    turn: Duration::from_secs(60),
    task_timeout: Duration::from_secs(30),
    deadline_margin: Duration::from_secs(10),
    slots: 10,
    max_attempts: 5,
    max_busy_returns: 20,
    backoff: Backoff {
        base: Duration::from_secs(1),
        max: Duration::from_secs(300),
    },
    processor_lease: Duration::from_secs(20),
    heartbeat: Duration::from_secs(5),
    index_lag: Duration::from_secs(2),
    max_idle_turns: 3,
    clock_skew: Duration::from_secs(2),
    retention: RETENTION,
    default_ttl: Duration::from_secs(3600),
    notification_marker: Duration::from_secs(10),
    pause: Duration::from_secs(300),
};

type Script = Box<dyn Fn(&Task) -> (Duration, Outcome) + Send + Sync>;

/// Answers as a script says, and remembers the order of starts.
struct Scripted {
    script: Script,
    started: Mutex<Vec<String>>,
}

#[async_trait]
impl TaskRunner for Scripted {
    async fn run(&self, task: &Task) -> Outcome {
        self.started.lock().unwrap().push(task.task_id.to_string());
        let (duration, outcome) = (self.script)(task);
        tokio::time::sleep(duration).await;
        outcome
    }
}

struct World {
    store: Arc<MemoryStore>,
    topics: Arc<Topics>,
    clock: Arc<TokioClock>,
    runner: Arc<Scripted>,
    settings: ProcessSettings,
}

impl World {
    fn new(script: impl Fn(&Task) -> (Duration, Outcome) + Send + Sync + 'static) -> Self {
        let runner = Scripted {
            script: Box::new(script),
            started: Mutex::default(),
        };
        Self {
            store: Arc::new(MemoryStore::new()),
            topics: Arc::new(Topics::default()),
            clock: Arc::new(TokioClock::starting_at(NOW)),
            runner: Arc::new(runner),
            settings: SETTINGS,
        }
    }

    async fn with_tasks(self, count: i64) -> Self {
        for n in 0..count {
            self.store
                .insert(&new_task(&format!("t{n:04}"), n - count))
                .await
                .unwrap();
        }
        self
    }

    async fn turn_on(&self, store: Arc<dyn QueueStore>) -> Result<TurnSummary, FailedTurn> {
        let processor = Processor::new(
            store,
            self.topics.clone(),
            self.runner.clone(),
            self.clock.clone(),
            self.settings,
        );
        let deadline = Some(self.clock.now().plus(Duration::from_secs(120)));
        processor
            .turn(Invocation {
                message_id: "m1".into(),
                deadline,
            })
            .await
    }

    async fn turn(&self) -> TurnSummary {
        self.turn_on(self.store.clone()).await.unwrap()
    }

    fn started(&self) -> Vec<String> {
        self.runner.started.lock().unwrap().clone()
    }

    fn count(&self, status: TaskStatus) -> usize {
        self.store
            .records()
            .iter()
            .filter(|(_, record)| record.status == status)
            .count()
    }

    fn record(&self, id: &str) -> Record {
        self.store.record(&TaskId::from_stored(id)).unwrap()
    }

    fn waker(&self) -> Waker {
        let marker = SETTINGS.notification_marker;
        Waker::new(
            self.store.clone(),
            self.topics.clone(),
            self.clock.clone(),
            marker,
        )
    }
}

fn at_once() -> (Duration, Outcome) {
    (Duration::ZERO, Outcome::Success)
}

#[tokio::test(start_paused = true)]
async fn a_turn_drains_the_queue_newest_first_and_releases_the_lease() {
    let mut world = World::new(|_| (Duration::from_millis(500), Outcome::Success));
    world.settings.slots = 1;
    let world = world.with_tasks(40).await;
    let summary = world.turn().await;
    assert_eq!((summary.exit, summary.tail_call), (Exit::Empty, false));
    assert_eq!((summary.taken, summary.succeeded), (40, 40));
    let newest_first: Vec<_> = (0..40).rev().map(|n| format!("t{n:04}")).collect();
    assert_eq!(world.started(), newest_first);
    assert_eq!(world.store.control().await.unwrap().lease, None);
    assert!(world.topics.trigger().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_newer_task_overtakes_the_backlog_at_the_next_free_slot() {
    let mut world = World::new(|_| (Duration::from_secs(1), Outcome::Success));
    world.settings.slots = 1;
    let world = world.with_tasks(10).await;
    let late = async {
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        world.store.insert(&new_task("late", 2_500)).await.unwrap();
    };
    let (summary, ()) = tokio::join!(world.turn(), late);
    assert_eq!(summary.succeeded, 11);
    assert_eq!(world.started()[3], "late");
}

#[tokio::test(start_paused = true)]
async fn time_up_releases_first_and_then_tail_calls() {
    let world = World::new(|_| (Duration::from_secs(7), Outcome::Success))
        .with_tasks(200)
        .await;
    let summary = world.turn().await;
    assert_eq!((summary.exit, summary.tail_call), (Exit::TimeUp, true));
    // Nine rounds of ten start within the minute, and every one is awaited.
    assert_eq!(summary.succeeded, 90);
    assert_eq!(world.count(TaskStatus::Taken), 0);
    assert_eq!(world.store.control().await.unwrap().lease, None);
    let tail_calls = world.topics.trigger();
    assert_eq!(tail_calls.len(), 1);
    assert_eq!(tail_calls[0].reason, WakeReason::TailCall);
}

#[tokio::test(start_paused = true)]
async fn a_tail_call_that_is_not_published_fails_the_turn() {
    let world = World::new(|_| (Duration::from_secs(7), Outcome::Success))
        .with_tasks(200)
        .await;
    world.topics.set_broken(true);
    let error = world.turn_on(world.store.clone()).await.unwrap_err();
    assert!(matches!(error.error, TurnError::TailCall(_)), "{error}");
    assert_eq!(
        (error.summary.exit, error.summary.succeeded),
        (Exit::Failed, 90)
    );
    // The retry finds the lease free.
    assert_eq!(world.store.control().await.unwrap().lease, None);
}

#[tokio::test(start_paused = true)]
async fn turns_that_settle_nothing_end_the_loop() {
    let busy = Outcome::Busy { retry_after: None };
    let mut world = World::new(move |_| (Duration::ZERO, busy.clone()));
    world.settings.max_busy_returns = u32::MAX;
    let world = world.with_tasks(2).await;
    let mut tail_calls = Vec::new();
    for _ in 0..4 {
        tail_calls.push(world.turn().await.tail_call);
    }
    assert_eq!(tail_calls, [true, true, false, false]);
    assert_eq!(world.turn().await.exit, Exit::NoProgress);
}

#[tokio::test(start_paused = true)]
async fn another_processors_live_lease_ends_the_turn_quietly() {
    let world = World::new(|_| at_once()).with_tasks(1).await;
    world
        .store
        .acquire(&claim("other", NOW), NOW)
        .await
        .unwrap();
    let summary = world.turn().await;
    assert_eq!((summary.exit, summary.taken), (Exit::AlreadyActive, 0));
}

#[tokio::test(start_paused = true)]
async fn a_lease_of_my_own_message_means_that_i_died_before() {
    let world = World::new(|_| at_once()).with_tasks(1).await;
    world.store.acquire(&claim("m1", NOW), NOW).await.unwrap();
    let error = world.turn_on(world.store.clone()).await.unwrap_err();
    assert!(
        matches!(error.error, TurnError::Predecessor { .. }),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_during_the_linger_keeps_the_processor_awake() {
    let world = World::new(|_| at_once()).with_tasks(1).await;
    let late = async {
        tokio::time::sleep(Duration::from_millis(1_900)).await;
        world.store.insert(&new_task("late", 1_900)).await.unwrap();
        let wake = world
            .waker()
            .request("event", WakeReason::Insert)
            .await
            .unwrap();
        assert_eq!(wake, Wake::AlreadyAwake);
    };
    let (summary, ()) = tokio::join!(world.turn(), late);
    assert_eq!((summary.exit, summary.succeeded), (Exit::Empty, 2));
    assert!(summary.duration_ms >= 3_900, "{summary:?}");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_the_index_does_not_show_yet_is_looked_for_again() {
    let world = World::new(|_| at_once());
    let request = async {
        tokio::time::sleep(Duration::from_millis(1_999)).await;
        world
            .waker()
            .request("event", WakeReason::Insert)
            .await
            .unwrap();
        // The index shows it only later.
        tokio::time::sleep(Duration::from_millis(1_900)).await;
        world.store.insert(&new_task("late", 3_900)).await.unwrap();
    };
    let (summary, ()) = tokio::join!(world.turn(), request);
    assert_eq!(summary.succeeded, 1);
}

#[tokio::test(start_paused = true)]
async fn a_panic_and_a_time_out_cost_one_task_one_attempt() {
    let world = World::new(|task| match task.task_id.as_str() {
        "t0002" => panic!("boom"),
        "t0001" => (Duration::from_secs(99), Outcome::Success),
        _ => at_once(),
    });
    let world = world.with_tasks(4).await;
    let turn = world.turn().await;
    assert_eq!((turn.succeeded, world.count(TaskStatus::Success)), (2, 2));
    for (id, error) in [("t0002", "boom"), ("t0001", "task timeout")] {
        let record = world.record(id);
        assert!(record.last_error.unwrap().contains(error), "{id}");
        assert!(record.attempts >= 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_poison_task_ends_as_failure_after_its_attempts() {
    let retry = Outcome::Retry {
        reason: "HTTP 500".into(),
    };
    let mut world = World::new(move |task| match task.task_id.as_str() {
        "t0000" => (Duration::ZERO, retry.clone()),
        _ => at_once(),
    });
    world.settings.backoff.max = Duration::from_secs(2);
    let world = world.with_tasks(5).await;
    let summary = world.turn().await;
    assert_eq!(
        (summary.succeeded, summary.failed, summary.retried),
        (4, 1, 4)
    );
    let record = world.record("t0000");
    assert_eq!((record.status, record.attempts), (TaskStatus::Failure, 5));
    assert!(record.last_error.unwrap().contains("HTTP 500"));
    assert!(matches!(record.ttl, Ttl::Seconds(at) if at > NOW.floor_seconds()));
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_final() {
    let failure = Outcome::Failure {
        reason: "HTTP 400".into(),
    };
    let world = World::new(move |_| (Duration::ZERO, failure.clone()))
        .with_tasks(1)
        .await;
    let summary = world.turn().await;
    assert_eq!((summary.failed, summary.retried), (1, 0));
    assert_eq!(
        world.record("t0000").last_error.as_deref(),
        Some("HTTP 400")
    );
}

#[tokio::test(start_paused = true)]
async fn a_busy_downstream_slows_the_processor_and_costs_no_attempts() {
    let running = Arc::new(Mutex::new(HashMap::<String, Millis>::new()));
    let clock = TokioClock::starting_at(NOW);
    let capacity = move |task: &Task| {
        let mut running = running.lock().unwrap();
        let now = clock.now();
        running.retain(|_, until| *until > now);
        if running.len() >= 3 {
            return (Duration::ZERO, Outcome::Busy { retry_after: None });
        }
        running.insert(
            task.task_id.to_string(),
            now.plus(Duration::from_millis(900)),
        );
        (Duration::from_millis(900), Outcome::Success)
    };
    let world = World::new(capacity).with_tasks(60).await;
    let summary = world.turn().await;
    assert_eq!(world.count(TaskStatus::Failure), 0, "{summary:?}");
    assert!(summary.succeeded >= 40, "{summary:?}");
    // The published sample takes each task 2.8 times.
    assert!(summary.taken <= 2 * summary.succeeded, "{summary:?}");
    assert!(
        world
            .store
            .records()
            .iter()
            .all(|(_, record)| record.attempts <= 1)
    );
}

#[tokio::test(start_paused = true)]
async fn a_downstream_that_refuses_several_tasks_pauses_the_queue() {
    let refused = Outcome::Refused {
        reason: "HTTP 403".into(),
    };
    let world = World::new(move |_| (Duration::from_secs(1), refused.clone()));
    let world = world.with_tasks(50).await;
    let summary = world.turn().await;
    assert_eq!((summary.exit, summary.tail_call), (Exit::Paused, false));
    assert!(summary.taken <= 10, "{summary:?}");
    assert_eq!(world.count(TaskStatus::Pending), 50);
    assert_eq!(world.turn().await.exit, Exit::Paused);
    let wake = world
        .waker()
        .request("event", WakeReason::Insert)
        .await
        .unwrap();
    assert_eq!(wake, Wake::Paused);
    tokio::time::sleep(SETTINGS.pause).await;
    assert!(world.turn().await.taken > 0);
}

#[tokio::test(start_paused = true)]
async fn one_task_that_is_refused_does_not_pause_the_others() {
    let world = World::new(|task| match task.task_id.as_str() {
        "t0003" => (
            Duration::ZERO,
            Outcome::Refused {
                reason: "HTTP 404".into(),
            },
        ),
        _ => at_once(),
    });
    let world = world.with_tasks(20).await;
    let summary = world.turn().await;
    assert_eq!(summary.succeeded, 19);
    assert_ne!(summary.exit, Exit::Paused);
}

#[tokio::test(start_paused = true)]
async fn what_still_runs_at_the_deadline_is_given_back() {
    // The deadline comes sooner than the settings promise, as on a local runtime.
    let mut world = World::new(|_| (Duration::from_secs(500), Outcome::Success));
    world.settings.task_timeout = Duration::from_secs(1_000);
    world.settings.deadline_margin = Duration::ZERO;
    world.settings.turn = Duration::from_secs(5);
    let world = world.with_tasks(3).await;
    let processor = Processor::new(
        world.store.clone(),
        world.topics.clone(),
        world.runner.clone(),
        world.clock.clone(),
        world.settings,
    );
    let invocation = Invocation {
        message_id: "m1".into(),
        deadline: None,
    };
    let summary = processor.turn(invocation).await.unwrap();
    assert_eq!(
        summary.succeeded, 3,
        "without a deadline every run is awaited: {summary:?}"
    );

    let world = World::new(|_| (Duration::from_secs(500), Outcome::Success))
        .with_tasks(3)
        .await;
    let mut settings = SETTINGS;
    settings.task_timeout = Duration::from_secs(80);
    let processor = Processor::new(
        world.store.clone(),
        world.topics.clone(),
        world.runner.clone(),
        world.clock.clone(),
        settings,
    );
    let deadline = Some(NOW.plus(Duration::from_secs(91)));
    let invocation = Invocation {
        message_id: "m1".into(),
        deadline,
    };
    let summary = processor.turn(invocation).await.unwrap();
    assert_eq!((summary.taken, summary.retried), (3, 3), "{summary:?}");
    assert_eq!(world.count(TaskStatus::Pending), 3);
    assert!(world.clock.now() <= NOW.plus(Duration::from_secs(81)));
}

#[tokio::test(start_paused = true)]
async fn a_processor_that_lost_its_lease_stops_taking() {
    let mut world = World::new(|_| {
        (
            Duration::from_secs(4),
            Outcome::Retry { reason: "x".into() },
        )
    });
    world.settings.backoff.max = Duration::ZERO;
    let world = world.with_tasks(100).await;
    let thief = async {
        tokio::time::sleep(Duration::from_millis(4_900)).await;
        // As if this one had stood still for longer than its lease.
        let owner = world.store.control().await.unwrap().lease.unwrap().owner;
        world.store.renew(owner, Millis(0)).await.unwrap();
        let now = world.clock.now();
        world
            .store
            .acquire(&claim("thief", now), now)
            .await
            .unwrap();
    };
    let (summary, ()) = tokio::join!(world.turn(), thief);
    assert_eq!((summary.exit, summary.tail_call), (Exit::LeaseLost, false));
    assert_eq!(summary.taken, 20, "{summary:?}");
    // The thief holds the lease and was asked to look again.
    let control = world.store.control().await.unwrap();
    assert_eq!(control.lease.unwrap().message_id, "thief");
    assert_eq!(control.requested, 1);
}

#[tokio::test(start_paused = true)]
async fn a_processor_whose_lease_ran_out_unrenewed_calls_on() {
    let world = World::new(|_| (Duration::from_secs(3), Outcome::Success))
        .with_tasks(500)
        .await;
    let unrenewed = FaultyStore::new(world.store.clone(), |operation| match operation {
        "renew" => Fault::Refused,
        _ => Fault::None,
    });
    let summary = world.turn_on(Arc::new(unrenewed)).await.unwrap();
    // It takes only while the lease is live, lets what runs end, and wakes a successor.
    assert_eq!((summary.exit, summary.tail_call), (Exit::TimeUp, true));
    assert_eq!(summary.succeeded, 70, "{summary:?}");
    assert_eq!(world.topics.trigger().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_query_that_fails_is_not_an_empty_queue() {
    let world = World::new(|_| at_once()).with_tasks(5).await;
    let broken = FaultyStore::new(world.store.clone(), |operation| match operation {
        "pending_page" => Fault::Refused,
        _ => Fault::None,
    });
    let error = world.turn_on(Arc::new(broken)).await.unwrap_err();
    assert!(matches!(error.error, TurnError::Store(_)), "{error}");
    assert_eq!(world.store.control().await.unwrap().lease, None);
}

#[tokio::test(start_paused = true)]
async fn lost_acknowledgements_cost_nothing() {
    let world = World::new(|_| at_once()).with_tasks(30).await;
    let calls = Mutex::new(0_u32);
    let flaky = FaultyStore::new(world.store.clone(), move |operation| {
        let mut calls = calls.lock().unwrap();
        *calls += 1;
        match operation {
            "take" | "settle" | "give_back" if calls.is_multiple_of(3) => Fault::LostAck,
            _ => Fault::None,
        }
    });
    let summary = world.turn_on(Arc::new(flaky)).await.unwrap();
    assert_eq!(
        (summary.succeeded, summary.lost_races, summary.store_errors),
        (30, 0, 0)
    );
    assert_eq!(world.started().len(), 30, "every task ran once");
}

#[tokio::test(start_paused = true)]
async fn tasks_due_within_the_turn_are_waited_for_and_later_ones_left() {
    let retry = Outcome::Retry {
        reason: "not yet".into(),
    };
    let clock = TokioClock::starting_at(NOW);
    let world = World::new(move |_| match clock.now() {
        now if now < NOW.plus(Duration::from_millis(1)) => (Duration::ZERO, retry.clone()),
        _ => at_once(),
    });
    let world = world.with_tasks(2).await;
    let mut later = world.record("t0000");
    later.not_before = Some(NOW.plus(Duration::from_secs(600)));
    world.store.put(TaskId::from_stored("later"), later);
    let summary = world.turn().await;
    assert_eq!(
        (summary.exit, summary.succeeded, summary.retried),
        (Exit::Empty, 2, 2)
    );
    assert_eq!(world.record("later").status, TaskStatus::Pending);
}
