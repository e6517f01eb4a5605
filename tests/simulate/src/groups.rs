//! Groups: noisy tenants beside three quiet ones, in one queue.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fastrand::Rng;
use futures::future::join_all;
use lifo_queue::process::{ProcessSettings, RateLimit};
use lifo_queue::time::Millis;
use serde::Serialize;
use serde_json::{Value, json};
use simulator::cloud::{self, BEGIN, Cloud, CloudSettings, Deed};
use tokio::time::{Instant, sleep_until};

use crate::arrivals::{Arrivals, TICK};
use crate::downstream::SERVICE;
use crate::figures::rounded;
use crate::{parallel, queue};

/// Arrivals of all noisy groups, and of all quiet ones, as a factor of the capacity.
const NOISY: f64 = 4.5;
const QUIET: f64 = 0.15;
const QUIET_GROUPS: usize = 3;
/// A quiet task is in time if it starts within this time after its creation.
const IN_TIME: Duration = Duration::from_secs(2);
const EXPIRY: Duration = Duration::from_secs(60);
/// Tasks that one invocation of `create-tasks` creates, so that a tick is enough for all.
const TASKS_PER_CALL: usize = 16;
const SEED: u64 = 1;

/// `groups.json`.
#[derive(Serialize)]
pub(crate) struct Groups {
    /// By case, without groups and with them.
    cases: BTreeMap<&'static str, BTreeMap<&'static str, Figures>>,
}

/// Figures of a case.
#[derive(Clone, Copy, Debug, Serialize)]
struct Figures {
    /// The share of the quiet tasks that started in time.
    quiet_in_time: f64,
    /// Runs as a share of those that the queue could start.
    goodput: f64,
}

/// One case: a queue, and the noisy groups in front of it.
#[derive(Clone, Copy)]
struct Case {
    slots: u16,
    /// `ratePerSecond`.
    rate: Option<u16>,
    noisy: usize,
    lasting: Duration,
    /// Figures are of the time from then on.
    warm: Duration,
}

impl Case {
    const fn of(slots: u16, noisy: usize) -> Self {
        Self {
            slots,
            rate: None,
            noisy,
            lasting: Duration::from_secs(150),
            warm: Duration::from_secs(20),
        }
    }

    /// Starts per second that the slots and the rate limit allow.
    fn capacity(self) -> f64 {
        let slots = f64::from(self.slots) / SERVICE.as_secs_f64();
        self.rate.map_or(slots, |rate| slots.min(f64::from(rate)))
    }

    fn process(self, groups: bool) -> ProcessSettings {
        ProcessSettings {
            slots: self.slots,
            rate: self.rate.map(|rate| RateLimit {
                interval: Duration::from_secs(1) / u32::from(rate),
                burst: std::num::NonZeroU32::MIN,
            }),
            groups,
            ..queue::settings()
        }
    }
}

fn cases() -> [(&'static str, Case); 7] {
    let rate = Case {
        rate: Some(10),
        ..Case::of(10, 1)
    };
    let large = Case {
        lasting: Duration::from_secs(20),
        warm: Duration::from_secs(5),
        ..Case::of(400, 1)
    };
    [
        ("ten_slots", Case::of(10, 1)),
        ("two_slots", Case::of(2, 1)),
        ("one_slot", Case::of(1, 1)),
        ("rate_limit", rate),
        ("three_noisy", Case::of(10, 3)),
        ("ten_noisy", Case::of(10, 10)),
        ("four_hundred_slots", large),
    ]
}

/// Plays every case.
pub(crate) fn groups() -> Groups {
    let mut cells = Vec::new();
    for (name, case) in cases() {
        cells.extend([("none", false), ("groups", true)].map(|variant| (name, case, variant)));
    }
    let played = parallel::map(cells, |(name, case, (variant, groups))| {
        (name, variant, play(case, groups))
    });
    let mut cases: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
    for (name, variant, figures) in played {
        cases.entry(name).or_default().insert(variant, figures);
    }
    Groups { cases }
}

/// A task of a group: when it was created, and when it started.
#[derive(Clone, Copy)]
struct Started {
    created: Millis,
    at: Millis,
    quiet: bool,
}

fn play(case: Case, groups: bool) -> Figures {
    let starts: Arc<Mutex<Vec<Started>>> = Arc::default();
    let mut quiet = Vec::new();
    cloud::play(SEED, async |builder| {
        let (begin, log) = (Instant::now(), starts.clone());
        let settings = CloudSettings {
            process: case.process(groups),
            ..CloudSettings::default()
        };
        let cloud = builder
            .settings(settings)
            .script(move |task| {
                let started = Started {
                    created: task.task_created,
                    at: BEGIN.plus(begin.elapsed()),
                    quiet: task.payload == "quiet",
                };
                log.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(started);
                (SERVICE, Deed::Succeed)
            })
            .start();
        let (noisy_tasks, quiet_tasks) = (arrivals(case, NOISY), arrivals(case, QUIET));
        let mut rng = Rng::with_seed(SEED);
        for (noisy_tasks, quiet_tasks) in noisy_tasks.into_iter().zip(quiet_tasks) {
            let end = Instant::now() + TICK;
            let now = cloud.now();
            let mut specs = Vec::with_capacity(noisy_tasks + quiet_tasks);
            for (kind, tasks, of) in [
                ("noisy", noisy_tasks, case.noisy),
                ("quiet", quiet_tasks, QUIET_GROUPS),
            ] {
                specs.extend((0..tasks).map(|_| {
                    let group = groups.then(|| format!("{kind}-{}", rng.usize(..of)));
                    spec(kind, group, now)
                }));
            }
            create(&cloud, &specs).await;
            quiet.extend(std::iter::repeat_n(now, quiet_tasks));
            sleep_until(end).await;
        }
        let broken: Vec<_> = cloud
            .finish()
            .violations
            .into_iter()
            // The experiment ends before its tasks do.
            .filter(|text| !text.ends_with("never ends"))
            .collect();
        assert!(broken.is_empty(), "{broken:#?}");
    });
    let starts = starts.lock().unwrap_or_else(PoisonError::into_inner);
    figures(case, &starts, &quiet)
}

/// Tasks of each tick, at this factor of the capacity.
fn arrivals(case: Case, load: f64) -> Vec<usize> {
    let arrivals = Arrivals::Poisson {
        per_second: load * case.capacity(),
        lasting: case.lasting,
    };
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a seed"
    )]
    let seed = SEED + (load * 100.0) as u64;
    arrivals.batches(seed).iter().map(Vec::len).collect()
}

fn spec(kind: &str, group: Option<String>, now: Millis) -> Value {
    let mut spec = json!({
        "taskCreated": now.0,
        "ttlSeconds": EXPIRY.as_secs(),
        "payload": kind,
    });
    if let Some(group) = group {
        spec["group"] = json!(group);
    }
    spec
}

async fn create(cloud: &Cloud, specs: &[Value]) {
    let calls = specs
        .chunks(TASKS_PER_CALL)
        .map(|specs| cloud.invoke_create(specs));
    for report in join_all(calls).await {
        let failed = report.map(|report| report.failed);
        assert_eq!(failed, Some(Vec::new()), "tasks were not created");
    }
}

#[allow(clippy::cast_precision_loss, reason = "counts of tasks")]
fn figures(case: Case, starts: &[Started], quiet: &[Millis]) -> Figures {
    let (from, to) = (BEGIN.plus(case.warm), BEGIN.plus(case.lasting));
    let last = to.minus(IN_TIME);
    let counts = |created: Millis| from <= created && created < last;
    let created = quiet.iter().filter(|at| counts(**at)).count();
    let in_time = starts
        .iter()
        .filter(|task| task.quiet && counts(task.created))
        .filter(|task| task.at <= task.created.plus(IN_TIME))
        .count();
    let runs = starts
        .iter()
        .filter(|task| from <= task.at && task.at < to)
        .count();
    let possible = case.capacity() * to.since(from).as_secs_f64();
    Figures {
        quiet_in_time: rounded(in_time as f64 / created as f64),
        goodput: rounded(runs as f64 / possible),
    }
}
