//! The real core under load: create, wake-ups, turns and sweeps, with the in-memory store.

use std::time::Duration;

use lifo_queue::process::ProcessSettings;
use lifo_queue::task::{Retention, TaskStatus};
use lifo_queue::time::Millis;
use serde_json::{Value, json};
use simulator::cloud::{self, BEGIN, Cloud, CloudSettings, Report};

use crate::arrivals::{Arrivals, TICK};
use crate::downstream::{CAPACITY, Downstream, Model, Outage};
use crate::figures::Played;

/// Time from the creation of a task to its expiry.
pub(crate) const EXPIRY: Duration = Duration::from_secs(3_600);

#[derive(Clone)]
pub(crate) struct Experiment {
    pub(crate) seed: u64,
    pub(crate) arrivals: Arrivals,
    /// Simulated time after the last arrival.
    pub(crate) rest: Duration,
    pub(crate) model: Model,
    pub(crate) outage: Option<Outage>,
    pub(crate) process: ProcessSettings,
}

/// Returns the deployed settings, with the downstream's capacity as the number of slots.
pub(crate) fn settings() -> ProcessSettings {
    let minute = Duration::from_secs(60);
    ProcessSettings {
        slots: CAPACITY as u16,
        // Delete successful tasks soon, so that the store remains small.
        retention: Retention {
            success: Duration::from_secs(1),
            failure: 24 * 60 * minute,
        },
        ..CloudSettings::default().process
    }
}

/// Simulates an experiment with the real core.
///
/// # Panics If a guarantee is broken.
pub(crate) fn play(experiment: &Experiment) -> Played {
    let downstream = Downstream::new(experiment.model, experiment.outage);
    let mut created = Vec::new();
    let failed = cloud::play(experiment.seed, async |builder| {
        let called = downstream.clone();
        let begin = tokio::time::Instant::now();
        let cloud = builder
            .process(experiment.process)
            .script(move |task| {
                let now = BEGIN.plus(begin.elapsed());
                let poison = task.payload["poison"] == true;
                called.call(task.task_created, poison, now)
            })
            .start();
        for batch in experiment.arrivals.batches(experiment.seed) {
            let end = tokio::time::Instant::now() + TICK;
            let now = cloud.now();
            let spec = |poison| spec(now, EXPIRY, &json!({ "poison": poison }));
            let specs: Vec<_> = batch.iter().map(spec).collect();
            create(&cloud, &specs).await;
            tokio::time::sleep_until(end).await;
            created.resize(created.len() + batch.len(), now);
        }
        cloud.run_for(experiment.rest).await;
        let tasks = cloud.tasks().into_iter();
        let failed = tasks.filter(|(_, record)| record.status == TaskStatus::Failure);
        let failed = failed.count();
        finish(cloud);
        failed
    });
    Played {
        created,
        runs: downstream.runs(),
        failed,
    }
}

/// Ends an experiment, possibly before all its tasks have ended.
///
/// # Panics If a guarantee is broken.
pub(crate) fn finish(cloud: Cloud) -> Report {
    let report = cloud.finish();
    let violations = report.violations.iter();
    let broken: Vec<_> = violations
        .filter(|text| !text.ends_with("never ends"))
        .collect();
    assert!(broken.is_empty(), "{broken:#?}");
    report
}

/// Creates the description of a task.
pub(crate) fn spec(created: Millis, expiry: Duration, payload: &Value) -> Value {
    json!({"taskCreated": created.0, "ttlSeconds": expiry.as_secs(), "payload": payload})
}

/// Creates the given tasks, if any, in one invocation.
pub(crate) async fn create(cloud: &Cloud, specs: &[Value]) {
    if !specs.is_empty() {
        let report = cloud.invoke_create(specs).await;
        let failed = report.map(|report| report.failed);
        assert_eq!(failed, Some(Vec::new()), "tasks were not created");
    }
}
