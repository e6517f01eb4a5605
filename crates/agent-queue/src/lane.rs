//! Assigns the new calls of one criteria in one batch concurrently.
//!
//! The call queue delivers the calls of one criteria to one process at a time, in their order. One
//! read therefore serves all of them: the first agents of the queue, and the oldest pending call.
//! With enough agents, each call claims another agent, all at once. If a call is pending or agents
//! are few, the calls go one after the other, so that none overtakes another.
//!
//! Lanes of other criteria, and other processes, claim the same agents. Two transactions on one
//! agent conflict; the call that loses claims another agent. During contention, each call chooses
//! at random among the first few agents ([`Windows`](crate::window::Windows)) instead of the very
//! first.

mod view;

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::join_all;

use self::view::{Pick, View};
use crate::agent::Ticket;
use crate::call::Call;
use crate::criteria::Criteria;
use crate::matcher::{Matched, answered};
use crate::meet::{MatchOutcome, TryOutcome};
use crate::queue::{AgentQueue, QueueError};
use crate::transaction::Before;

/// Number of agents to read beyond one for each call. With fewer, calls go one after the other.
pub(crate) const SPARE: usize = 10;

/// The longest pause after a call has lost its second agent.
const PAUSE: Duration = Duration::from_millis(1);

/// The longest pause of all. The pause doubles with each further loss up to this time.
const LONGEST_PAUSE: Duration = Duration::from_millis(16);

/// After more lost agents than this, a call leaves the lane: it continues in strict order and with
/// longer pauses.
const MAX_LOSSES: u32 = 60;

/// The tickets of the agents that the lanes of one batch claim or have claimed.
#[derive(Debug, Default)]
pub struct Claims(Mutex<HashSet<Ticket>>);

impl Claims {
    fn lock(&self) -> MutexGuard<'_, HashSet<Ticket>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The calls of one lane while they claim agents.
struct Lane<'a> {
    queue: &'a AgentQueue,
    criteria: &'a Criteria,
    claims: &'a Claims,
    calls: usize,
    view: tokio::sync::Mutex<View>,
}

impl AgentQueue {
    /// Assigns new calls of one criteria in their order, or sets them to pending. The answers have
    /// the same order. An error or the deadline may end it early: calls without an answer were not
    /// begun.
    pub async fn match_lane(
        &self,
        calls: &[Call],
        claims: &Claims,
    ) -> Vec<Result<Matched, QueueError>> {
        let Some(first) = calls.first() else {
            return vec![];
        };
        let in_turn = calls.iter().any(|call| self.is_too_old(call));
        if in_turn || self.settings.contention_window <= 1 {
            return self.one_by_one(calls).await;
        }
        let criteria = &first.criteria;
        let page = page(calls.len());
        let look = tokio::try_join!(self.first_entries(criteria, page), async {
            Ok(self.store.waiting_calls(criteria, 1).await?)
        });
        let (entries, waiting) = match look {
            Ok(look) => look,
            Err(error) => return vec![Err(error)],
        };
        if !waiting.is_empty() {
            return self.wait_in_turn(calls).await;
        }
        let plenty = entries.len() >= usize::from(page);
        let lane = Lane {
            queue: self,
            criteria,
            claims,
            calls: calls.len(),
            view: tokio::sync::Mutex::new(View::new(entries)),
        };
        let mut at_once = vec![];
        if plenty {
            at_once = join_all(calls.iter().map(|call| lane.claim(call, SPARE))).await;
        }
        let mut at_once = at_once.into_iter();
        let mut answers = vec![];
        for call in calls {
            let met = match at_once.next() {
                Some(Ok(None)) | None => lane.claim(call, 1).await,
                Some(met) => met,
            };
            let answer = match met {
                Ok(Some(MatchOutcome::Assigned(assignment))) => Ok(answered(assignment)),
                Ok(Some(MatchOutcome::Known(record))) => self.known(record).await,
                Ok(_) => self.wait(call).await,
                Err(error) => Err(error),
            };
            let failed = answer.is_err();
            answers.push(answer);
            if failed && at_once.len() == 0 {
                break;
            }
        }
        answers
    }

    /// Assigns calls one after the other, up to the first error or the deadline.
    async fn one_by_one(&self, calls: &[Call]) -> Vec<Result<Matched, QueueError>> {
        let mut answers = vec![];
        for call in calls {
            answers.push(self.match_in_turn(call).await);
            if answers.last().is_some_and(Result::is_err) || self.is_over() {
                break;
            }
        }
        answers
    }

    /// Assigns one call in strict order.
    async fn match_in_turn(&self, call: &Call) -> Result<Matched, QueueError> {
        if self.is_too_old(call) {
            return self.give_up(call).await;
        }
        if !self
            .store
            .waiting_calls(&call.criteria, 1)
            .await?
            .is_empty()
        {
            return self.wait(call).await;
        }
        match self.meet(call, Before::New).await? {
            MatchOutcome::Assigned(assignment) => Ok(answered(assignment)),
            MatchOutcome::Known(record) => self.known(record).await,
            MatchOutcome::NoAgent | MatchOutcome::NoRecord => self.wait(call).await,
        }
    }

    /// Adds calls to the line, behind the pending calls, up to the first error or the deadline.
    async fn wait_in_turn(&self, calls: &[Call]) -> Vec<Result<Matched, QueueError>> {
        let mut answers = vec![];
        for call in calls {
            answers.push(self.wait(call).await);
            if answers.last().is_some_and(Result::is_err) || self.is_over() {
                break;
            }
        }
        answers
    }
}

/// Number of queue entries to read for this number of calls.
fn page(calls: usize) -> u16 {
    u16::try_from(calls + SPARE).unwrap_or(u16::MAX)
}

impl Lane<'_> {
    /// Claims agents for one call until it is assigned or its state is known. `None`: fewer than
    /// `few` agents are left, more than [`MAX_LOSSES`] were lost, or the deadline has passed.
    async fn claim(&self, call: &Call, few: usize) -> Result<Option<MatchOutcome>, QueueError> {
        let (mut losses, mut stale) = (0, None);
        loop {
            let place = self.queue.gate.enter().await;
            if losses > MAX_LOSSES || self.queue.is_over() {
                return Ok(None);
            }
            if let Some(looks) = stale {
                pause(losses).await;
                // Other processes have probably taken more of the agents that were read.
                self.look(looks).await?;
            }
            let (pick, looks) = self.pick(few).await;
            stale = Some(looks);
            let entry = match pick {
                Pick::Entry(entry) => entry,
                Pick::Few => return Ok(None),
                Pick::Later => {
                    place.lost();
                    losses += 1;
                    continue;
                }
            };
            match self.queue.try_assign(call, Before::New, &entry).await? {
                TryOutcome::Ended(met) => {
                    place.settled();
                    match *met {
                        MatchOutcome::Assigned(_) => self.queue.windows.won(self.criteria),
                        _ => drop(self.claims.lock().remove(&entry.ticket)),
                    }
                    return Ok(Some(*met));
                }
                TryOutcome::Gone => self.queue.count_lost_match(),
                TryOutcome::Conflict => {
                    losses += 1;
                    self.claims.lock().remove(&entry.ticket);
                    self.view.lock().await.lose(entry.ticket);
                }
            }
            place.lost();
            self.queue.windows.lost(self.criteria);
        }
    }

    async fn pick(&self, few: usize) -> (Pick, u32) {
        let windows = &self.queue.windows;
        let (window, most) = (windows.of(self.criteria), windows.most());
        let view = self.view.lock().await;
        let pick = view.pick(&mut self.claims.lock(), few, window, most);
        (pick, view.looks)
    }

    /// Reads the agents again for all calls of the lane, unless one of the calls has done so
    /// meanwhile.
    async fn look(&self, looks: u32) -> Result<(), QueueError> {
        let mut view = self.view.lock().await;
        if view.looks == looks {
            let page = page(self.calls);
            let entries = self.queue.first_entries(self.criteria, page).await?;
            view.renew(entries);
        }
        Ok(())
    }
}

/// Pauses from the second loss on. After the first one, another agent is probably free.
pub async fn pause(losses: u32) {
    if let Some(further) = losses.checked_sub(2) {
        let longest = PAUSE.saturating_mul(2_u32.saturating_pow(further));
        let longest = longest.min(LONGEST_PAUSE);
        tokio::time::sleep(longest.mul_f64(fastrand::f64())).await;
    }
}
