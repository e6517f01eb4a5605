//! Plays a scene with the real core and measures what it cost.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lifo_queue::task::TaskStatus;
use lifo_queue::time::Millis;
use serde::Serialize;
use serde_json::json;
use simulator::cloud::{self, BEGIN, Cloud, Deed};
use simulator::sync::lock;
use tokio::time::Instant;

use super::downstreams::Call;
use super::scenes::Scene;
use crate::figures::rounded;
use crate::queue;

/// Interval at which the scene looks for due tasks.
const LOOK: Duration = Duration::from_millis(100);
/// Maximum time from the arrival to the success of a task that counts as fresh.
const FRESH: Duration = Duration::from_secs(15);

/// What a scene cost.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Measured {
    /// Number of tasks created.
    sent: usize,
    succeeded: usize,
    /// Share of the healthy tasks that succeeded within 15 seconds of their arrival.
    fresh: f64,
    failed: usize,
    /// Number of healthy tasks that ended in FAILURE.
    innocent: usize,
    calls: usize,
    /// Calls that an outage or a busy downstream turned away.
    turned_away: usize,
    /// Longest time without a success while a task was due, outside of outages.
    longest_gap_seconds: f64,
    /// Longest time without a start while a task was due, outside of outages.
    longest_wait_seconds: f64,
    /// Time from the end of the outage to the first success; `None` without an outage or success.
    recovery_seconds: Option<f64>,
    /// Time from the first arrival to the last end of a task.
    last_end_seconds: f64,
    /// Number of starts of a task before the end of the wait that it was asked for.
    too_early: usize,
}

impl Measured {
    pub(super) fn worst(&self, other: &Self) -> Self {
        let longest = |one: f64, other: f64| one.max(other);
        Self {
            sent: self.sent.max(other.sent),
            succeeded: self.succeeded.min(other.succeeded),
            fresh: self.fresh.min(other.fresh),
            failed: self.failed.max(other.failed),
            innocent: self.innocent.max(other.innocent),
            calls: self.calls.max(other.calls),
            turned_away: self.turned_away.max(other.turned_away),
            longest_gap_seconds: longest(self.longest_gap_seconds, other.longest_gap_seconds),
            longest_wait_seconds: longest(self.longest_wait_seconds, other.longest_wait_seconds),
            recovery_seconds: self
                .recovery_seconds
                .zip(other.recovery_seconds)
                .map(|(one, other)| one.max(other)),
            last_end_seconds: longest(self.last_end_seconds, other.last_end_seconds),
            too_early: self.too_early.max(other.too_early),
        }
    }
}

/// What happened, in the order in which it happened.
#[derive(Default)]
struct Log {
    starts: Vec<(Millis, String)>,
    /// The end and the creation time of each success.
    successes: Vec<(Millis, Millis)>,
    turned_away: usize,
    /// Task and end of the wait that the downstream asked for.
    asked: Vec<(String, Millis)>,
    too_early: usize,
}

impl Scene {
    /// Plays the scene with the real core.
    ///
    /// # Panics
    /// A guarantee is broken.
    pub(super) fn play(&self, seed: u64) -> Measured {
        let log: Arc<Mutex<Log>> = Arc::default();
        let (looks, created, failed, innocent, last_end) = cloud::play(seed, async |builder| {
            let begin = Instant::now();
            let (noted, mut downstream) = (log.clone(), Some((self.downstream)(seed)));
            let downstream = Mutex::new(downstream.take());
            let cloud = builder
                .settings(self.settings)
                .script(move |task| {
                    let now = BEGIN.plus(begin.elapsed());
                    let kind = task.payload.as_str().unwrap_or_default();
                    let id = task.task_id.to_string();
                    let call = Call {
                        kind,
                        since: now.since(BEGIN),
                        starts: task.total_attempts,
                    };
                    let mut downstream = lock(&downstream);
                    let Some(respond) = downstream.as_mut() else {
                        return (Duration::ZERO, Deed::Succeed);
                    };
                    let (takes, deed) = respond(&call);
                    lock(&noted).call(now, id, task.task_created, takes, &deed);
                    (takes, deed)
                })
                .start();
            let (looks, created) = self.watch(&cloud, &log).await;
            let tasks = cloud.tasks();
            let failed: Vec<_> = tasks
                .iter()
                .filter(|(_, record)| record.status == TaskStatus::Failure)
                .collect();
            let innocent = failed
                .iter()
                .filter(|(_, record)| record.payload != Some(json!("poison")))
                .count();
            let failed = failed.len();
            let last = lock(&log).successes.iter().map(|(at, _)| *at).max();
            queue::finish(cloud);
            (looks, created, failed, innocent, last.unwrap_or(BEGIN))
        });
        let log = lock(&log);
        self.figures(&log, &looks, &created, (failed, innocent), last_end)
    }

    /// Creates the tasks, and looks for due tasks until the end of the scene.
    async fn watch(
        &self,
        cloud: &Cloud,
        log: &Mutex<Log>,
    ) -> (Vec<Look>, Vec<(Millis, &'static str)>) {
        let begin = Instant::now();
        let mut arrivals = self.arrivals.iter().peekable();
        let (mut looks, mut created) = (Vec::new(), Vec::new());
        let mut next = begin;
        while begin.elapsed() < self.lasting {
            let mut specs = Vec::new();
            while let Some((_, kind)) = arrivals.next_if(|(at, _)| *at <= begin.elapsed()) {
                let now = cloud.now();
                let mut spec = queue::spec(now, self.life, &json!(kind));
                spec["taskId"] = json!(format!("{kind}-{}", created.len()));
                specs.push(spec);
                created.push((now, *kind));
            }
            for specs in specs.chunks(100) {
                queue::create(cloud, specs).await;
            }
            let now = cloud.now();
            let due = cloud.tasks().iter().any(|(_, record)| {
                record.status == TaskStatus::Pending
                    && record.not_before.is_none_or(|at| at <= now)
                    && !record.ttl.is_expired(now)
            });
            let (starts, successes) = {
                let log = lock(log);
                (
                    log.starts.len(),
                    log.successes.iter().filter(|(at, _)| *at <= now).count(),
                )
            };
            looks.push(Look {
                at: now,
                due,
                starts,
                successes,
            });
            if self.ends_early
                && arrivals.peek().is_none()
                && cloud
                    .tasks()
                    .iter()
                    .all(|(_, record)| record.status.is_settled())
            {
                break;
            }
            next += LOOK;
            tokio::time::sleep_until(next).await;
        }
        (looks, created)
    }

    fn figures(
        &self,
        log: &Log,
        looks: &[Look],
        created: &[(Millis, &'static str)],
        (failed, innocent): (usize, usize),
        last_end: Millis,
    ) -> Measured {
        let fresh = log
            .successes
            .iter()
            .filter(|(at, created)| at.since(*created) <= FRESH)
            .count();
        let healthy = created
            .iter()
            .filter(|(_, kind)| *kind != "poison" && *kind != "over")
            .count();
        let recovery = self.outage.and_then(|(_, to)| {
            let to = BEGIN.plus(to);
            let after = log
                .successes
                .iter()
                .map(|(at, _)| *at)
                .filter(|at| *at >= to);
            after.min().map(|at| rounded(at.since(to).as_secs_f64()))
        });
        Measured {
            sent: created.len(),
            succeeded: log.successes.len(),
            fresh: rounded(fresh as f64 / healthy.max(1) as f64),
            failed,
            innocent,
            calls: log.starts.len(),
            turned_away: log.turned_away,
            longest_gap_seconds: self.longest(looks, |look| look.successes),
            longest_wait_seconds: self.longest(looks, |look| look.starts),
            recovery_seconds: recovery,
            last_end_seconds: rounded(last_end.since(BEGIN).as_secs_f64()),
            too_early: log.too_early,
        }
    }

    /// Longest series of looks that saw a due task, without a change of `counted`.
    fn longest(&self, looks: &[Look], counted: fn(&Look) -> usize) -> f64 {
        let (mut since, mut longest) = (None, Duration::ZERO);
        let mut before = 0;
        for look in looks {
            let at = look.at.since(BEGIN);
            let out = self
                .outage
                .is_some_and(|(from, to)| from <= at && at < to + self.grace);
            if !look.due || out || counted(look) != before {
                since = None;
            }
            before = counted(look);
            if look.due && !out {
                let since = *since.get_or_insert(look.at);
                longest = longest.max(look.at.since(since));
            }
        }
        rounded(longest.as_secs_f64())
    }
}

/// What a look at the queue saw.
struct Look {
    at: Millis,
    due: bool,
    starts: usize,
    successes: usize,
}

impl Log {
    fn call(&mut self, now: Millis, id: String, created: Millis, takes: Duration, deed: &Deed) {
        let early = self
            .asked
            .iter()
            .any(|(task, until)| *task == id && *until > now);
        self.too_early += usize::from(early);
        match deed {
            Deed::Succeed => self.successes.push((now.plus(takes), created)),
            Deed::Busy(asked) => {
                self.turned_away += 1;
                if let Some(asked) = asked {
                    self.asked.retain(|(task, _)| *task != id);
                    self.asked.push((id.clone(), now.plus(takes + *asked)));
                }
            }
            Deed::Unavailable | Deed::Reject => self.turned_away += 1,
            _ => {}
        }
        self.starts.push((now, id));
    }
}
