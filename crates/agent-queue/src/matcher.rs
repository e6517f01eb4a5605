//! A call is assigned to an agent, waits, or expires.
//!
//! A call joins the line of its criteria, and the line is served: of a call and an agent that
//! cross, the one that wrote later sees the other. The calls of the call queue, which come to one
//! process at a time, are looked at before they join a line ([`lane`](crate::lane)).

use crate::call::{Assignment, Call, CallRecord, CallState};
use crate::meet::call_there;
use crate::name::CallId;
use crate::queue::{AgentQueue, Outcome, QueueError};
use crate::transaction::{Before, Change};

/// The outcome of a call, and the events to publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matched {
    /// The call's state.
    pub state: CallState,
    /// The assignments made, to publish: this call's, and those of calls that waited for longer.
    pub assignments: Vec<Assignment>,
    /// Whether the call is new and waits.
    pub queued: bool,
    /// How many calls were found to have waited for too long.
    pub expired: u32,
    /// Whether the look ended early, by an error or the queue's deadline: repeat the same call.
    pub cut_short: bool,
}

/// How the wish to give a call up ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// It is cancelled by this request.
    Done,
    /// It had ended before: its state, unchanged.
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
    /// Assigns a call, or lets it wait. A call that is known gets its first answer again.
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

    /// A new call joins the line of its criteria, and the line is served.
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

    /// The outcome of a call; `None` if there was none of this id.
    ///
    /// # Errors
    /// [`QueueError`]; repeat it.
    pub async fn call(&self, id: &CallId) -> Result<Option<CallRecord>, QueueError> {
        Ok(self.store.call(id).await?)
    }

    /// Gives a call up, waiting or not arrived yet; one that is assigned stays so. A call that
    /// arrives after it was cancelled is not assigned.
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
                // It arrived, or ended, in between.
                Outcome::Refused(refusals) => before = call_there(&refusals),
            }
        }
    }

    /// A redelivered call. While it is pending, it reads again: the process that wrote it may
    /// have crashed before its read.
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
            // Another may have served it meanwhile.
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

    /// A call that arrives when it is too late already.
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

    /// A waiting call leaves; false if another process was faster.
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
