//! The newest-first loop: one turn of `process-tasks`.
//!
//! A turn acquires the processor lease, takes and runs tasks until the queue is empty or the
//! time is up, and ends by a release or by a release and a tail call: rules 2 to 7 and 10 of the
//! wake-up protocol (`docs/wake-protocol.md`).
//!
//! | module | what it holds |
//! |---|---|
//! | `turn` | the loop |
//! | `select` | which task is next |
//! | `read` | reads of the index, on demand or ahead of it |
//! | `slots` | how many run at once |
//! | `attempt` | one task: take, run, settle or give back |
//! | `heartbeat` | the processor lease |
//! | `summary` | what a turn did |

mod attempt;
mod heartbeat;
mod read;
mod select;
mod slots;
mod summary;
mod turn;

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

pub use self::select::{MAX_PAGE, MAX_PAGE_AGE};
pub use self::summary::{Exit, TurnSummary};
use self::turn::{Turn, TurnEnd};
use crate::backoff::Backoff;
use crate::causes;
use crate::control::{Acquired, Claim, IdleTurns, Release, Released};
use crate::notify::{Notification, Notifier, NotifyError, WakeReason};
use crate::runner::TaskRunner;
use crate::store::{QueueStore, StoreError};
use crate::task::Retention;
use crate::time::{Clock, Millis};
use crate::wake::{WakeError, Waker};

/// How `process-tasks` works. The defaults in `infra/` are written behind each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessSettings {
    /// How long a turn takes tasks (60 s).
    pub turn: Duration,
    /// How long one run may take (30 s).
    pub task_timeout: Duration,
    /// How long before the function's deadline everything must be given back (10 s).
    pub deadline_margin: Duration,
    /// Tasks that run at once (10).
    pub slots: u16,
    /// Attempts before FAILURE (5).
    pub max_attempts: u32,
    /// How often a busy downstream costs no attempt (20).
    pub max_busy_returns: u32,
    /// How long a task waits after an attempt (1 s, doubling up to 5 min).
    pub backoff: Backoff,
    /// The processor lease (20 s).
    pub processor_lease: Duration,
    /// How often the lease is renewed (5 s).
    pub heartbeat: Duration,
    /// How long the index may lag behind the table (2 s).
    pub index_lag: Duration,
    /// Consecutive turns without a settled task before the tail calls end (10).
    pub max_idle_turns: u32,
    /// How far clocks may differ (2 s).
    pub clock_skew: Duration,
    /// How long settled tasks are kept.
    pub retention: Retention,
    /// The expiry of a foreign task without `ttl`, from first sight (1 h).
    pub default_ttl: Duration,
    /// How long one notification holds others back (10 s).
    pub notification_marker: Duration,
    /// How long the queue pauses when the downstream refuses us (5 min).
    pub pause: Duration,
}

impl ProcessSettings {
    /// How long a task's lease is: enough to run, settle and be wrong about the time.
    #[must_use]
    pub fn task_lease(&self) -> Duration {
        self.task_timeout + self.deadline_margin + self.clock_skew
    }
}

/// One invocation of `process-tasks`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The message that invoked it; the same at each of the platform's retries.
    pub message_id: String,
    /// When the platform ends it; `None` when nobody said.
    pub deadline: Option<Millis>,
}

/// A turn that failed, and what it did until then. The platform must deliver its message again.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct FailedTurn {
    /// What the turn did until it failed.
    pub summary: TurnSummary,
    /// Why it failed.
    #[source]
    pub error: TurnError,
}

impl From<TurnError> for FailedTurn {
    /// A turn that failed before it did anything.
    fn from(error: TurnError) -> Self {
        Self {
            summary: TurnSummary {
                exit: Exit::Failed,
                ..TurnSummary::default()
            },
            error,
        }
    }
}

/// Why a turn failed.
#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    /// Rule 3: an earlier attempt of this very message still holds the lease, so it died.
    #[error(
        "an earlier attempt of message {message_id} died holding the processor lease until {until_ms} ms; to be retried"
    )]
    Predecessor {
        /// The message.
        message_id: String,
        /// When the lease runs out, in milliseconds since the epoch.
        until_ms: i64,
    },
    /// The store gave no usable answer, repeatedly.
    #[error("the turn could not use the table")]
    Store(#[from] StoreError),
    /// The tail call was not published.
    #[error("work remains, but the tail call was not published")]
    TailCall(#[from] NotifyError),
    /// A task was given back late, and nobody could be woken for it.
    #[error("a task was given back after the processor lease was lost, but the wake-up failed")]
    LateGiveBack(#[from] WakeError),
}

/// Runs turns.
pub struct Processor {
    store: Arc<dyn QueueStore>,
    notifier: Arc<dyn Notifier>,
    runner: Arc<dyn TaskRunner>,
    clock: Arc<dyn Clock>,
    settings: ProcessSettings,
}

impl Processor {
    /// A processor.
    #[must_use]
    pub fn new(
        store: Arc<dyn QueueStore>,
        notifier: Arc<dyn Notifier>,
        runner: Arc<dyn TaskRunner>,
        clock: Arc<dyn Clock>,
        settings: ProcessSettings,
    ) -> Self {
        Self {
            store,
            notifier,
            runner,
            clock,
            settings,
        }
    }

    /// Runs one turn.
    ///
    /// # Errors
    /// [`FailedTurn`]: the message must be delivered again.
    pub async fn turn(&self, invocation: Invocation) -> Result<TurnSummary, FailedTurn> {
        let started = self.clock.now();
        // Fresh for each invocation attempt (rule 2).
        let owner = Uuid::new_v4();
        let until = started.plus(self.settings.processor_lease);
        let claim = Claim {
            owner,
            message_id: invocation.message_id.clone(),
            until,
        };
        let seen = match self
            .store
            .acquire(&claim, started)
            .await
            .map_err(TurnError::from)?
        {
            Acquired::Ours(control) => control.requested,
            Acquired::Held(lease) if lease.message_id == invocation.message_id => {
                let message_id = invocation.message_id;
                return Err(TurnError::Predecessor {
                    message_id,
                    until_ms: lease.until.0,
                }
                .into());
            }
            Acquired::Held(_) => return Ok(self.exit_at_once(Exit::AlreadyActive)),
            Acquired::Paused(_) => return Ok(self.exit_at_once(Exit::Paused)),
        };
        let mut turn = Turn::start(self, owner, seen, until, invocation.deadline);
        let end = turn.work().await;
        turn.drain().await;
        let (mut summary, gave_back) = turn.stop().await;
        let finished = self.finish(owner, end, gave_back, &mut summary).await;
        let took = self.clock.now().since(started);
        summary.duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        match finished {
            Ok(()) => Ok(summary),
            Err(error) => {
                summary.exit = Exit::Failed;
                Err(FailedTurn { summary, error })
            }
        }
    }

    fn exit_at_once(&self, exit: Exit) -> TurnSummary {
        TurnSummary {
            exit,
            ..TurnSummary::default()
        }
    }

    /// What follows the loop. On every way out either the lease was released on the condition
    /// of rule 5, or someone is woken, or the sweep is left to wake (rule 10, pause).
    async fn finish(
        &self,
        owner: Uuid,
        end: TurnEnd,
        gave_back: bool,
        summary: &mut TurnSummary,
    ) -> Result<(), TurnError> {
        match end {
            TurnEnd::Empty => summary.exit = Exit::Empty,
            TurnEnd::LeaseLost => {
                summary.exit = Exit::LeaseLost;
                if gave_back {
                    self.waker()
                        .request(&owner.to_string(), WakeReason::LateGiveBack)
                        .await?;
                }
            }
            TurnEnd::Paused => {
                summary.exit = Exit::Paused;
                self.release(owner, summary).await?;
            }
            TurnEnd::TimeUp => self.tail_call(owner, summary).await?,
            TurnEnd::Failed(error) => {
                // The message comes again and should find the lease free; the reason for
                // failing is what the caller must see.
                if let Err(second) = self.release(owner, summary).await {
                    let second = causes::chain(&second);
                    tracing::error!(error = second, "lease not released; it will run out");
                }
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// Rule 6: release first, then the tail call, also when the release was refused. Rule 10:
    /// not after too many turns in a row that settled nothing.
    async fn tail_call(&self, owner: Uuid, summary: &mut TurnSummary) -> Result<(), TurnError> {
        self.release(owner, summary).await?;
        if summary.idle_turns >= self.settings.max_idle_turns {
            summary.exit = Exit::NoProgress;
            tracing::error!(
                idle_turns = summary.idle_turns,
                "too many turns in a row settled nothing: no tail call, the sweep takes over"
            );
            return Ok(());
        }
        summary.exit = Exit::TimeUp;
        let notification = Notification {
            reason: WakeReason::TailCall,
            event: owner.to_string(),
        };
        self.notifier.tail_call(&notification).await?;
        summary.tail_call = true;
        Ok(())
    }

    async fn release(&self, owner: Uuid, summary: &mut TurnSummary) -> Result<(), StoreError> {
        let idle_turns = if summary.settled() > 0 {
            IdleTurns::Reset
        } else {
            IdleTurns::Add
        };
        let release = Release {
            owner,
            if_requested_is: None,
            idle_turns,
        };
        if let Released::Done { idle_turns } = self.store.release(&release).await? {
            summary.idle_turns = idle_turns;
        }
        Ok(())
    }

    fn waker(&self) -> Waker {
        Waker::new(
            self.store.clone(),
            self.notifier.clone(),
            self.clock.clone(),
            self.settings.notification_marker,
        )
    }
}
