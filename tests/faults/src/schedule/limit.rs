//! Schedules with an operator's limit on the rate of starts.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use lifo_queue::control::{Author, OperatorLimit, OperatorLimits, OperatorRate};
use lifo_queue::process::RateLimit;
use simulator::cloud::Cloud;
use simulator::sync::lock;
use tokio::time::Instant;

use super::Schedule;
use super::pages::Pages;

const SECOND: Duration = Duration::from_secs(1);

/// A limit that applies from the start of a schedule, and the starts of runs.
#[derive(Clone)]
pub(super) struct Limited {
    a_second: u32,
    time: Duration,
    starts: Arc<Mutex<Vec<Instant>>>,
}

impl Schedule {
    /// Adds a limit to a sixth of the schedules. Half of these also get a rate in the settings.
    /// A steady schedule gets none: its load would leave no start for the task that must run alone.
    pub(super) fn with_limit(mut self, rng: &mut Rng) -> Self {
        if self.pages == Some(Pages::Steady) || rng.u32(0..6) > 0 {
            return self;
        }
        self.settings.process.rate = rng.bool().then(|| RateLimit {
            interval: SECOND / rng.u32(1..50),
            burst: std::num::NonZeroU32::MIN.saturating_add(rng.u32(0..20)),
        });
        self.limited = Some(Limited {
            a_second: rng.u32(1..=3),
            time: Duration::from_secs(rng.u64(10..600)),
            starts: Arc::default(),
        });
        self
    }
}

impl Limited {
    pub(super) fn start(&self) {
        let mut starts = lock(&self.starts);
        starts.push(Instant::now());
    }

    pub(super) async fn set(&self, cloud: &Cloud) -> Instant {
        let now = cloud.now();
        let queue = OperatorLimit {
            concurrency: None,
            rate: Some(OperatorRate {
                interval: SECOND / self.a_second,
            }),
            until: now.plus(self.time),
            reason: "a schedule".to_owned(),
            by: Author {
                name: "an operator".to_owned(),
                at: now,
            },
        };
        let limits = OperatorLimits { queue: Some(queue) };
        // The operator's store has no faults.
        let set = cloud.operator().limit(&limits).await;
        debug_assert!(set.is_ok(), "{set:?}");
        Instant::now()
    }

    /// Returns a violation if more runs than allowed started between `began` and the end of the
    /// limit. The processes' clocks differ by at most `skew`.
    pub(super) fn broken(&self, began: Instant, skew: Duration) -> Option<String> {
        let starts = lock(&self.starts);
        let (mut count, rate) = (0.0, f64::from(self.a_second));
        for passed in starts.iter().map(|start| start.duration_since(began)) {
            if passed + skew >= self.time {
                break;
            }
            count += 1.0;
            let allowed = (passed + skew + SECOND).as_secs_f64() * rate;
            if count > allowed {
                return Some(format!(
                    "S5.12: {count} starts in {passed:?} of a limit of {rate}/s"
                ));
            }
        }
        None
    }
}
