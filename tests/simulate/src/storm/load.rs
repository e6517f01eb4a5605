//! The load and the downstream of a storm.

use std::time::Duration;

use lifo_queue::ingest::AdmissionSettings;
use simulator::cloud::Deed;

use crate::downstream::SERVICE;

pub(super) const HOUR: Duration = Duration::from_secs(3_600);
/// Runs per second that the rate limit allows. `SLOTS` is a concurrency that exceeds the limit.
pub(super) const RUNS: u32 = 100;
const SLOTS: u16 = 50;
/// Minimum number of concurrent ingest invocations.
const INVOCATIONS: usize = 10;
/// Minimum arrivals per second for a load that starts in the state of a long storm.
const LONG_STORM: usize = 10_000;
/// Arrivals per second for which a load gets one more invocation.
const PER_INVOCATION: usize = 500;
/// Duration of a call to which the downstream returns HTTP 502.
const ERROR: Duration = Duration::from_millis(5);
/// Default admission settings: tasks admitted per run, and the maximum number of held tasks.
const ADMISSION: AdmissionSettings = AdmissionSettings {
    factor: 3,
    most_held: 120_000,
};

/// Arrivals per second, and the duration of this rate.
pub(super) type Rate = (usize, Duration);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Variant {
    Today,
    Postpone,
    Admission,
}

impl Variant {
    pub(super) const ALL: [(&'static str, Self); 3] = [
        ("today", Self::Today),
        ("postpone", Self::Postpone),
        ("admission", Self::Admission),
    ];
}

/// The downstream's behavior over time.
#[derive(Clone, Copy)]
pub(super) enum Downstream {
    /// Each run lasts this long.
    Steady(Duration),
    /// Each run between these two times gets HTTP 502.
    Outage(Duration, Duration),
    /// From this time on, each run lasts ten times as long.
    Slower(Duration),
}

impl Downstream {
    /// Returns the duration and outcome of a run that starts at this time.
    pub(super) fn run(self, at: Duration) -> (Duration, Deed) {
        match self {
            Self::Steady(lasts) => (lasts, Deed::Succeed),
            Self::Outage(from, to) if from <= at && at < to => (ERROR, Deed::Unavailable),
            Self::Slower(from) if from <= at => (10 * SERVICE, Deed::Succeed),
            Self::Outage(..) | Self::Slower(_) => (SERVICE, Deed::Succeed),
        }
    }
}

/// How the messages of the ingest queue are received.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Receive {
    /// Messages per second that Lambda's pollers receive.
    pub(super) pollers: usize,
    /// Whether the ingest receives messages itself while there is a backlog.
    pub(super) own: bool,
}

impl Receive {
    /// Ten pollers at the published rate of a provisioned poller, 10 requests/s of 10 messages.
    pub(super) const DEFAULT: Self = Self {
        pollers: 1_000,
        own: true,
    };
}

/// The load of a storm.
#[derive(Clone)]
pub(super) struct Load {
    /// Number of messages per phase, and the time in which they are sent.
    pub(super) phases: Vec<(usize, Duration)>,
    /// Time from the creation of a task to its expiry.
    pub(super) expiry: Duration,
    /// If set, every second task has this expiry.
    pub(super) every_second: Option<Duration>,
    pub(super) invocations: usize,
    pub(super) receive: Receive,
    /// Whether the load starts in the state of a long storm.
    pub(super) in_storm: bool,
    pub(super) runs: u32,
    pub(super) slots: u16,
    pub(super) downstream: Downstream,
    /// Start and end of a pause of the queue.
    pub(super) pause: Option<(Duration, Duration)>,
    pub(super) admission: AdmissionSettings,
}

impl Load {
    /// Creates a load with these rates, an expiry of one hour and the usual downstream.
    pub(super) fn new(rates: &[Rate]) -> Self {
        Self {
            phases: rates.iter().map(|rate| (count(*rate), rate.1)).collect(),
            expiry: HOUR,
            every_second: None,
            invocations: INVOCATIONS,
            receive: Receive::DEFAULT,
            in_storm: false,
            runs: RUNS,
            slots: SLOTS,
            downstream: Downstream::Steady(SERVICE),
            pause: None,
            admission: ADMISSION,
        }
    }

    /// Creates a sustained load.
    pub(super) fn sustained(rate: Rate) -> Self {
        Self {
            invocations: INVOCATIONS.max(rate.0 / PER_INVOCATION),
            in_storm: rate.0 >= LONG_STORM,
            ..Self::new(&[rate])
        }
    }

    pub(super) fn lasts(&self) -> Duration {
        self.phases.iter().map(|(_, lasting)| *lasting).sum()
    }
}

/// Returns the total number of messages at this rate.
pub(super) fn count((per_second, lasting): Rate) -> usize {
    per_second * usize::try_from(lasting.as_secs()).unwrap_or(usize::MAX)
}
