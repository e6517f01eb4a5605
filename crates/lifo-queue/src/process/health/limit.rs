//! The limit on concurrent tasks. It adapts to a busy or slow downstream by additive increase and
//! multiplicative decrease (Chiu and Jain, 1989).

use std::collections::VecDeque;
use std::time::Duration;

use crate::control::Health;
use crate::time::Millis;

/// Number of recent responses that the limit depends on, and their maximum age. One busy response
/// may concern only its task. A share of them concerns the downstream.
const RESPONSES: usize = 20;
const RECENT: Duration = Duration::from_secs(10);

/// Minimum numbers of recent responses and of busy ones among them that lower the limit. At least
/// half of the responses must be busy.
const FEWEST_RESPONSES: usize = 5;
const FEWEST_BUSY: usize = 3;

/// Factor by which a busy downstream lowers the limit.
const AFTER_BUSY: f64 = 0.7;

/// Share of the limit that failed last above which the limit rises [`SLOWER`] times more slowly.
const NEAR_FAILED: f64 = 0.85;
const SLOWER: f64 = 30.0;

/// Minimum and maximum of the factor by which a slow run lowers the limit. The factor is the target
/// latency divided by the run's duration.
const AFTER_SLOW_RUN: (f64, f64) = (0.5, 0.9);

#[derive(Debug)]
struct Response {
    started: Millis,
    ended: Millis,
    busy: bool,
}

#[derive(Debug)]
pub(super) struct Limit {
    max: f64,
    limit: f64,
    /// The limit at which the downstream was last too busy.
    failed: Option<f64>,
    /// The last results and busy responses, oldest first.
    responses: VecDeque<Response>,
    /// Time at which a busy or a slow downstream last lowered the limit. Runs that started earlier
    /// say nothing about the time since then.
    lowered: Option<Millis>,
}

impl Limit {
    /// Starts with a maximum of `max`, and with the limit that the previous turn left.
    pub(super) fn new(max: u16, left: &Health) -> Self {
        let max = f64::from(max.max(1));
        Self {
            max,
            limit: left
                .limit
                .map_or(max, |limit| f64::from(limit).clamp(1.0, max)),
            failed: left.failed_limit.map(f64::from),
            responses: VecDeque::with_capacity(RESPONSES),
            lowered: None,
        }
    }

    /// The limit to leave for the next turn; `None` if it is the maximum.
    pub(super) fn left(&self) -> (Option<u16>, Option<u16>) {
        let whole = |limit: f64| u16::try_from(whole(limit)).unwrap_or(u16::MAX);
        let lowered = self.limit < self.max;
        (
            lowered.then_some(whole(self.limit)),
            self.failed.filter(|_| lowered).map(whole),
        )
    }

    /// Changes the maximum. Slots that were closed because of a busy or slow downstream stay closed.
    pub(super) fn change_max(&mut self, max: u16) {
        let all_open = self.limit >= self.max;
        self.max = f64::from(max.max(1));
        if all_open || self.limit > self.max {
            self.limit = self.max;
        }
    }

    /// The limit on concurrent tasks: from 1 to the maximum.
    pub(super) fn limit(&self) -> usize {
        whole(self.limit)
    }

    /// Whether the downstream gave a result recently.
    pub(super) fn has_recent_result(&self, now: Millis) -> bool {
        let mut recent = self.recent(now);
        recent.any(|response| !response.busy)
    }

    /// Records a result within the target latency.
    pub(super) fn succeeded(&mut self, started: Millis, now: Millis) {
        self.record(started, now, false);
        let slower = match self.failed {
            Some(failed) if self.limit >= NEAR_FAILED * failed => SLOWER,
            _ => 1.0,
        };
        self.limit = (self.limit + 1.0 / (slower * self.limit)).min(self.max);
        if self.limit >= self.max {
            self.failed = None;
        }
    }

    /// Records a result that took longer than the target latency. `share` is the target latency
    /// divided by the run's duration.
    pub(super) fn slow(&mut self, started: Millis, share: f64, now: Millis) {
        self.record(started, now, false);
        if self.lowered.is_none_or(|at| started >= at) {
            let (least, most) = AFTER_SLOW_RUN;
            self.lower(share.clamp(least, most), now);
        }
    }

    /// Records a busy response.
    pub(super) fn busy(&mut self, started: Millis, now: Millis) {
        self.record(started, now, true);
        let lowered = self.lowered;
        let since = self.recent(now);
        let since = since.filter(|response| lowered.is_none_or(|at| response.started > at));
        let (all, busy) = since.fold((0, 0), |(all, busy), response| {
            (all + 1, busy + usize::from(response.busy))
        });
        if all >= FEWEST_RESPONSES && busy >= FEWEST_BUSY && 2 * busy >= all {
            self.failed = Some(self.limit);
            self.lower(AFTER_BUSY, now);
        }
    }

    fn lower(&mut self, factor: f64, now: Millis) {
        self.limit = (self.limit * factor).max(1.0);
        self.lowered = Some(now);
    }

    fn record(&mut self, started: Millis, ended: Millis, busy: bool) {
        if self.responses.len() == RESPONSES {
            self.responses.pop_front();
        }
        self.responses.push_back(Response {
            started,
            ended,
            busy,
        });
    }

    fn recent(&self, now: Millis) -> impl Iterator<Item = &Response> {
        let responses = self.responses.iter();
        responses.filter(move |response| now.since(response.ended) <= RECENT)
    }
}

fn whole(limit: f64) -> usize {
    let whole = limit as usize;
    whole.max(1)
}

#[cfg(test)]
mod tests;
