//! Tests smoke on the in-memory store, with a simulated deployment on tokio's paused clock.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lifo_queue::store::memory::{MemoryStore, Record};
use lifo_queue::task::{TaskId, TaskStatus, Ttl};
use lifo_queue::time::{Clock, Millis};
use serde_json::{Value, json};
use simulator::texts::has;
use simulator::topics::Topics;

use super::*;
use crate::account::Caller;
use crate::confirm::NoTerminal;
use crate::function::Function;
use crate::verbs::Fake;
use lifo_queue::time::TokioClock;

const NOW: Millis = Millis(1_800_000_000_000);
const RUN: Duration = Duration::from_millis(700);

/// The functions of a queue: creates tasks, and runs up to ten due tasks, newest first.
#[derive(Clone)]
struct Deployment {
    store: Arc<MemoryStore>,
    clock: Arc<TokioClock>,
    topics: Arc<Topics>,
    stack: Fake,
    rejects: bool,
    oldest_first: bool,
    outcome: TaskStatus,
    starts: bool,
}

impl Deployment {
    fn healthy() -> Self {
        Self {
            store: Arc::default(),
            clock: Arc::new(TokioClock::starting_at(NOW)),
            topics: Arc::default(),
            stack: Fake::healthy(),
            rejects: false,
            oldest_first: false,
            outcome: TaskStatus::Success,
            starts: true,
        }
    }

    async fn run(&self) {
        loop {
            let now = self.clock.now();
            let mut tasks = self.store.records();
            tasks.sort_by_key(|(_, task)| match self.oldest_first {
                true => task.created.0,
                false => -task.created.0,
            });
            let mut free = 10;
            for (id, mut task) in tasks {
                let due = task.not_before.is_none_or(|at| at <= now);
                if task.lease_until.is_some_and(|at| at <= now) {
                    (task.status, task.lease_until) = (self.outcome, None);
                    task.last_error =
                        (self.outcome == TaskStatus::Failure).then(|| "HTTP 400".to_owned());
                } else if task.status == TaskStatus::Taken {
                    free -= 1;
                } else if task.status == TaskStatus::Pending && due && free > 0 && self.starts {
                    free -= 1;
                    (task.status, task.lease_until) = (TaskStatus::Taken, Some(now.plus(RUN)));
                }
                self.store.put(id, task);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Runs the verb, and returns its report.
    async fn report(&self, yes: bool) -> Result<Report> {
        let (name, caller) = ("LifoQueue-dev".to_owned(), Caller::example());
        let (store, topics, clock) = (self.store.clone(), self.topics.clone(), self.clock.clone());
        let queue = Queue {
            deployed: Some(Arc::new(self.stack.clone())),
            creates: Some(Arc::new(self.clone())),
            ..Queue::new(name, caller, store, topics, clock)
        };
        let payload = "{\"a\": 1.0}".to_owned();
        let smoke = Smoke { payload, yes };
        let mut prompt = NoTerminal;
        tokio::select! {
            // Otherwise, the order at equal times is random.
            biased;
            report = smoke.run(&queue, &mut prompt) => report,
            () = self.run() => unreachable!("the deployment does not end"),
        }
    }

    /// Runs the verb, and returns the failed checks.
    async fn failed(&self) -> Vec<(String, String)> {
        let report = self.report(true).await.unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let checks = report.json["checks"].as_array().unwrap().iter();
        let failed = checks.filter(|check| check["state"] == "FAILED");
        let failed: Vec<_> = failed
            .map(|check| (text(&check["name"]), text(&check["note"])))
            .collect();
        assert_eq!(
            report.exit == Exit::Done,
            failed.is_empty(),
            "{}",
            report.text
        );
        assert_eq!(self.store.records(), [], "test tasks are left");
        failed
    }
}

#[async_trait]
impl Function for Deployment {
    async fn send(&self, event: &str) -> Result<Value> {
        if self.rejects {
            return Ok(
                json!({ "created": [], "failed": [{ "error": "field payload is too deep" }] }),
            );
        }
        assert!(
            event.contains("\"payload\":{\"a\": 1.0}"),
            "the payload is unchanged: {event}"
        );
        let event: Value = serde_json::from_str(event).unwrap();
        for task in event["tasks"].as_array().unwrap() {
            let created = task["taskCreated"]
                .as_i64()
                .map_or(self.clock.now(), Millis);
            let after = |field: &str| Duration::from_secs(task[field].as_u64().unwrap());
            let record = Record {
                not_before: Some(created.plus(after("delaySeconds"))),
                ..Record::pending(
                    created,
                    Ttl::Seconds(created.plus(after("ttlSeconds")).ceil_seconds()),
                )
            };
            self.store.put(
                TaskId::from_stored(task["taskId"].as_str().unwrap()),
                record,
            );
        }
        Ok(json!({ "created": event["tasks"], "failed": [] }))
    }
}

#[tokio::test(start_paused = true)]
async fn healthy_queue_passes_and_keeps_no_test_task() {
    let queue = Deployment::healthy();
    let report = queue.report(true).await.unwrap();
    insta::assert_snapshot!(report.text);
    assert_eq!((report.exit, queue.store.records()), (Exit::Done, vec![]));
    let notified = (
        queue.topics.process_tasks().len(),
        queue.topics.trigger().len(),
    );
    assert_eq!(notified, (2, 1), "one wake-up when the burst is due");
}

/// Expects that a defect fails these checks, the first of them for this reason.
async fn expect(defect: fn(&mut Deployment), checks: &[&str], why: &str) {
    let mut queue = Deployment::healthy();
    defect(&mut queue);
    let failed = queue.failed().await;
    let names: Vec<_> = failed.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, checks, "{failed:?}");
    has(&failed[0].1, why);
}

#[tokio::test(start_paused = true)]
async fn each_defect_of_a_deployment_fails_its_check() {
    let broken = &["topics", "success"];
    expect(|it| it.topics.set_broken(true), broken, "is broken").await;
    expect(|it| it.stack.repeats = false, &["writes"], "cancelled").await;
    let rejected = &["wake-up", "creation"];
    expect(
        |it| it.rejects = true,
        rejected,
        "field payload is too deep",
    )
    .await;
    let stopped = &["wake-up", "success"];
    expect(|it| it.starts = false, stopped, "did not start within 20s").await;
    let order = "older tasks started before a newer one";
    expect(|it| it.oldest_first = true, &["newest first"], order).await;
    let failing = |it: &mut Deployment| it.outcome = TaskStatus::Failure;
    expect(failing, &["success"], "0 of 43 tasks succeeded").await;
    let drifted = |it: &mut Deployment| it.stack.set("alarm", "/Threshold", json!(9));
    expect(drifted, &["doctor"], "Threshold is 9").await;
    let firing = |it: &mut Deployment| it.stack.firing = vec!["stalled".to_owned()];
    expect(firing, &["alarms"], "firing: stalled").await;
}

#[tokio::test(start_paused = true)]
async fn behavior_counts_as_settled_only_on_aws_and_in_an_idle_queue() {
    let queue = Deployment::healthy();
    let states = async |queue: &Deployment| {
        let report = queue.report(true).await.unwrap();
        let settled = |state: &str| report.text.matches(&format!("\n{state} ")).count();
        (settled("settled"), settled("local only"))
    };
    assert_eq!(states(&queue).await, (12, 0));
    let mut local = queue.clone();
    local.stack.stack.is_local = true;
    assert_eq!(states(&local).await, (0, 12));
    let mut order = queue.clone();
    order.oldest_first = true;
    let process = order.stack.stack.resources.iter_mut();
    for resource in process.filter(|there| there.kind == Kind::Function) {
        resource.wanted["Environment"]["Variables"]["SETTINGS_PROCESS_TASKS"] =
            json!("{\"concurrency\":10,\"order\":\"oldest-key-first\"}");
    }
    let report = order.report(true).await.unwrap();
    has(&report.text, "this queue starts the oldest key first");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_created_without_confirmation_or_in_a_paused_queue() {
    let queue = Deployment::healthy();
    let failure = queue.report(false).await.unwrap_err();
    has(&failure.line(), "use --yes instead");
    let pause = lifo_queue::control::Pause {
        until: NOW.plus(Duration::from_secs(60)),
        reason: "maintenance".to_owned(),
        by: None,
    };
    lifo_queue::store::ControlStore::pause(&*queue.store, &pause)
        .await
        .unwrap();
    let report = queue.report(true).await.unwrap();
    has(&report.text, "nothing was checked: the queue is paused");
    assert_eq!((report.exit, queue.store.records()), (Exit::NotAll, vec![]));
}
