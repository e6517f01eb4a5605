//! The state that all pages share: the queue, the samples and the outcomes of changes.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::access::Access;
use crate::account::Account;
use crate::agents::AgentsQueue;
use crate::exit::Exit;
use crate::failure::Result;
use crate::queue::Queue;
use crate::report::Report;
use crate::sample::History;

/// Maximum number of outcomes to keep.
const REMEMBERED: usize = 50;

/// The state that all pages share.
pub(super) struct Site {
    pub(super) queue: Queue,
    pub(super) account: Account,
    /// The agents' queue, or the reason why it is unknown.
    pub(super) agents: Result<AgentsQueue, String>,
    pub(super) access: Arc<Access>,
    /// The interval at which an open page updates itself.
    pub(super) every: Duration,
    history: tokio::sync::Mutex<History>,
    /// Whether a change was made since the last sample.
    is_stale: AtomicBool,
    outcomes: Mutex<Outcomes>,
    /// The state of the queue at the last sample, for page titles.
    state: Mutex<&'static str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) text: String,
    /// Whether the change was made completely.
    pub(super) done: bool,
}

#[derive(Default)]
struct Outcomes {
    /// Number of the oldest outcome that is kept.
    first: usize,
    last: VecDeque<Outcome>,
}

/// Returns the most important state of the queue, for a page title.
fn title(history: &History) -> &'static str {
    let Some(sample) = history.last.as_ref().filter(|_| history.failure.is_none()) else {
        return "not read – ";
    };
    let (control, now) = (&sample.status.control, sample.status.now);
    match control.is_paused(now) {
        true => "paused – ",
        false if control.is_breaker_open(now) => "breaker open – ",
        false if control.limit(now).is_some() => "limited – ",
        false => "",
    }
}

impl Site {
    pub(super) fn new(
        queue: Queue,
        account: Account,
        agents: Result<AgentsQueue, String>,
        access: Arc<Access>,
        every: Duration,
    ) -> Self {
        Self {
            queue,
            account,
            agents,
            access,
            every,
            history: tokio::sync::Mutex::default(),
            is_stale: AtomicBool::default(),
            outcomes: Mutex::default(),
            state: Mutex::default(),
        }
    }

    /// Returns the samples. Takes a new one if the last sample is older than half of `every`, or if
    /// a change was made since then. Multiple open pages therefore share a sample.
    pub(super) async fn looks(&self) -> tokio::sync::MutexGuard<'_, History> {
        let mut history = self.history.lock().await;
        let now = self.queue.clock.now();
        let is_fresh = history
            .last
            .as_ref()
            .is_some_and(|last| now.since(last.status.now) < self.every / 2);
        if self.is_stale.swap(false, Ordering::Relaxed) || !is_fresh {
            history.take(&self.queue).await;
            *self.state.lock().unwrap_or_else(PoisonError::into_inner) = title(&history);
        }
        history
    }

    /// Returns the state of the queue for a page title; empty if nothing stops the queue.
    pub(super) fn state(&self) -> &'static str {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a sample every `pace`, so that an opened page has a history. Runs until dropped.
    pub(super) async fn read_on(&self, pace: Duration) {
        loop {
            drop(self.looks().await);
            tokio::time::sleep(pace).await;
        }
    }

    /// Stores the outcome of a change and returns its number. The next page takes a new sample.
    pub(super) fn note(&self, outcome: Result<Report>) -> usize {
        self.is_stale.store(true, Ordering::Relaxed);
        let outcome = match outcome {
            Ok(report) => Outcome {
                done: report.exit == Exit::Done,
                text: report.text,
            },
            Err(failure) => Outcome {
                done: false,
                text: failure.line(),
            },
        };
        let mut outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        outcomes.last.push_back(outcome);
        if outcomes.last.len() > REMEMBERED {
            outcomes.last.pop_front();
            outcomes.first += 1;
        }
        outcomes.first + outcomes.last.len() - 1
    }

    /// Returns the outcome with this number, if it is still stored.
    pub(super) fn outcome(&self, number: usize) -> Option<Outcome> {
        let outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        let place = number.checked_sub(outcomes.first)?;
        outcomes.last.get(place).cloned()
    }
}
