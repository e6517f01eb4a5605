//! The queue with its settings, and the commit of a change with retries.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder, Retryable};
use tokio::time::{Instant, timeout_at};

use crate::criteria::Criteria;
use crate::dimension::Dimensions;
use crate::gate::Gate;
use crate::open_lines::{MAX_LINES, OpenLines};
pub use crate::patience::Patience;
use crate::store::{AgentStore, Committed, Order, Rejection, StoreError};
use crate::time::Clock;
use crate::transaction::Change;
use crate::window::Windows;

/// The filtered queue, on any store. Its operations are in [`agent_lifecycle`](crate::agent_lifecycle),
/// [`enqueue`](crate::enqueue), [`matching`](crate::matching) and [`sweep`](crate::sweep).
#[derive(Clone)]
pub struct AgentQueue {
    pub(crate) store: Arc<dyn AgentStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: Settings,
    pub(crate) windows: Arc<Windows>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) opened: Arc<OpenLines>,
    tally: Arc<Tally>,
    deadline: Option<Instant>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub dimensions: Dimensions,
    pub order: Order,
    /// Maximum wait of a call, from the time at which it was sent.
    pub max_wait: Duration,
    /// Time for which an agent can attend a call, from the assignment or the last extension. After
    /// this time, the sweep makes the agent available. `None` means no limit.
    pub call_lease: Option<Duration>,
    /// Time within which an agent must answer an assignment with an extension. Otherwise, the call
    /// returns to its line. `None` means that assignments need no answer.
    pub answer_within: Option<Duration>,
    /// Number of queue entries that a match reads in one query.
    pub page: u16,
    /// Maximum number of agents at the start of the queue among which a lane's call chooses during
    /// contention. With 1, the order is always strict.
    pub contention_window: u16,
    /// Limits and pauses of retries.
    pub patience: Patience,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            dimensions: Dimensions::default(),
            order: Order::Fifo,
            max_wait: Duration::from_secs(5 * 60),
            call_lease: None,
            answer_within: None,
            page: 5,
            contention_window: 8,
            patience: Patience::default(),
        }
    }
}

pub type Result<T, E = QueueError> = std::result::Result<T, E>;

/// Error of an unfinished operation, whose changes may or may not have taken effect. Retry it.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "{operation}: conflicted with other transactions {tries} times; repeat it, or see docs/explanation/agents.md for the limits of one queue"
    )]
    Contended {
        operation: &'static str,
        tries: usize,
    },
    #[error(
        "criteria {criteria}: pending calls already have {MAX_LINES} different criteria, the maximum of a queue; \
         check the values that callers send, or wait until the sweep closes lines that were empty for an hour"
    )]
    TooManyLines { criteria: Criteria },
    #[error("{operation}: the invocation has no time left; retry it")]
    OutOfTime { operation: &'static str },
}

impl QueueError {
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Store(error) => error.is_transient(),
            Self::Contended { .. } | Self::OutOfTime { .. } => true,
            Self::TooManyLines { .. } => false,
        }
    }
}

pub(crate) enum Outcome {
    Done,
    Rejected(Vec<Rejection>),
}

enum Again {
    Conflict,
    Store(StoreError),
}

impl Again {
    fn is_transient(&self) -> bool {
        match self {
            Self::Conflict => true,
            Self::Store(error) => error.is_transient(),
        }
    }
}

/// Counters since the last call to [`AgentQueue::counted`].
#[derive(Debug, Default)]
struct Tally {
    conflicts: AtomicU64,
    lost_matches: AtomicU64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    pub conflicts: u64,
    /// Attempts to assign an agent that was no longer available.
    pub lost_matches: u64,
}

impl AgentQueue {
    pub fn new(store: Arc<dyn AgentStore>, clock: Arc<dyn Clock>, settings: Settings) -> Self {
        Self {
            store,
            clock,
            windows: Arc::new(Windows::up_to(settings.contention_window)),
            gate: Arc::default(),
            opened: Arc::default(),
            settings,
            tally: Arc::default(),
            deadline: None,
        }
    }

    /// Returns a copy of this queue for one invocation. The copy starts no attempt after `deadline`
    /// and waits for the response to a change only until then. Both queues share their counters.
    pub fn until(&self, deadline: Instant) -> Self {
        Self {
            deadline: Some(deadline),
            ..self.clone()
        }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    pub(crate) fn is_over(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| deadline <= Instant::now())
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn counted(&self) -> Counted {
        Counted {
            conflicts: self.tally.conflicts.swap(0, Ordering::Relaxed),
            lost_matches: self.tally.lost_matches.swap(0, Ordering::Relaxed),
        }
    }

    pub(crate) fn count_lost_match(&self) {
        self.tally.lost_matches.fetch_add(1, Ordering::Relaxed);
    }

    /// Commits a change. After a conflict, throttling or a missing response, retries the same
    /// change a limited number of times, with the same token and with jitter.
    pub(crate) async fn commit(&self, operation: &'static str, change: &Change) -> Result<Outcome> {
        let ended = self.try_again(change, |again| again.is_transient()).await;
        ended.map_err(|again| match again {
            Again::Store(error) => QueueError::Store(error),
            Again::Conflict => self.contended(operation),
        })
    }

    /// Commits a change, but returns `None` immediately after a conflict, because the caller may
    /// need a different change by then. An attempt without a response is still retried, because the
    /// change may have taken effect.
    pub(crate) async fn commit_unless_conflict(&self, change: &Change) -> Result<Option<Outcome>> {
        let no_response = AtomicBool::new(false);
        let worth_it = |again: &Again| match again {
            Again::Conflict => no_response.load(Ordering::Relaxed),
            Again::Store(error) => {
                no_response.store(true, Ordering::Relaxed);
                error.is_transient()
            }
        };
        match self.try_again(change, worth_it).await {
            Ok(outcome) => Ok(Some(outcome)),
            Err(Again::Conflict) => Ok(None),
            Err(Again::Store(error)) => Err(QueueError::Store(error)),
        }
    }

    async fn try_again(
        &self,
        change: &Change,
        mut worth_it: impl FnMut(&Again) -> bool,
    ) -> Result<Outcome, Again> {
        let once = || async {
            match self.commit_in_time(change).await {
                Ok(Committed::Done) => Ok(Outcome::Done),
                Ok(Committed::Rejected(rejections)) => Ok(Outcome::Rejected(rejections)),
                Ok(Committed::Conflict) => {
                    self.tally.conflicts.fetch_add(1, Ordering::Relaxed);
                    Err(Again::Conflict)
                }
                Err(error) => Err(Again::Store(error)),
            }
        };
        let mut slow = self.slow_pauses();
        once.retry(self.pauses())
            .sleep(tokio::time::sleep)
            .when(|again| worth_it(again) && !self.is_over())
            .adjust(|again, pause| match again {
                Again::Conflict => pause,
                Again::Store(_) => slow.next(),
            })
            .await
    }

    async fn commit_in_time(&self, change: &Change) -> Result<Committed, StoreError> {
        let commit = self.store.commit(change);
        let Some(deadline) = self.deadline else {
            return commit.await;
        };
        match timeout_at(deadline, commit).await {
            Ok(result) => result,
            Err(elapsed) => Err(StoreError::Unanswered {
                operation: "commit",
                source: Box::new(elapsed),
            }),
        }
    }

    pub(crate) fn pauses(&self) -> ExponentialBuilder {
        self.settings.patience.after_conflicts()
    }

    /// Returns the pauses after throttling or a missing response, up to the deadline.
    pub(crate) fn slow_pauses(&self) -> impl Iterator<Item = Duration> {
        let pauses = self.settings.patience.after_failures().build();
        let deadline = self.deadline;
        let in_time = move |pause: &Duration| {
            deadline.is_none_or(|deadline| Instant::now() + *pause < deadline)
        };
        pauses.take_while(in_time)
    }

    pub(crate) fn contended(&self, operation: &'static str) -> QueueError {
        if self.is_over() {
            return QueueError::OutOfTime { operation };
        }
        QueueError::Contended {
            operation,
            tries: self.settings.patience.repeats + 1,
        }
    }
}
