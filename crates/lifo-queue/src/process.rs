//! One turn of `process-tasks`: the loop that takes and runs tasks, newest first by default.
//!
//! A turn acquires the processor lease, then takes and runs tasks until the queue is empty or the
//! time is up. It then releases the lease and publishes a tail call if tasks may remain. This
//! implements rules 2 to 7 and 10 of the wake-up protocol (`docs/explanation/wake-protocol.md`).
//!
//! | module | content |
//! |---|---|
//! | `turn` | the loop |
//! | `select` | the choice of the next task |
//! | `groups`, `heads` | the choice among groups of tasks, and the reads that it needs |
//! | `rate` | the limit on starts per second |
//! | `read` | reads of the index, on demand or in advance |
//! | `health` | the health of the downstream: circuit breaker, concurrency, cost of runs without a result |
//! | `observe` | what operators see of the runs, and the downstream's capacity for ingest admission |
//! | `codel` | overload: whether only new tasks start |
//! | `attempt` | one attempt at a task: take, run, settle or return |
//! | `slots` | the slots, which attempts hold until their runs end |
//! | `heartbeat` | renewals of the processor lease |
//! | `finish` | the release, the tail call and wake-up requests at the end of a turn |
//! | `settings` | the settings of a turn |
//! | `summary` | the summary of a turn |

mod attempt;
mod codel;
mod error;
mod filter;
mod finish;
mod groups;
mod heads;
mod health;
mod heartbeat;
mod observe;
mod rate;
mod read;
mod select;
mod settings;
mod slots;
mod summary;
mod turn;

use std::sync::Arc;

use uuid::Uuid;

pub use self::codel::CodelSettings;
pub use self::error::{FailedTurn, TurnError};
use self::health::GroupLimits;
pub use self::health::{FIRST_PROBE, LONGEST_PROBE, RUNS_TO_OPEN};
pub use self::select::{DEEP_PAGE, DEEP_PAGE_PAUSE, MAX_HEAD, MAX_PAGE_AGE};
pub use self::settings::{BreakerSettings, GroupSettings, Invocation, ProcessSettings, RateLimit};
pub use self::slots::TAKEN_PER_SLOT;
pub use self::summary::{Exit, TurnSummary};
use self::turn::Turn;
use crate::control::{Acquired, Claim, Control};
use crate::notify::Notifier;
use crate::runner::TaskRunner;
use crate::store::QueueStore;
use crate::time::{Clock, Millis};

/// Runs turns of `process-tasks`.
pub struct Processor {
    store: Arc<dyn QueueStore>,
    notifier: Arc<dyn Notifier>,
    runner: Arc<dyn TaskRunner>,
    clock: Arc<dyn Clock>,
    settings: ProcessSettings,
}

impl Processor {
    /// Creates a processor.
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
    /// [`FailedTurn`] if the turn failed. Lambda must then retry the message that invoked the turn.
    pub async fn turn(&self, invocation: Invocation) -> Result<TurnSummary, FailedTurn> {
        let started = self.clock.now();
        // Each invocation attempt is a new lease owner (rule 2).
        let owner = Uuid::new_v4();
        let until = started.plus(self.settings.processor_lease);
        // The turn does not start any task after `last_start`.
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
        let groups = self.groups(&control, started).await?;
        let mut turn = Turn::start(self, owner, control, groups, until, invocation.deadline);
        let end = loop {
            let end = turn.work().await;
            if turn.drain(&end).await {
                break end;
            }
        };
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

    /// Reads the groups for a turn; `None` for a queue without groups. If the read fails, the turn
    /// fails, the lease expires and Lambda retries the message.
    async fn groups(
        &self,
        control: &Control,
        now: Millis,
    ) -> Result<Option<GroupLimits>, TurnError> {
        let Some(limits) = self.settings.groups else {
            return Ok(None);
        };
        let states = self.store.groups().await?;
        // No lease in the control item means that the previous processor released its lease.
        let released = control.lease.is_none();
        let groups = GroupLimits::new(&self.settings, limits, states, released, now);
        Ok(Some(groups))
    }

    fn exit_at_once(&self, exit: Exit) -> TurnSummary {
        TurnSummary {
            exit,
            ..TurnSummary::default()
        }
    }
}
