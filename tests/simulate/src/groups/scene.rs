//! Simulates tenants that create tasks in one queue, and records the starts of these tasks.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use futures::future::join_all;
use lifo_queue::process::ProcessSettings;
use lifo_queue::task::{Task, TaskStatus};
use lifo_queue::time::Millis;
use serde_json::{Value, json};
use simulator::cloud::{self, BEGIN, Cloud, Deed};
use simulator::sync::lock;
use tokio::time::{Instant, sleep_until};

use super::IN_TIME;
use crate::arrivals::{Arrivals, TICK};
use crate::figures::rounded;
use crate::queue;

/// Tasks created per invocation of `create-tasks`, so that one tick is enough for all tasks.
const TASKS_PER_CALL: usize = 16;
const SEED: u64 = 1;

/// Tenants of one kind, which jointly create tasks at this rate. The kind is a task's payload.
#[derive(Clone, Copy)]
pub(super) struct Tenants {
    pub(super) kind: &'static str,
    /// Prefix of the tenants' group names.
    pub(super) name: &'static str,
    /// Number of groups.
    pub(super) groups: usize,
    pub(super) per_second: f64,
}

pub(super) struct Scene<'a, D> {
    pub(super) process: ProcessSettings,
    pub(super) lasting: Duration,
    pub(super) expiry: Duration,
    pub(super) tenants: &'a [Tenants],
    /// Returns the duration and outcome of a run that starts at this time.
    pub(super) downstream: D,
}

/// A task start.
#[derive(Clone)]
pub(super) struct Started {
    pub(super) kind: String,
    pub(super) created: Millis,
    pub(super) at: Millis,
}

pub(super) struct Played {
    pub(super) starts: Vec<Started>,
    /// The kind and the creation time of each task.
    created: Vec<(&'static str, Millis)>,
    /// The kinds of the tasks that ended in FAILURE.
    pub(super) failed: Vec<String>,
    /// Number of index pages that the processor read, and number of entries on these pages.
    pub(super) read: (u64, u64),
}

impl Played {
    /// Returns the share of tasks in time among one kind's tasks created between `from` and `to`.
    pub(super) fn in_time(&self, kind: &str, from: Millis, to: Millis) -> f64 {
        let within = |at: Millis| from <= at && at < to;
        let created = self.created.iter();
        let created = created.filter(|(of, at)| *of == kind && within(*at));
        let starts = self.starts.iter();
        let starts = starts.filter(|task| task.kind == kind && within(task.created));
        let in_time = starts.filter(|task| task.at <= task.created.plus(IN_TIME));
        rounded(in_time.count() as f64 / created.count() as f64)
    }
}

/// Simulates a scene. Without `groups` in its settings, the tenants' tasks have no group.
pub(super) fn play<D>(scene: &Scene<'_, D>) -> Played
where
    D: Fn(&str, Millis) -> (Duration, Deed) + Copy + Send + Sync + 'static,
{
    let starts: Arc<Mutex<Vec<Started>>> = Arc::default();
    let mut played = cloud::play(SEED, async |builder| {
        let (begin, log, downstream) = (Instant::now(), starts.clone(), scene.downstream);
        let cloud = builder
            .process(scene.process)
            .script(move |task| {
                let (kind, at) = (kind(task).to_owned(), BEGIN.plus(begin.elapsed()));
                let run = downstream(&kind, at);
                let created = task.task_created;
                lock(&log).push(Started { kind, created, at });
                run
            })
            .start();
        let created = create_all(&cloud, scene).await;
        let tasks = cloud.tasks().into_iter();
        let failed = tasks.filter(|(_, record)| record.status == TaskStatus::Failure);
        let failed = failed.map(|(_, record)| {
            let kind = record.payload.as_ref().and_then(Value::as_str);
            kind.unwrap_or_default().to_owned()
        });
        let failed = failed.collect();
        let report = queue::finish(cloud);
        Played {
            starts: Vec::new(),
            created,
            failed,
            read: (report.census.pages, report.census.entries),
        }
    });
    played.starts = std::mem::take(&mut *lock(&starts));
    played
}

fn kind(task: &Task) -> &str {
    task.payload.as_str().unwrap_or_default()
}

/// Creates all tenants' tasks, tick by tick. Returns the kind and creation time of each task.
async fn create_all<D>(cloud: &Cloud, scene: &Scene<'_, D>) -> Vec<(&'static str, Millis)> {
    let mut rng = Rng::with_seed(SEED);
    let ticks = |(seed, tenants): (u64, &Tenants)| {
        let arrivals = Arrivals::Poisson {
            per_second: tenants.per_second,
            lasting: scene.lasting,
        };
        arrivals.batches(seed).into_iter().map(|tick| tick.len())
    };
    let mut arrivals: Vec<_> = (SEED..).zip(scene.tenants).map(ticks).collect();
    let mut all = Vec::new();
    for _ in 0..scene.lasting.as_millis() / TICK.as_millis() {
        let end = Instant::now() + TICK;
        let now = cloud.now();
        let mut specs = Vec::new();
        for (tenants, tasks) in scene.tenants.iter().zip(&mut arrivals) {
            for _ in 0..tasks.next().unwrap_or_default() {
                let group = rng.usize(..tenants.groups);
                let group = format!("{}-{group}", tenants.name);
                let group = scene.process.groups.map(|_| group);
                // Spread the tasks over the last tick. Otherwise, the index would show the tasks of
                // one kind first, because all have the same millisecond.
                let created = now.minus(TICK.mul_f64(rng.f64()));
                specs.push(spec(tenants.kind, group, created, scene.expiry));
                all.push((tenants.kind, created));
            }
        }
        rng.shuffle(&mut specs);
        let calls = specs.chunks(TASKS_PER_CALL);
        join_all(calls.map(|specs| queue::create(cloud, specs))).await;
        sleep_until(end).await;
    }
    all
}

fn spec(kind: &str, group: Option<String>, created: Millis, expiry: Duration) -> Value {
    let mut spec = queue::spec(created, expiry, &json!(kind));
    if let Some(group) = group {
        spec["group"] = json!(group);
    }
    spec
}
