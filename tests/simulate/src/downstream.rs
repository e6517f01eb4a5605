//! The downstream behind the queue, with a fixed capacity and outages.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lifo_queue::time::Millis;
use simulator::cloud::Deed;
use simulator::sync::lock;

use crate::figures::Run;

/// Default number of concurrent runs. An experiment can set another number.
pub(crate) const CAPACITY: usize = 8;
/// Duration of one run.
pub(crate) const SERVICE: Duration = Duration::from_millis(400);
/// Duration of a call to which the downstream returns an error.
const ERROR: Duration = Duration::from_millis(5);

/// Returns the number of tasks per second that the downstream can complete.
pub(crate) fn capacity_per_second() -> f64 {
    CAPACITY as f64 / SERVICE.as_secs_f64()
}

/// The result of a call during an outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// HTTP 502 from a load balancer.
    BadGateway,
    /// HTTP 503 without `Retry-After`.
    Unavailable,
    /// No connection.
    Rejected,
    /// No response before the caller's timeout.
    Timeout,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [
        Self::BadGateway,
        Self::Unavailable,
        Self::Rejected,
        Self::Timeout,
    ];

    /// Returns the key of this kind of result in `overload.json`.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::BadGateway => "502",
            Self::Unavailable => "503",
            Self::Rejected => "rejected",
            Self::Timeout => "timeout",
        }
    }

    /// Returns the duration and outcome of a call with this result, as reported by the runner.
    fn deed(self) -> (Duration, Deed) {
        match self {
            Self::BadGateway | Self::Rejected => (ERROR, Deed::Unavailable),
            Self::Unavailable => (ERROR, Deed::Busy(None)),
            Self::Timeout => (Duration::ZERO, Deed::Hang),
        }
    }
}

/// A period in which the downstream does no work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outage {
    pub(crate) from: Millis,
    pub(crate) to: Millis,
    pub(crate) kind: Kind,
}

impl Outage {
    pub(crate) fn contains(self, at: Millis) -> bool {
        self.from <= at && at < self.to
    }
}

/// How the downstream handles more runs than its capacity.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Model {
    /// Serves this number of runs concurrently and returns a busy response to all others.
    Rejecting(usize),
    /// Queues the runs. From `halved` on, only half of the servers remain.
    Queueing { servers: usize, halved: Millis },
}

impl Model {
    /// Returns the number of runs that the downstream initially serves concurrently.
    pub(crate) fn concurrency(self) -> usize {
        match self {
            Self::Rejecting(capacity) => capacity,
            Self::Queueing { servers, .. } => servers,
        }
    }
}

/// The simulated downstream, shared by all callers.
#[derive(Clone)]
pub(crate) struct Downstream {
    state: Arc<Mutex<State>>,
}

struct State {
    model: Model,
    outage: Option<Outage>,
    /// End times of the current runs, or of each server's last run if runs are queued.
    running: Vec<Millis>,
    runs: Vec<Run>,
}

impl Downstream {
    /// Creates a downstream without calls.
    pub(crate) fn new(model: Model, outage: Option<Outage>) -> Self {
        let running = match model {
            Model::Rejecting(_) => Vec::new(),
            Model::Queueing { servers, .. } => vec![Millis(0); servers],
        };
        let state = State {
            model,
            outage,
            running,
            runs: Vec::new(),
        };
        Self {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// Makes one call and returns its duration and outcome. A poison task gets HTTP 500 immediately.
    pub(crate) fn call(&self, created: Millis, poison: bool, now: Millis) -> (Duration, Deed) {
        let mut state = lock(&self.state);
        let (takes, deed) = match state.outage.filter(|outage| outage.contains(now)) {
            Some(outage) => outage.kind.deed(),
            None if poison => (ERROR, Deed::Unavailable),
            None => state.work(now),
        };
        state.runs.push(Run {
            created,
            started: now,
            ended: now.plus(takes),
            success: deed == Deed::Succeed,
            poison,
        });
        (takes, deed)
    }

    /// Returns all calls so far, in start order.
    pub(crate) fn runs(&self) -> Vec<Run> {
        lock(&self.state).runs.clone()
    }
}

impl State {
    fn work(&mut self, now: Millis) -> (Duration, Deed) {
        match self.model {
            Model::Rejecting(capacity) => {
                self.running.retain(|end| *end > now);
                if self.running.len() >= capacity {
                    return (ERROR, Deed::Busy(None));
                }
                self.running.push(now.plus(SERVICE));
                (SERVICE, Deed::Succeed)
            }
            Model::Queueing { servers, halved } => {
                self.running.sort_unstable();
                if now >= halved {
                    // Runs that are already queued at the removed servers still end as planned.
                    self.running.truncate(servers / 2);
                }
                let Some(first) = self.running.first_mut() else {
                    return (ERROR, Deed::Unavailable);
                };
                *first = now.max(*first).plus(SERVICE);
                (first.since(now), Deed::Succeed)
            }
        }
    }
}
