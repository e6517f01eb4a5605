//! Sweeps on the in-memory store, on tokio's paused clock.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use conformance::{NOW, claim, insert, new_task, take};
use lifo_queue::backoff::Backoff;
use lifo_queue::control::Pause;
use lifo_queue::depth::Depth;
use lifo_queue::notify::WakeReason;
use lifo_queue::store::memory::MemoryStore;
use lifo_queue::store::{ControlStore, QueueStore, TakeOutcome, TaskStore, Written};
use lifo_queue::sweep::{FailedSweep, SweepReport, SweepSettings, Sweeper};
use lifo_queue::task::{Settlement, TaskId, TaskStatus, Ttl};
use lifo_queue::time::{Clock, TokioClock};
use lifo_queue::wake::Waker;
use simulator::faulty::{Fault, FaultyStore};
use simulator::topics::Topics;

const SETTINGS: SweepSettings = SweepSettings {
    default_ttl: Duration::from_secs(3_600),
    expiry_bound: None,
    overload_reach: None,
    max_attempts: 2,
    backoff: Backoff {
        base: Duration::from_secs(1),
        max: Duration::from_secs(60),
    },
    failure_retention: Duration::from_secs(600),
    clock_skew: Duration::from_secs(2),
};

/// The duration of a lease of `conformance::wish`.
const LEASE: Duration = Duration::from_secs(40);

struct World {
    store: Arc<MemoryStore>,
    topics: Arc<Topics>,
    clock: Arc<TokioClock>,
}

impl World {
    fn start() -> Self {
        let clock = Arc::new(TokioClock::starting_at(NOW));
        Self {
            store: Arc::default(),
            topics: Arc::default(),
            clock,
        }
    }

    async fn sweep(&self) -> SweepReport {
        self.sweep_on(self.store.clone()).await.unwrap()
    }

    async fn sweep_on(&self, store: Arc<dyn QueueStore>) -> Result<SweepReport, FailedSweep> {
        let marker = Duration::from_secs(10);
        let (topics, clock) = (self.topics.clone(), self.clock.clone());
        let waker = Waker::new(store.clone(), topics, clock.clone(), marker);
        let event = self.clock.now().0.to_string();
        Sweeper::new(store, waker, clock, SETTINGS)
            .sweep(&event)
            .await
    }

    /// The world's store with faults. The script gets the name of the operation and the number of
    /// its earlier calls.
    fn failing(
        &self,
        script: impl Fn(&'static str, u32) -> Fault + Send + Sync + 'static,
    ) -> Arc<FaultyStore> {
        let calls = Mutex::new(BTreeMap::<&str, u32>::new());
        Arc::new(FaultyStore::new(self.store.clone(), move |step| {
            let mut calls = calls.lock().unwrap();
            let before = calls.entry(step).or_default();
            *before += 1;
            script(step, *before - 1)
        }))
    }

    /// Adds taken tasks whose leases expired, and one due task.
    async fn with_stranded(self, stranded: u32) -> Self {
        for n in 0..stranded {
            let id = format!("t{n}");
            self.store.insert(&new_task(&id, n.into())).await.unwrap();
            take(&*self.store, &id).await;
        }
        insert(&*self.store, &["due"]).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        self
    }

    fn status(&self, id: &str) -> TaskStatus {
        self.store.record(&TaskId::from_stored(id)).unwrap().status
    }
}

#[tokio::test(start_paused = true)]
async fn sweep_returns_the_task_of_a_crashed_processor_after_lease_expiry() {
    let world = World::start();
    insert(&*world.store, &["stranded"]).await;
    let late = take(&*world.store, "stranded").await.lease;
    tokio::time::sleep(LEASE + SETTINGS.clock_skew - Duration::from_millis(1)).await;
    let early = world.sweep().await;
    assert_eq!(
        (early.returned, early.woke, early.complete),
        (0, false, true)
    );

    tokio::time::sleep(Duration::from_millis(1)).await;
    let report = world.sweep().await;
    assert_eq!((report.returned, report.failed, report.woke), (1, 0, true));
    let record = world.store.record(&late.task).unwrap();
    assert_eq!((record.status, record.attempts), (TaskStatus::Pending, 1));
    assert_eq!((record.lease_token, record.lease_until), (None, None));
    assert_eq!(record.ttl, Ttl::Seconds(new_task("stranded", 0).expires_at));
    assert!(record.not_before.unwrap() <= world.clock.now().plus(SETTINGS.backoff.base));
    assert_eq!(world.topics.process_tasks()[0].reason, WakeReason::Sweep);
    // The late worker has lost its lease.
    let now = world.clock.now();
    let settle = world
        .store
        .settle(&late, &Settlement::Success, &conformance::RETENTION, now);
    assert_eq!(settle.await.unwrap(), Written::Lost);
    // A second sweep finds nothing to return.
    assert_eq!(world.sweep().await.returned, 0);
}

#[tokio::test(start_paused = true)]
async fn expired_lease_of_the_last_attempt_fails_the_task() {
    let world = World::start();
    insert(&*world.store, &["killer"]).await;
    for attempt in 1..=SETTINGS.max_attempts {
        let mut wish = conformance::wish(conformance::candidate("killer"));
        wish.now = world.clock.now();
        wish.lease_until = wish.now.plus(LEASE);
        wish.alone = true;
        world.store.take(&wish).await.unwrap();
        tokio::time::sleep(Duration::from_secs(60)).await;
        let report = world.sweep().await;
        let last = attempt == SETTINGS.max_attempts;
        assert_eq!(
            (report.returned, report.failed),
            (u32::from(!last), u32::from(last))
        );
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    let record = world.store.record(&TaskId::from_stored("killer")).unwrap();
    assert_eq!(record.status, TaskStatus::Failure);
    assert!(record.last_error.unwrap().contains("last attempt"));
    let kept = world
        .clock
        .now()
        .floor_seconds()
        .plus(SETTINGS.failure_retention);
    assert!(matches!(record.ttl, Ttl::Seconds(at) if at <= kept && at > NOW.floor_seconds()));
}

#[tokio::test(start_paused = true)]
async fn task_with_expired_leases_gets_one_extra_attempt_alone() {
    let world = World::start();
    insert(&*world.store, &["neighbour"]).await;
    for (alone, expected) in [(false, 1), (false, 2), (true, 3)] {
        let mut wish = conformance::wish(conformance::candidate("neighbour"));
        wish.now = world.clock.now();
        wish.lease_until = wish.now.plus(LEASE);
        wish.alone = alone;
        let taken = world.store.take(&wish).await.unwrap();
        let TakeOutcome::Won(taken) = taken else {
            panic!("{taken:?}")
        };
        assert_eq!(taken.task.attempt, expected);
        tokio::time::sleep(Duration::from_secs(60)).await;
        let report = world.sweep().await;
        assert_eq!(
            (report.returned, report.failed),
            (u32::from(!alone), u32::from(alone))
        );
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn sweep_measures_pending_tasks_without_expired_ones() {
    let world = World::start();
    for n in 0..2_500 {
        let mut task = new_task(&format!("t{n}"), n);
        if n < 500 {
            task.expires_at = NOW.floor_seconds();
        }
        world.store.insert(&task).await.unwrap();
    }
    take(&*world.store, "t2000").await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let report = world.sweep().await;
    let exact = |count| Depth { count, exact: true };
    assert_eq!((report.pending, report.taken), (exact(1_999), exact(1)));
    assert_eq!(report.oldest_pending_ms, Some(2_500));
}

#[tokio::test(start_paused = true)]
async fn sweep_of_a_deep_queue_reports_a_lower_bound_and_the_oldest_task() {
    let world = World::start();
    for n in 0..12_100 {
        let mut task = new_task(&format!("t{n}"), n);
        if n < 1_100 {
            task.expires_at = NOW.floor_seconds();
        }
        world.store.insert(&task).await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(13)).await;
    let report = world.sweep().await;
    let capped = Depth {
        count: 10_000,
        exact: false,
    };
    assert_eq!((report.pending, report.complete), (capped, false));
    assert_eq!(report.pending.to_string(), "at least 10000");
    assert_eq!(report.oldest_pending_ms, Some(13_000 - 1_100));
}

#[tokio::test(start_paused = true)]
async fn sweep_wakes_only_if_a_task_is_due_and_no_processor_is_active() {
    let world = World::start();
    let nothing = Depth {
        count: 0,
        exact: true,
    };
    let expected = SweepReport {
        pages: 2,
        complete: true,
        pending: nothing,
        taken: nothing,
        ..SweepReport::default()
    };
    assert_eq!(world.sweep().await, expected);
    insert(&*world.store, &["due"]).await;
    world
        .store
        .acquire(&claim("holder", NOW), NOW)
        .await
        .unwrap();
    let report = world.sweep().await;
    assert_eq!((report.due, report.woke), (true, false));
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(world.sweep().await.woke);
    let until = world.clock.now().plus(Duration::from_secs(300));
    let reason = "maintenance".to_owned();
    let pause = Pause {
        until,
        reason,
        busy: false,
    };
    world.store.pause(&pause).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let report = world.sweep().await;
    assert_eq!((report.paused, report.woke), (true, false));
    tokio::time::sleep(Duration::from_secs(240)).await;
    assert!(world.sweep().await.woke, "the pause is over");
}

#[tokio::test(start_paused = true)]
async fn concurrent_sweeps_return_a_task_once() {
    let world = World::start();
    let ids: Vec<String> = (0..250).map(|n| format!("t{n}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    insert(&*world.store, &ids).await;
    for id in &ids {
        take(&*world.store, id).await;
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    let (one, two) = tokio::join!(world.sweep(), world.sweep());
    assert_eq!(one.returned + two.returned, 250);
    assert!(ids.iter().all(|id| world.status(id) == TaskStatus::Pending));
}

#[tokio::test(start_paused = true)]
async fn sweep_sends_no_wake_up_for_a_task_that_is_not_due() {
    let world = World::start();
    insert(&*world.store, &["later"]).await;
    let id = TaskId::from_stored("later");
    let mut record = world.store.record(&id).unwrap();
    record.not_before = Some(NOW.plus(Duration::from_secs(60)));
    world.store.put(id, record);
    let report = world.sweep().await;
    assert_eq!((report.due, report.woke), (false, false), "{report:?}");
    assert_eq!(report.pending.count, 1);
}

#[tokio::test(start_paused = true)]
async fn sweep_sends_no_request_to_an_active_processor() {
    let world = World::start();
    insert(&*world.store, &["due"]).await;
    world.store.acquire(&claim("m1", NOW), NOW).await.unwrap();
    let before = world.store.control().await.unwrap();
    let report = world.sweep().await;
    assert_eq!((report.due, report.woke), (true, false), "{report:?}");
    assert_eq!(world.store.control().await.unwrap(), before);
}

#[tokio::test(start_paused = true)]
async fn depth_above_the_count_limit_is_not_exact() {
    let world = World::start();
    for n in 0..=10_000 {
        let task = new_task(&format!("t{n}"), n);
        world.store.insert(&task).await.unwrap();
    }
    let pending = world.sweep().await.pending;
    assert_eq!((pending.count, pending.exact), (10_000, false));
}

#[tokio::test(start_paused = true)]
async fn sweep_wakes_if_it_cannot_read_all_pending_tasks() {
    let world = World::start();
    let later = NOW.plus(Duration::from_secs(3_000));
    // More tasks than a sweep counts. All are newer than the due one, and none of them is due.
    for n in 0..11_000 {
        let id = format!("later{n}");
        world.store.insert(&new_task(&id, n)).await.unwrap();
        let mut record = world.store.record(&TaskId::from_stored(&id)).unwrap();
        record.not_before = Some(later);
        world.store.put(TaskId::from_stored(&id), record);
    }
    world.store.insert(&new_task("due", -1)).await.unwrap();
    let report = world.sweep().await;
    assert!(!report.due && !report.pending.exact, "{report:?}");
    assert!(report.woke, "{report:?}");
    assert_eq!(world.topics.process_tasks()[0].reason, WakeReason::Sweep);
}

#[tokio::test(start_paused = true)]
async fn failed_reclaim_does_not_end_the_sweep() {
    for fault in [Fault::Throttled, Fault::Invalid, Fault::Denied] {
        let world = World::start().with_stranded(5).await;
        let store = world.failing(move |step, before| match (step, before) {
            ("reclaim", 0 | 2) => fault,
            _ => Fault::None,
        });
        let report = world.sweep_on(store).await.unwrap();
        assert_eq!((report.returned, report.errors), (3, 2), "{report:?}");
        assert!(report.woke && !report.complete, "{report:?}");
        assert_eq!(report.pending.count, 4, "{report:?}");
        assert_eq!(
            world.sweep().await.returned,
            2,
            "the next sweep tries again"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn throttled_sweep_stops_returning_tasks_but_wakes_and_measures() {
    let world = World::start().with_stranded(500).await;
    let store = world.failing(|step, _| match step {
        "reclaim" => Fault::Throttled,
        _ => Fault::None,
    });
    let report = world.sweep_on(store).await.unwrap();
    assert!(report.errors < 50 && report.errors == report.unanswered);
    assert_eq!((report.due, report.woke), (true, true), "{report:?}");
    assert_eq!((report.pending.count, report.taken.count), (1, 500));
}

#[tokio::test(start_paused = true)]
async fn an_index_that_cannot_be_read_fails_the_sweep_after_its_other_steps() {
    let world = World::start().with_stranded(1).await;
    let store = world.failing(|step, _| match step {
        "taken_page" => Fault::Throttled,
        _ => Fault::None,
    });
    let failed = world.sweep_on(store).await.unwrap_err();
    assert!(failed.report.woke && !failed.report.complete, "{failed:?}");
    assert_eq!(failed.report.pending.count, 1);
    let store = world.failing(|step, _| match step {
        "pending_page" => Fault::Throttled,
        _ => Fault::None,
    });
    let failed = world.sweep_on(store).await.unwrap_err();
    assert_eq!((failed.report.returned, failed.report.woke), (1, true));
}
