//! The newest-first loop: one turn of `process-tasks`.
//!
//! A turn acquires the processor lease, takes and runs tasks until the queue is empty or the
//! time is up, and ends by a release or by a release and a tail call: rules 2 to 7 and 10 of the
//! wake-up protocol (`docs/explanation/wake-protocol.md`).
//!
//! | module | what it holds |
//! |---|---|
//! | `turn` | the loop |
//! | `select` | which task is next |
//! | `rate` | how many may start a second |
//! | `read` | reads of the index, on demand or ahead of it |
//! | `slots` | how many run at once |
//! | `breaker` | whether anything but probes starts |
//! | `codel` | whether anything but new tasks starts |
//! | `attempt` | one task: take, run, settle or return |
//! | `heartbeat` | the processor lease |
//! | `ending` | who is awake after the turn |
//! | `settings` | how a turn works |
//! | `summary` | what a turn did |

mod attempt;
mod breaker;
mod codel;
mod error;
mod finish;
mod heartbeat;
mod rate;
mod read;
mod select;
mod settings;
mod slots;
mod summary;
mod turn;

use std::sync::Arc;

use uuid::Uuid;

pub use self::breaker::{FIRST_PROBE, LONGEST_PROBE};
pub use self::codel::CodelSettings;
pub use self::error::{FailedTurn, TurnError};
pub use self::select::{DEEP_PAGE, DEEP_PAGE_PAUSE, MAX_HEAD, MAX_PAGE_AGE};
pub use self::settings::{BreakerSettings, Invocation, ProcessSettings, RateLimit};
pub use self::summary::{Exit, TurnSummary};
use self::turn::Turn;
use crate::control::{Acquired, Claim};
use crate::notify::Notifier;
use crate::runner::TaskRunner;
use crate::store::QueueStore;
use crate::time::Clock;

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
        // Whatever this turn starts, it starts before this.
        let hard_stop = self.settings.hard_stop(started, invocation.deadline);
        let last_start = hard_stop
            .minus(self.settings.task_timeout)
            .max(started.plus(self.settings.turn));
        let claim = Claim {
            owner,
            message_id: invocation.message_id.clone(),
            until,
            rate_full_at: self.settings.rate.map(|rate| rate.worst(last_start)),
        };
        let control = match self
            .store
            .acquire(&claim, started)
            .await
            .map_err(TurnError::from)?
        {
            Acquired::Ours(control) => control,
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
        let mut turn = Turn::start(self, owner, control, until, invocation.deadline);
        let end = turn.work().await;
        let end = turn.drain(end).await;
        let mut stopped = turn.stop().await;
        let finished = self.finish(end, &mut stopped).await;
        let mut summary = stopped.summary;
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
}
