//! The downstreams of the scenes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use simulator::cloud::Deed;

/// A call to a downstream.
pub(super) struct Call<'a> {
    /// The task's payload: its kind.
    pub(super) kind: &'a str,
    /// Time since the start of the scene.
    pub(super) since: Duration,
    /// Number of starts of the task, including this one.
    pub(super) starts: u32,
}

/// Responds to calls with a duration and an outcome.
pub(super) type Respond = Box<dyn FnMut(&Call<'_>) -> (Duration, Deed) + Send>;

/// Creates a downstream from a seed.
pub(super) type Downstream = Arc<dyn Fn(u64) -> Respond + Send + Sync>;

/// Duration of a call to which the downstream responds with an error.
const ERROR: Duration = Duration::from_millis(5);

fn downstream<R>(new: impl Fn(u64) -> R + Send + Sync + 'static) -> Downstream
where
    R: FnMut(&Call<'_>) -> (Duration, Deed) + Send + 'static,
{
    Arc::new(move |seed| Box::new(new(seed)))
}

/// Shares of an API's faults.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Faults {
    pub(super) hang: f64,
    pub(super) reset: f64,
    pub(super) error: f64,
    /// HTTP 503 with `Retry-After: 2`.
    pub(super) busy: f64,
    /// HTTP 503 without `Retry-After`.
    pub(super) silent: f64,
}

/// An API that accepts 20 requests per second, takes 150 to 500 ms, and has these faults.
pub(super) fn imperfect(faults: Faults) -> Downstream {
    downstream(move |seed| {
        let mut rng = Rng::with_seed(seed ^ 0x0a91);
        let mut accepted: VecDeque<Duration> = VecDeque::new();
        move |call: &Call<'_>| {
            let second = call.since.saturating_sub(Duration::from_secs(1));
            while accepted.front().is_some_and(|at| *at < second) {
                accepted.pop_front();
            }
            if accepted.len() >= 20 {
                return (ERROR, Deed::Busy(Some(Duration::from_secs(1))));
            }
            accepted.push_back(call.since);
            let takes = Duration::from_millis(rng.u64(150..=500));
            let mut draw = rng.f64();
            let mut is = |share: f64| {
                draw -= share;
                draw < 0.0
            };
            if is(faults.hang) {
                (Duration::ZERO, Deed::Hang)
            } else if is(faults.reset) {
                (takes / 2, Deed::Unavailable)
            } else if is(faults.error) {
                (takes, Deed::Unavailable)
            } else if is(faults.busy) {
                (ERROR, Deed::Busy(Some(Duration::from_secs(2))))
            } else if is(faults.silent) {
                (ERROR, Deed::Busy(None))
            } else {
                (takes, Deed::Succeed)
            }
        }
    })
}

/// A downstream that responds with `deed` in the outage and works in `takes` otherwise. A task of
/// the kind `poison` always gets HTTP 500.
pub(super) fn outage((from, to): (Duration, Duration), deed: Deed, takes: Duration) -> Downstream {
    downstream(move |_| {
        let deed = deed.clone();
        move |call: &Call<'_>| match call.kind {
            _ if from <= call.since && call.since < to => (ERROR, deed.clone()),
            "poison" => (ERROR, Deed::Unavailable),
            _ => (takes, Deed::Succeed),
        }
    })
}

/// A downstream that accepts `most` calls per window of `window`, and rejects the others with HTTP
/// 429, with the exact remaining time if `says`.
pub(super) fn quota(most: usize, window: Duration, says: bool) -> Downstream {
    downstream(move |_| {
        let (mut number, mut used) = (0, 0);
        move |call: &Call<'_>| {
            let now = call.since.as_millis() / window.as_millis();
            if now != number {
                (number, used) = (now, 0);
            }
            used += 1;
            if used <= most {
                return (Duration::from_millis(100), Deed::Succeed);
            }
            let elapsed = call.since.as_millis() % window.as_millis();
            let left =
                window.saturating_sub(Duration::from_millis(u64::try_from(elapsed).unwrap_or(0)));
            // Whole seconds, as in HTTP.
            let left =
                Duration::from_secs(left.as_millis().div_ceil(1_000).try_into().unwrap_or(0));
            (ERROR, Deed::Busy(says.then_some(left)))
        }
    })
}

/// Tasks of the kind `over` belong to tenants over their quota: HTTP 429 with `Retry-After: 30`.
pub(super) fn tenants() -> Downstream {
    downstream(|_| {
        |call: &Call<'_>| match call.kind {
            "over" => (ERROR, Deed::Busy(Some(Duration::from_secs(30)))),
            _ => (Duration::from_millis(300), Deed::Succeed),
        }
    })
}

/// A downstream with a capacity of `most` concurrent calls of 400 ms. Rejects others with HTTP 503.
pub(super) fn overloaded(most: usize, asked: Option<Duration>) -> Downstream {
    downstream(move |_| {
        let mut running: Vec<Duration> = Vec::new();
        move |call: &Call<'_>| {
            running.retain(|end| *end > call.since);
            if running.len() >= most {
                return (ERROR, Deed::Busy(asked));
            }
            let takes = Duration::from_millis(400);
            running.push(call.since + takes);
            (takes, Deed::Succeed)
        }
    })
}

/// A downstream that does not respond to this share of the calls until `to`.
pub(super) fn brownout(share: f64, to: Duration) -> Downstream {
    downstream(move |seed| {
        let mut rng = Rng::with_seed(seed ^ 0xb407);
        move |call: &Call<'_>| match rng.f64() < share && call.since < to {
            true => (Duration::ZERO, Deed::Hang),
            false => (Duration::from_millis(300), Deed::Succeed),
        }
    })
}

/// A downstream that works in 300 ms. The first call of a task of the kind `slow` takes 29 s.
pub(super) fn one_hangs() -> Downstream {
    downstream(|_| {
        |call: &Call<'_>| match (call.kind, call.starts) {
            ("slow", 1) => (Duration::from_secs(29), Deed::Unavailable),
            _ => (Duration::from_millis(300), Deed::Succeed),
        }
    })
}
