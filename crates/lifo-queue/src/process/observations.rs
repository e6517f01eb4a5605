//! Collects what operators want to know about the runs of a turn.

use std::collections::VecDeque;

use tokio::sync::watch;

use super::attempt::{Attempted, End};
use crate::observed::{LastResponse, Observed};
use crate::time::Millis;

/// Number of runs whose median duration is reported.
const RUNS: usize = 50;

/// The observations of a turn. They continue those of the previous turn.
pub(super) struct Observations {
    observed: watch::Sender<Observed>,
    /// Durations of the last runs of this turn, in milliseconds, oldest first.
    runs: VecDeque<u64>,
}

impl Observations {
    pub(super) fn new(left: Observed, measures_overload: bool) -> Self {
        let observed = Observed {
            measures_overload,
            ..left
        };
        Self {
            observed: watch::Sender::new(observed),
            runs: VecDeque::with_capacity(RUNS),
        }
    }

    /// A receiver of the observations, for the heartbeat.
    pub(super) fn watch(&self) -> watch::Receiver<Observed> {
        self.observed.subscribe()
    }

    pub(super) fn observed(&self) -> Observed {
        self.observed.borrow().clone()
    }

    /// Records an attempt that ended.
    pub(super) fn record(&mut self, attempted: &Attempted, now: Millis) {
        // A busy downstream responds at once, which says nothing about the duration of the work.
        let ended = matches!(attempted.end, End::Succeeded | End::Failed);
        if let Some(ran) = attempted.ran.filter(|_| ended) {
            if self.runs.len() == RUNS {
                self.runs.pop_front();
            }
            self.runs
                .push_back(u64::try_from(ran.as_millis()).unwrap_or(u64::MAX));
        }
        let median = self.median();
        self.observed.send_modify(|observed| {
            match attempted.end {
                End::Succeeded => observed.ended.count(now, false),
                End::Failed | End::Quarantined => observed.ended.count(now, true),
                End::GivenBack { .. } | End::LostRace | End::StoreFailed => {}
            }
            observed.median_run_ms = median.or(observed.median_run_ms);
            if let Some(text) = &attempted.response {
                let response = LastResponse::new(now, &attempted.task, text);
                observed.last_response = Some(response);
            }
        });
    }

    fn median(&self) -> Option<u64> {
        let mut runs: Vec<u64> = self.runs.iter().copied().collect();
        let middle = runs.len() / 2;
        (!runs.is_empty()).then(|| *runs.select_nth_unstable(middle).1)
    }
}
