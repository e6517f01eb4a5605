//! Pauses the queue if the downstream rejects several consecutive tasks or is busy for them, or
//! during a long outage. After rejections or busy responses, the next turn starts with one slot.

use std::collections::HashSet;
use std::time::Duration;

use super::{Ledger, RunNumber};
use crate::control::{Author, Pause};
use crate::runner::MAX_RETRY_AFTER;
use crate::task::TaskId;
use crate::time::Millis;

/// Number of consecutive distinct tasks that the downstream must reject or be busy for before the
/// queue pauses. A single task may itself be the cause.
const TASKS_TO_PAUSE: usize = 3;

/// Number of consecutive probes of one turn that must fail before a long outage pauses the queue.
/// Hours after the breaker opened, a single failed run may be a coincidence.
const PROBES_TO_PAUSE: u32 = 3;

/// Duration of the first pause for a busy downstream. It doubles with each further pause. The
/// sweep, which runs every minute, wakes the queue afterward.
const FIRST_BUSY_PAUSE: Duration = Duration::from_secs(30);

/// Distinct tasks that the downstream rejected or was busy for, and failed probes, since its last
/// result in this turn. A run that started before that result does not count, even if it ends later.
#[derive(Debug, Default)]
pub(super) struct Walls {
    rejected: HashSet<TaskId>,
    busy: HashSet<TaskId>,
    /// Number of consecutive probes that found the downstream unavailable and returned their task.
    failed_probes: u32,
    /// The newest run at the time of the last result.
    at_result: Option<RunNumber>,
}

impl Walls {
    /// Records a result; `newest` is the run that started last.
    pub(super) fn got_result(&mut self, newest: RunNumber) {
        *self = Self {
            at_result: Some(newest),
            ..Self::default()
        };
    }

    /// Records that a probe found the downstream unavailable.
    pub(super) fn probe_failed(&mut self) {
        self.failed_probes += 1;
    }

    /// Whether no run counts toward a pause.
    pub(super) fn is_at_rest(&self) -> bool {
        self.rejected.is_empty() && self.busy.is_empty() && self.failed_probes == 0
    }

    /// Whether the downstream was busy for several tasks without a result in between.
    pub(super) fn is_busy(&self) -> bool {
        self.busy.len() >= TASKS_TO_PAUSE
    }

    /// Records that a task ended as FAILURE.
    pub(super) fn task_failed(&mut self) {
        self.failed_probes = 0;
    }

    /// Records that the downstream was busy for this run.
    pub(super) fn busy(&mut self, task: &TaskId, run: RunNumber) {
        if self.at_result.is_none_or(|newest| run > newest) {
            self.busy.insert(task.clone());
        }
    }

    /// Records that the downstream rejected this run.
    pub(super) fn rejected(&mut self, task: &TaskId, run: RunNumber) {
        if self.at_result.is_none_or(|newest| run > newest) {
            self.rejected.insert(task.clone());
        }
    }
}

impl Ledger {
    /// Whether the downstream rejected several tasks without a result in between.
    pub(in crate::process) fn is_rejecting(&self) -> bool {
        self.walls.rejected.len() >= TASKS_TO_PAUSE
    }

    /// The pause that is due, if any. It takes effect only when no run is active, because a run may
    /// still get a result.
    pub(in crate::process) fn pause_due(&self, now: Millis) -> Option<Pause> {
        if self.is_rejecting() {
            return Some(Pause {
                until: now.plus(self.settings.pause),
                reason: format!(
                    "the downstream rejected {} tasks in a row",
                    self.walls.rejected.len()
                ),
                busy: true,
                by: Some(Author::processor(now)),
            });
        }
        self.long_unavailable(now).or_else(|| self.long_busy(now))
    }

    /// The pause that is due after the circuit breaker has been open for `pause_after` and
    /// [`PROBES_TO_PAUSE`] consecutive probes of this turn have failed. At the end of a turn, one
    /// probe is enough, because long runs leave no time for more.
    fn long_unavailable(&self, now: Millis) -> Option<Pause> {
        let open_for = self.breaker.open_for(now)?;
        let probes = if now < self.last_start {
            PROBES_TO_PAUSE
        } else {
            1
        };
        let is_confirmed = self.walls.failed_probes >= probes;
        (is_confirmed && open_for >= self.settings.breaker?.pause_after).then(|| Pause {
            until: now.plus(self.settings.pause),
            reason: format!(
                "the downstream has been unavailable for {} s",
                open_for.as_secs()
            ),
            busy: false,
            by: Some(Author::processor(now)),
        })
    }

    /// The pause for a busy downstream; `None` if the downstream specified no time and there is a
    /// breaker, because probes then detect the recovery sooner.
    fn long_busy(&self, now: Millis) -> Option<Pause> {
        let asked = self.slots.retry_after();
        let probed = asked.is_none() && self.settings.breaker.is_some();
        if probed || !self.walls.is_busy() || !self.slots.is_congested(now) {
            return None;
        }
        let doubled = FIRST_BUSY_PAUSE.saturating_mul(1 << self.busy_pauses.min(10));
        let sent = asked.map_or_else(String::new, |_| {
            let minutes = MAX_RETRY_AFTER.as_secs() / 60;
            format!(" and sent Retry-After, of which at most {minutes} minutes count")
        });
        let asked = asked.map_or(Duration::ZERO, |at| at.since(now));
        Some(Pause {
            until: now.plus(doubled.max(asked).min(self.settings.pause)),
            reason: format!(
                "the downstream was busy for {} tasks in a row{sent}",
                self.walls.busy.len()
            ),
            busy: true,
            by: Some(Author::processor(now)),
        })
    }
}
