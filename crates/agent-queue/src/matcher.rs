//! Assigns a call to an agent, sets it to pending, or expires it.
//!
//! A call joins the line of its criteria, and then the line is served. Of a call and an agent that
//! cross, the later writer sees the other. The call queue delivers calls of one criteria to one
//! process at a time, so these are matched before they join a line ([`lane`](crate::lane)).

use crate::call::{Assignment, Call, CallRecord, CallState};
use crate::meet::call_there;
use crate::name::CallId;
use crate::queue::{AgentQueue, Outcome, QueueError};
use crate::transaction::{Before, Change};

/// The result of matching a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matched {
    /// The call's state.
    pub state: CallState,
    /// New assignments to publish: of this call, and of calls that were pending for longer.
    pub assignments: Vec<Assignment>,
    /// Whether the call is new and pending.
    pub queued: bool,
    /// Number of calls that the operation expired.
    pub expired: u32,
    /// Whether an error or the queue's deadline ended the operation early: repeat the same call.
    pub cut_short: bool,
}

/// The result of a cancellation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// This request cancelled the call.
    Done,
    /// The call was not pending any more; this is its unchanged state.
    Is(CallState),
}

impl Cancel {
    /// The call's state now.
    #[must_use]
    pub fn state(self) -> CallState {
        match self {
            Self::Done => CallState::Cancelled,
            Self::Is(state) => state,
        }
    }
}

impl AgentQueue {
    /// Assigns a call, sets it to pending, or expires it. A known call gets its current state.
    ///
    /// # Errors
    /// [`QueueError`]; repeat it with the same id.
    pub async fn match_call(&self, call: &Call) -> Result<Matched, QueueError> {
        if self.is_too_old(call) {
            return self.give_up(call).await;
        }
        match self.store.call(&call.id).await? {
            Some(record) => self.known(record).await,
            None => self.wait(call).await,
        }
    }

    /// Adds a new call to the line of its criteria, and serves the line.
    pub(crate) async fn wait(&self, call: &Call) -> Result<Matched, QueueError> {
        self.open_line(&call.criteria).await?;
        match self.commit("wait", &Change::wait(call)).await? {
            Outcome::Done => self.look_again(call, true).await,
            Outcome::Refused(refusals) => match call_there(&refusals) {
                Some(record) => self.known(record).await,
                None => self.look_again(call, false).await,
            },
        }
    }

    /// The call and its state; `None` if no call has this id.
    ///
    /// # Errors
    /// [`QueueError`]; repeat it.
    pub async fn call(&self, id: &CallId) -> Result<Option<CallRecord>, QueueError> {
        Ok(self.store.call(id).await?)
    }

    /// Cancels a call that is pending or has not arrived yet. An assigned call stays assigned. A
    /// call that arrives after its cancellation is not assigned.
    ///
    /// # Errors
    /// [`QueueError`]; repeat it.
    pub async fn cancel(&self, id: &CallId) -> Result<Cancel, QueueError> {
        let mut before = self.store.call(id).await?;
        loop {
            let change = match &before {
                None => Change::cancel_early(Call {
                    id: id.clone(),
                    criteria: self.settings.dimensions.any(),
                    arrived: self.clock.now(),
                    sequence: 0,
                    unanswered: 0,
                }),
                Some(record) if record.state == CallState::Waiting => {
                    Change::cancel(&record.call, self.clock.now())
                }
                Some(record) => return Ok(Cancel::Is(record.state.clone())),
            };
            match self.commit("cancel", &change).await? {
                Outcome::Done => return Ok(Cancel::Done),
                // The call arrived, or its wait ended, in between.
                Outcome::Refused(refusals) => before = call_there(&refusals),
            }
        }
    }

    /// Answers a redelivered call. If it is pending, the line is served again: the process that
    /// wrote the call may have crashed before its read.
    pub(crate) async fn known(&self, record: CallRecord) -> Result<Matched, QueueError> {
        match record.state {
            CallState::Waiting => self.look_again(&record.call, false).await,
            state => Ok(Matched {
                state,
                assignments: vec![],
                queued: false,
                expired: 0,
                cut_short: false,
            }),
        }
    }

    async fn look_again(&self, call: &Call, is_new: bool) -> Result<Matched, QueueError> {
        let served = self.serve(&call.criteria).await?;
        let ours = served
            .assignments
            .iter()
            .find(|made| made.call_id == call.id);
        let state = match ours {
            Some(assignment) => CallState::Assigned(assignment.clone()),
            // Another process may have served it meanwhile.
            None => match self.store.call(&call.id).await? {
                Some(record) => record.state,
                None => CallState::Waiting,
            },
        };
        Ok(Matched {
            queued: is_new && state == CallState::Waiting,
            state,
            assignments: served.assignments,
            expired: served.expired,
            cut_short: served.cut_short,
        })
    }

    pub(crate) fn is_too_old(&self, call: &Call) -> bool {
        call.arrived.plus(self.settings.max_wait) <= self.clock.now()
    }

    /// Expires a call that arrives too late.
    pub(crate) async fn give_up(&self, call: &Call) -> Result<Matched, QueueError> {
        let change = Change::expire(call, Before::New, self.clock.now());
        let known = match self.commit("expire", &change).await? {
            Outcome::Done => None,
            Outcome::Refused(refusals) => call_there(&refusals),
        };
        let (state, expired) = match known {
            None => (CallState::Expired, 1),
            Some(record) if record.state == CallState::Waiting => {
                let expired = self.expire(&record.call).await?;
                let now = self.store.call(&call.id).await?;
                let state = now.map_or(CallState::Expired, |record| record.state);
                (state, u32::from(expired))
            }
            Some(record) => (record.state, 0),
        };
        Ok(Matched {
            state,
            assignments: vec![],
            queued: false,
            expired,
            cut_short: false,
        })
    }

    /// Expires a pending call. Returns false if another process ended its wait first.
    async fn expire(&self, call: &Call) -> Result<bool, QueueError> {
        let change = Change::expire(call, Before::Waiting, self.clock.now());
        let outcome = self.commit("expire", &change).await?;
        Ok(matches!(outcome, Outcome::Done))
    }
}

pub(crate) fn answered(assignment: Assignment) -> Matched {
    Matched {
        state: CallState::Assigned(assignment.clone()),
        assignments: vec![assignment],
        queued: false,
        expired: 0,
        cut_short: false,
    }
}
