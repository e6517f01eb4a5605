//! Chooses the size and time of the next head in a queue with groups, so that few tasks remain
//! unseen between two heads.

use std::time::Duration;

use crate::time::Millis;

/// Maximum age of a page from which a task is taken (S5). The age counts from the page's arrival.
/// Otherwise, a slow index would make every page too old.
pub const MAX_PAGE_AGE: Duration = Duration::from_millis(100);

/// Maximum number of tasks in a head (the newest page, which is read most often). In a queue with
/// groups, it is the minimum, and [`DEEP_PAGE`] is the maximum.
pub const MAX_HEAD: u16 = 100;

/// Maximum number of tasks in a page beyond the head. Index items are small, so a page is far below
/// DynamoDB's limit of 1 MB per response.
pub const DEEP_PAGE: u16 = 1_000;

/// Maximum time between two head reads while no task may start.
const LONGEST: Duration = Duration::from_secs(1);

/// Minimum ratio of the rate to the rate at the previous head, because tasks arrive in bursts.
const DECREASE: f64 = 0.75;

/// The arrival rate, estimated from recent heads.
pub(super) struct Heads {
    /// Tasks per millisecond; infinite if the last head did not reach any known task.
    rate: f64,
    /// Time at which the last head arrived.
    last: Option<Millis>,
}

impl Heads {
    pub(super) fn new() -> Self {
        Self {
            // The first head is the largest.
            rate: f64::INFINITY,
            last: None,
        }
    }

    /// Records a head that arrived at `now`. `unseen` is the number of unknown tasks in the head;
    /// `None` if more of them may follow below it.
    pub(super) fn arrived(&mut self, unseen: Option<usize>, now: Millis) {
        let since = self.last.replace(now).map(|last| now.since(last));
        let rate = match (unseen, since) {
            (Some(unseen), Some(since)) => number(unseen) / millis(since).max(1.0),
            (Some(_), None) => 0.0,
            (None, _) => f64::INFINITY,
        };
        self.rate = match self.rate.is_finite() {
            true => rate.max(self.rate * DECREASE),
            false => rate,
        };
    }

    /// Size of a head that is read now: twice the number of tasks expected since the last head.
    pub(super) fn limit(&self, now: Millis) -> u16 {
        let since = self.last.map_or(Duration::ZERO, |last| now.since(last));
        let (least, most) = (f64::from(MAX_HEAD), f64::from(DEEP_PAGE));
        let limit = match self.rate.is_finite() {
            true => (2.0 * self.rate * millis(since)).clamp(least, most),
            false => most,
        };
        limit as u16
    }

    /// Time of the next head read while no task may start. It falls before arrivals could fill half
    /// of the largest head. `None` before the first head.
    pub(super) fn next(&self) -> Option<Millis> {
        let fills = f64::from(DEEP_PAGE) / 2.0 / self.rate;
        let pause = Duration::try_from_secs_f64(fills / 1_000.0).unwrap_or(LONGEST);
        self.last
            .map(|last| last.plus(pause.clamp(MAX_PAGE_AGE / 2, LONGEST)))
    }
}

fn number(tasks: usize) -> f64 {
    tasks as f64
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}
