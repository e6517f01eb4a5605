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

#[derive(Clone)]
pub(crate) struct Experiment {
    pub(crate) seed: u64,
    pub(crate) arrivals: Arrivals,
    /// Simulated time after the last arrival.
    pub(crate) rest: Duration,
    pub(crate) expiry: Duration,
    pub(crate) model: Model,
    pub(crate) outage: Option<Outage>,
    pub(crate) process: ProcessSettings,
}

/// The deployed settings, with as many slots as the downstream's capacity.
#[allow(clippy::cast_possible_truncation, reason = "a small number")]
pub(crate) fn settings() -> ProcessSettings {
    let minute = Duration::from_secs(60);
    ProcessSettings {
        slots: CAPACITY as u16,
        // Successful tasks are deleted soon, so that the store stays small.
        retention: Retention {
            success: Duration::from_secs(1),
            failure: 24 * 60 * minute,
        },
        ..CloudSettings::default().process
    }
}

/// Plays an experiment with the real core.
///
/// # Panics
/// If a guarantee was broken.
pub(crate) fn play(experiment: &Experiment) -> Played {
    let downstream = Downstream::new(experiment.model, experiment.outage);
    let mut created = Vec::new();
    let failed = cloud::play(experiment.seed, async |builder| {
        let called = downstream.clone();
        let begin = tokio::time::Instant::now();
        let cloud = builder
            .settings(CloudSettings {
                process: experiment.process,
                ..CloudSettings::default()
            })
            .script(move |task| {
                let now = BEGIN.plus(begin.elapsed());
                let poison = task.payload["poison"] == true;
                called.call(task.task_created, poison, now)
            })
            .start();
        for batch in experiment.arrivals.batches(experiment.seed) {
            created.extend(create(&cloud, &batch, experiment.expiry).await);
        }
        cloud.run_for(experiment.rest).await;
        let tasks = cloud.tasks();
        let failed = tasks
            .iter()
            .filter(|(_, record)| record.status == TaskStatus::Failure)
            .count();
        finish(cloud);
        failed
    });
    Played {
        created,
        runs: downstream.runs(),
        failed,
    }
}

/// Ends an experiment, perhaps before its tasks do.
///
/// # Panics
/// If a guarantee was broken.
pub(crate) fn finish(cloud: Cloud) -> Report {
    let report = cloud.finish();
    let violations = report.violations.iter();
    let broken: Vec<_> = violations
        .filter(|text| !text.ends_with("never ends"))
        .collect();
    assert!(broken.is_empty(), "{broken:#?}");
    report
}

/// Creates the tasks of one tick, and lets the rest of the tick pass.
async fn create(cloud: &Cloud, batch: &[bool], expiry: Duration) -> Vec<Millis> {
    let end = tokio::time::Instant::now() + TICK;
    let now = cloud.now();
    let specs: Vec<Value> = batch
        .iter()
        .map(|poison| {
            json!({
                "taskCreated": now.0,
                "ttlSeconds": expiry.as_secs(),
                "payload": {"poison": poison},
            })
        })
        .collect();
    if !specs.is_empty() {
        let report = cloud.invoke_create(&specs).await;
        assert!(
            report.is_some_and(|report| report.failed.is_empty()),
            "tasks were not created"
        );
    }
    tokio::time::sleep_until(end).await;
    vec![now; batch.len()]
}
