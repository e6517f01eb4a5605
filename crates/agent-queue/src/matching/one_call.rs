//! Assigns a call to an agent, sets it to pending, or expires it.
//!
//! A call joins the line of its criteria, and then the line is served. If a match and an enqueue
//! overlap, the later writer sees both. The call queue delivers calls with the same criteria to one
//! process at a time, so they are matched before they join a line ([`lane`](crate::matching::lane)).

use crate::agent::Agent;
use crate::agent_lifecycle::{ROUNDS, contended};
use crate::call::{Assignment, Call, CallRecord, CallState, OutboxEntry};
use crate::matching::first_agent::call_there;
use crate::matching::line::Served;
use crate::name::CallId;
use crate::queue::{AgentQueue, Outcome, Result};
use crate::store::StoreError;
use crate::transaction::{Before, CallLease, Change};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matched {
    pub state: CallState,
    /// New assignments to publish, for this call and for calls that have been pending longer.
    pub assignments: Vec<Assignment>,
    pub queued: bool,
    pub expired: u32,
    /// Whether an error or the queue's deadline ended the match early. If so, repeat the match.
    pub cut_short: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancel {
    Done {
        /// New assignments to publish, if the call had an agent: that agent is queued again.
        assignments: Vec<Assignment>,
        expired: u32,
    },
    /// The call was not cancelled, because it is assigned or has ended. Contains its state.
    Is(CallState),
}

impl Cancel {
    pub fn state(self) -> CallState {
        match self {
            Self::Done { .. } => CallState::Cancelled,
            Self::Is(state) => state,
        }
    }
}

impl Matched {
    fn ended(state: CallState, expired: u32) -> Self {
        Self {
            state,
            assignments: vec![],
            queued: false,
            expired,
            cut_short: false,
        }
    }
}

impl AgentQueue {
    /// Assigns a new call, sets it to pending, or expires it. Returns a known call's current state.
    ///
    /// # Errors
    /// [`QueueError`](crate::queue::QueueError). Retry with the same id.
    pub async fn match_call(&self, call: &Call) -> Result<Matched> {
        if self.is_too_old(call) {
            return self.expire_call(call).await;
        }
        match self.store.call(&call.id).await? {
            Some(record) => self.known(record).await,
            None => self.wait(call).await,
        }
    }

    /// Adds a new call to the line of its criteria and serves the line.
    pub(crate) async fn wait(&self, call: &Call) -> Result<Matched> {
        self.open_line(&call.criteria).await?;
        match self.commit("wait", &Change::wait(call)).await? {
            Outcome::Done => self.look_again(call, true).await,
            Outcome::Rejected(rejections) => match call_there(&rejections) {
                Some(record) => self.known(record).await,
                None => self.look_again(call, false).await,
            },
        }
    }

    /// Returns the call and its state, or `None` if no call has this id.
    pub async fn call(&self, id: &CallId) -> Result<Option<CallRecord>> {
        Ok(self.store.call(id).await?)
    }

    /// Like `call`, but returns `None` for an unreadable call, which must not block other calls.
    pub(crate) async fn readable_call(&self, id: &CallId) -> Result<Option<CallRecord>> {
        match self.store.call(id).await {
            Err(error @ StoreError::Undecodable { .. }) => {
                tracing::error!(%error, "unreadable call skipped");
                Ok(None)
            }
            record => Ok(record?),
        }
    }

    /// Cancels a call that is pending, has not arrived yet, or is assigned to an agent that has not
    /// answered. That agent returns to its place in its queues, and gets the oldest pending call that
    /// matches. An answered call stays assigned. A call that arrives after its cancellation is not
    /// assigned.
    ///
    /// # Errors
    /// [`QueueError`](crate::queue::QueueError), for example if the call or its agent changed after
    /// each of several reads.
    pub async fn cancel(&self, id: &CallId) -> Result<Cancel> {
        for _ in 0..ROUNDS {
            let record = self.store.call(id).await?;
            let (now, mut freed) = (self.clock.now(), None);
            let change = match record.map(|record| (record.call, record.state)) {
                None => {
                    let any = self.settings.dimensions.any();
                    Change::cancel_early(Call::new(id.clone(), any, now))
                }
                Some((call, CallState::Pending)) => Change::cancel(&call, now),
                Some((call, CallState::Assigned(made))) => {
                    let Some((agent, lease)) = self.unanswered(&made).await? else {
                        return Ok(Cancel::Is(CallState::Assigned(made)));
                    };
                    let place = lease.queued_at.unwrap_or(now);
                    let dimensions = &self.settings.dimensions;
                    // The agent's ticket is the lease's, so the agent can return.
                    let Some(change) = agent.requeue(lease.ticket, place, dimensions) else {
                        return Ok(Cancel::Is(CallState::Assigned(made)));
                    };
                    let agent_after = change.applied_to(agent.clone());
                    freed = Some((agent_after, OutboxEntry::assigned(made)));
                    Change::cancel_unanswered(change, &agent, &lease, &call, now)
                }
                Some((_, state)) => return Ok(Cancel::Is(state)),
            };
            // A rejection means that the call or its agent has changed since the read.
            if let Outcome::Done = self.commit("cancel", &change).await? {
                return self.cancelled(freed).await;
            }
        }
        Err(contended("cancel"))
    }

    /// Deletes the outbox entry of a cancelled assignment, and serves its agent, which is queued
    /// again.
    async fn cancelled(&self, freed: Option<(Agent, OutboxEntry)>) -> Result<Cancel> {
        let mut served = Served::default();
        if let Some((agent, entry)) = freed {
            self.store.delete_published(&[entry]).await?;
            served = self.serve_agent(&agent).await?;
        }
        Ok(Cancel::Done {
            assignments: served.assignments,
            expired: served.expired,
        })
    }

    /// Returns the agent that has not answered this assignment, and its call lease with the agent's
    /// former place.
    async fn unanswered(&self, made: &Assignment) -> Result<Option<(Agent, CallLease)>> {
        let Some(agent) = self.store.agent(&made.agent_id).await? else {
            return Ok(None);
        };
        let lease = CallLease::of(&agent);
        let lease = lease.filter(|lease| lease.ticket == made.ticket && !lease.answered);
        let Some(lease) = lease else { return Ok(None) };
        let stored = self.store.lease(&lease).await?;
        Ok(Some((agent, stored.unwrap_or(lease))))
    }

    /// Returns the state of a redelivered call. If the call is pending, serves its line again,
    /// because the process that wrote the call may have crashed before its read.
    pub(crate) async fn known(&self, record: CallRecord) -> Result<Matched> {
        match record.state {
            CallState::Pending => self.look_again(&record.call, false).await,
            state => Ok(Matched::ended(state, 0)),
        }
    }

    async fn look_again(&self, call: &Call, is_new: bool) -> Result<Matched> {
        let served = self.serve(&call.criteria).await?;
        let ours = served
            .assignments
            .iter()
            .find(|made| made.call_id == call.id);
        let state = match ours {
            Some(assignment) => CallState::Assigned(assignment.clone()),
            // Another process may already have served the call.
            None => match self.store.call(&call.id).await? {
                Some(record) => record.state,
                None => CallState::Pending,
            },
        };
        Ok(Matched {
            queued: is_new && state == CallState::Pending,
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
    pub(crate) async fn expire_call(&self, call: &Call) -> Result<Matched> {
        let change = Change::expire(call, Before::New, self.clock.now());
        let known = match self.commit("expire", &change).await? {
            Outcome::Done => None,
            Outcome::Rejected(rejections) => call_there(&rejections),
        };
        let (state, expired) = match known {
            None => (CallState::Expired, 1),
            Some(record) if record.state == CallState::Pending => {
                let expired = self.expire(&record.call).await?;
                let now = self.store.call(&call.id).await?;
                let state = now.map_or(CallState::Expired, |record| record.state);
                (state, u32::from(expired))
            }
            Some(record) => (record.state, 0),
        };
        Ok(Matched::ended(state, expired))
    }

    /// Expires a pending call. Returns false if another process ended its wait first.
    async fn expire(&self, call: &Call) -> Result<bool> {
        let change = Change::expire(call, Before::Pending, self.clock.now());
        let outcome = self.commit("expire", &change).await?;
        Ok(matches!(outcome, Outcome::Done))
    }
}

pub(crate) fn assigned(assignment: Assignment) -> Matched {
    Matched {
        assignments: vec![assignment.clone()],
        ..Matched::ended(CallState::Assigned(assignment), 0)
    }
}
