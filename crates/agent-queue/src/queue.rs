//! The queue itself: its settings, and how a change is carried through.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use tokio::time::{Instant, timeout_at};

use crate::criteria::Criteria;
use crate::dimension::Dimensions;
use crate::open_lines::{MAX_LINES, OpenLines};
use crate::store::{AgentStore, Committed, Order, Refusal, StoreError};
use crate::time::Clock;
use crate::transaction::Change;
use crate::window::Windows;

/// The filtered queue, on any store. Its operations are in [`agent_lifecycle`](crate::agent_lifecycle),
/// [`enqueue`](crate::enqueue), [`matcher`](crate::matcher) and [`sweep`](crate::sweep).
#[derive(Clone)]
pub struct AgentQueue {
    pub(crate) store: Arc<dyn AgentStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: Settings,
    pub(crate) windows: Arc<Windows>,
    pub(crate) opened: Arc<OpenLines>,
    tally: Arc<Tally>,
    deadline: Option<Instant>,
}

/// How the queue behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What agents are chosen by.
    pub dimensions: Dimensions,
    /// Who comes first.
    pub order: Order,
    /// How long a call waits for an agent.
    pub max_wait: Duration,
    /// How long a call may last, from its assignment or its last extension, before its agent is
    /// available again; `None`: without limit.
    pub call_lease: Option<Duration>,
    /// How long an agent has to answer an assignment by extending it, before the call returns to
    /// its line; `None`: an assignment needs no answer.
    pub answer_within: Option<Duration>,
    /// How many entries of a queue a match reads at once.
    pub page: u16,
    /// Among how many of the first agents of a queue a call of a lane chooses at most, while
    /// transactions meet; 1 is strict order at all times.
    pub contention_window: u16,
    /// How a change is repeated.
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

/// How a change is repeated that met another transaction, or was not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// How often at most, the first time not counted.
    pub repeats: usize,
    /// The first pause; each further one is twice as long, with jitter.
    pub shortest: Duration,
    /// The longest pause.
    pub longest: Duration,
}

impl Default for Patience {
    /// Some three seconds in all. A transaction takes about ten milliseconds: during a much
    /// longer pause, others change the items.
    fn default() -> Self {
        Self {
            repeats: 60,
            shortest: Duration::from_millis(8),
            longest: Duration::from_millis(32),
        }
    }
}

/// Why an operation did not come to its end. What it asked for may be done or not; repeat it.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Others kept changing the same items.
    #[error(
        "{operation}: conflicted with other transactions {tries} times; repeat it, or see docs/explanation/agents.md for the limits of one queue"
    )]
    Contended {
        /// The operation.
        operation: &'static str,
        /// How often it tried.
        tries: usize,
    },
    /// Another line of waiting calls would be too many.
    #[error(
        "criteria {criteria}: calls wait for {MAX_LINES} different criteria already, the most a queue takes; \
         check what the callers send as values, or wait until the sweep closes lines that were empty for a day"
    )]
    TooManyLines {
        /// What the call asks for.
        criteria: Criteria,
    },
    /// The invocation is about to end.
    #[error("{operation}: the invocation's time is used up; repeat it")]
    OutOfTime {
        /// The operation.
        operation: &'static str,
    },
}

impl QueueError {
    /// Whether the same operation may work when it is repeated.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Store(error) => error.is_transient(),
            Self::Contended { .. } | Self::OutOfTime { .. } => true,
            Self::TooManyLines { .. } => false,
        }
    }
}

/// How a change ended, once it did not meet another transaction.
pub(crate) enum Outcome {
    Done,
    Refused(Vec<Refusal>),
}

/// Why a change is tried again.
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

/// What was counted since the last look.
#[derive(Debug, Default)]
struct Tally {
    conflicts: AtomicU64,
    lost_matches: AtomicU64,
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Changes that met another transaction and were repeated.
    pub conflicts: u64,
    /// Matches that came too late for an agent and went on to the next.
    pub lost_matches: u64,
}

impl AgentQueue {
    /// A queue on a store.
    #[must_use]
    pub fn new(store: Arc<dyn AgentStore>, clock: Arc<dyn Clock>, settings: Settings) -> Self {
        Self {
            store,
            clock,
            windows: Arc::new(Windows::up_to(settings.contention_window)),
            opened: Arc::default(),
            settings,
            tally: Arc::default(),
            deadline: None,
        }
    }

    /// The same queue for one invocation: it starts no further try after `deadline`, and waits
    /// until then for the answer to a change. Both queues count into one tally.
    #[must_use]
    pub fn until(&self, deadline: Instant) -> Self {
        Self {
            deadline: Some(deadline),
            ..self.clone()
        }
    }

    /// Until when it works; `None`: without limit.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Whether the deadline has passed.
    pub(crate) fn is_over(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| deadline <= Instant::now())
    }

    /// Its settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What was counted since it was last asked.
    #[must_use]
    pub fn counted(&self) -> Counted {
        Counted {
            conflicts: self.tally.conflicts.swap(0, Ordering::Relaxed),
            lost_matches: self.tally.lost_matches.swap(0, Ordering::Relaxed),
        }
    }

    pub(crate) fn count_lost_match(&self) {
        self.tally.lost_matches.fetch_add(1, Ordering::Relaxed);
    }

    /// Carries a change through: after a conflict, a throttle or silence the same change again,
    /// by its token, with jitter; a bounded number of times.
    pub(crate) async fn commit(
        &self,
        operation: &'static str,
        change: &Change,
    ) -> Result<Outcome, QueueError> {
        let ended = self.try_again(change, |again| again.is_transient()).await;
        ended.map_err(|again| match again {
            Again::Store(error) => QueueError::Store(error),
            Again::Conflict => self.contended(operation),
        })
    }

    /// The same, but `None` at once after a conflict: another change may be due by then. A
    /// change that was met by silence is repeated nevertheless: it may have happened.
    pub(crate) async fn commit_unless_conflict(
        &self,
        change: &Change,
    ) -> Result<Option<Outcome>, QueueError> {
        let unanswered = AtomicBool::new(false);
        let worth_it = |again: &Again| match again {
            Again::Conflict => unanswered.load(Ordering::Relaxed),
            Again::Store(error) => {
                unanswered.store(true, Ordering::Relaxed);
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
                Ok(Committed::Refused(refusals)) => Ok(Outcome::Refused(refusals)),
                Ok(Committed::Conflict) => {
                    self.tally.conflicts.fetch_add(1, Ordering::Relaxed);
                    Err(Again::Conflict)
                }
                Err(error) => Err(Again::Store(error)),
            }
        };
        once.retry(self.pauses())
            .sleep(tokio::time::sleep)
            .when(|again| worth_it(again) && !self.is_over())
            .await
    }

    async fn commit_in_time(&self, change: &Change) -> Result<Committed, StoreError> {
        let commit = self.store.commit(change);
        let Some(deadline) = self.deadline else {
            return commit.await;
        };
        match timeout_at(deadline, commit).await {
            Ok(answer) => answer,
            Err(elapsed) => Err(StoreError::Unanswered {
                operation: "commit",
                source: Box::new(elapsed),
            }),
        }
    }

    /// The pauses between tries.
    pub(crate) fn pauses(&self) -> ExponentialBuilder {
        let Patience {
            repeats,
            shortest,
            longest,
        } = self.settings.patience;
        ExponentialBuilder::default()
            .with_min_delay(shortest)
            .with_max_delay(longest)
            .with_max_times(repeats)
            .with_jitter()
    }

    /// Every try met another transaction, and no further one is due.
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
