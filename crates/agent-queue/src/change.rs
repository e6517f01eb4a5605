//! Every change of the table: one transaction, composed here, carried out by a store.
//!
//! A [`Change`] is a list of [`Step`]s, each on one item of its own, each with its condition:
//! all of them or none. What a transaction must hold is so said once, for every store.

mod key;

use uuid::Uuid;

use crate::agent::{Agent, AgentChange, AgentState, AgentStatus, Ticket};
use crate::call::{Assignment, Call, CallRecord, CallState, ExpiredCall, News, Notice};
use crate::criteria::{Criteria, QueueName};
use crate::name::{AgentId, CallId};
use crate::schema;
use crate::time::Micros;

pub use self::key::{
    Key, agent_key, call_key, joins_key, lease_key, notice_key, stripe_of, striped,
    waiting_partition,
};

/// An agent's entry in one queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueEntry {
    /// Which queue.
    pub queue: QueueName,
    /// The place: since when the agent waits.
    pub at: Micros,
    /// The agent.
    pub agent: AgentId,
    /// The agent's name, which does not change while queued.
    pub agent_name: String,
    /// The stay: without it the entry says nothing.
    pub ticket: Ticket,
    /// All queues the agent waits in, this one included.
    pub queues: Vec<QueueName>,
}

impl QueueEntry {
    /// The entries of a queued agent, one a queue; of any other agent none.
    #[must_use]
    pub fn all_of(agent: &Agent) -> Vec<Self> {
        let AgentState::Queued { at, queues, .. } = &agent.state else {
            return vec![];
        };
        let entry = |queue: &QueueName| Self {
            queue: queue.clone(),
            at: *at,
            agent: agent.id.clone(),
            agent_name: agent.name.clone(),
            ticket: agent.ticket,
            queues: queues.clone(),
        };
        queues.iter().map(entry).collect()
    }

    /// The same agent's entry in each of the agent's queues.
    fn everywhere(&self) -> Vec<Self> {
        let entry = |queue: &QueueName| Self {
            queue: queue.clone(),
            ..self.clone()
        };
        self.queues.iter().map(entry).collect()
    }
}

/// A lease on an agent in a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallLease {
    /// When the agent is taken back.
    pub until: Micros,
    /// The agent.
    pub agent: AgentId,
    /// The stay that the call ended.
    pub ticket: Ticket,
    /// The call.
    pub call: CallId,
}

impl CallLease {
    /// The lease of an agent in a call, if the call has one.
    #[must_use]
    pub fn of(agent: &Agent) -> Option<Self> {
        let AgentState::AttendingCall { call, until } = &agent.state else {
            return None;
        };
        Some(Self {
            until: (*until)?,
            agent: agent.id.clone(),
            ticket: agent.ticket,
            call: call.clone(),
        })
    }
}

/// What a call's item must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Not there: a new call.
    New,
    /// There, and waiting.
    Waiting,
}

/// One more, or one less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// One more.
    More,
    /// One less.
    Less,
}

/// One item's part of a change, and its condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Puts an agent, if there is none of this id.
    NewAgent(Agent),
    /// Moves an agent along an arrow, if it meets the arrow's conditions.
    Agent(AgentChange),
    /// Makes sure that a queue has counters.
    OpenQueue(QueueName),
    /// Puts an entry, if there is none in its place.
    Join(QueueEntry),
    /// Deletes an entry, whether it is there or not.
    Leave(QueueEntry),
    /// Deletes an entry, if it has this ticket.
    Discard(QueueEntry),
    /// Counts one more join of each queue, on one of the stripes.
    CountJoins(u8, Vec<QueueName>),
    /// Writes the outcome of a call.
    Call(Before, CallRecord),
    /// Only if no call of these criteria waits.
    NobodyWaits(Criteria),
    /// Puts a call among those waiting.
    Wait(Call),
    /// Deletes it there, whether it is there or not.
    Unwait(Call),
    /// Counts those waiting.
    CountWaiting(Criteria, By),
    /// Puts a lease.
    Lease(CallLease),
    /// Deletes it, be it there or not.
    Unlease(CallLease),
    /// Adds an event to the outbox.
    Notice(Notice),
}

/// Steps that happen all together or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Names this change, so that a second try of the same one changes nothing
    /// (`ClientRequestToken`, good for ten minutes:
    /// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html#transaction-apis-txwriteitems-idempotency>).
    pub token: Uuid,
    /// At most one for each item.
    pub steps: Vec<Step>,
}

impl Change {
    /// These steps, under a token of their own.
    #[must_use]
    pub fn of(steps: Vec<Step>) -> Self {
        Self {
            token: Uuid::new_v4(),
            steps,
        }
    }

    /// A new agent, whose queues exist from now on.
    #[must_use]
    pub fn register(agent: Agent, queues: Vec<QueueName>) -> Self {
        let queues = queues.into_iter().map(Step::OpenQueue);
        Self::of(
            std::iter::once(Step::NewAgent(agent))
                .chain(queues)
                .collect(),
        )
    }

    /// Another profile, whose queues exist from now on.
    #[must_use]
    pub fn profile(change: AgentChange, queues: Vec<QueueName>) -> Self {
        let queues = queues.into_iter().map(Step::OpenQueue);
        Self::of(std::iter::once(Step::Agent(change)).chain(queues).collect())
    }

    /// An arrow of the agent alone; ends the call lease, if there was one.
    #[must_use]
    pub fn agent(change: AgentChange, lease: Option<CallLease>) -> Self {
        let lease = lease.map(Step::Unlease);
        Self::of(std::iter::once(Step::Agent(change)).chain(lease).collect())
    }

    /// Into all queues of the arrow.
    #[must_use]
    pub fn enqueue(change: AgentChange, agent: &Agent) -> Self {
        let entries = QueueEntry::all_of(&change.applied_to(agent.clone()));
        let queues = entries.iter().map(|entry| entry.queue.clone()).collect();
        let stripe = fastrand::u8(0..schema::STRIPES);
        let mut steps: Vec<_> = entries.into_iter().map(Step::Join).collect();
        steps.push(Step::CountJoins(stripe, queues));
        steps.push(Step::Agent(change));
        Self::of(steps)
    }

    /// Out of all queues the agent waits in.
    #[must_use]
    pub fn leave(change: AgentChange, agent: &Agent) -> Self {
        let mut steps = leaving(QueueEntry::all_of(agent));
        steps.push(Step::Agent(change));
        Self::of(steps)
    }

    /// A call meets the agent of an entry, who leaves all queues in the same instant. A new
    /// call never overtakes one that waits for the same.
    #[must_use]
    pub fn assign(
        call: &Call,
        from: Before,
        entry: &QueueEntry,
        at: Micros,
        until: Option<Micros>,
    ) -> (Self, Assignment) {
        let assignment = Assignment {
            call_id: call.id.clone(),
            criteria: call.criteria.clone(),
            agent_id: entry.agent.clone(),
            agent_name: entry.agent_name.clone(),
            ticket: entry.ticket,
            assigned_at: at,
            lease_until: until,
        };
        let mut steps = vec![Step::Agent(AgentChange {
            agent: entry.agent.clone(),
            from: AgentStatus::Queued,
            ticket: entry.ticket,
            in_call: None,
            to: AgentState::AttendingCall {
                call: call.id.clone(),
                until,
            },
            fresh_ticket: None,
            profile: None,
        })];
        steps.extend(leaving(entry.everywhere()));
        steps.extend(end_of_wait(
            call,
            from,
            CallState::Assigned(assignment.clone()),
        ));
        if from == Before::New {
            steps.push(Step::NobodyWaits(call.criteria.clone()));
        }
        if let Some(until) = until {
            steps.push(Step::Lease(CallLease {
                until,
                agent: entry.agent.clone(),
                ticket: entry.ticket,
                call: call.id.clone(),
            }));
        }
        steps.push(Step::Notice(Notice {
            at,
            news: News::Assigned(assignment.clone()),
        }));
        (Self::of(steps), assignment)
    }

    /// The same for a new call of a lane, which has seen that no call of its criteria waits: the
    /// call queue delivers the calls of one criteria to one process at a time.
    #[must_use]
    pub fn assign_in_lane(
        call: &Call,
        entry: &QueueEntry,
        at: Micros,
        until: Option<Micros>,
    ) -> (Self, Assignment) {
        let (mut change, assignment) = Self::assign(call, Before::New, entry, at, until);
        let others = |step: &Step| !matches!(step, Step::NobodyWaits(_));
        change.steps.retain(others);
        (change, assignment)
    }

    /// A new call waits.
    #[must_use]
    pub fn wait(call: &Call) -> Self {
        let record = CallRecord {
            call: call.clone(),
            state: CallState::Waiting,
        };
        Self::of(vec![
            Step::Call(Before::New, record),
            Step::Wait(call.clone()),
            Step::CountWaiting(call.criteria.clone(), By::More),
        ])
    }

    /// A pending call is cancelled.
    #[must_use]
    pub fn cancel(call: &Call) -> Self {
        Self::of(end_of_wait(call, Before::Waiting, CallState::Cancelled))
    }

    /// A call is cancelled before its arrival.
    #[must_use]
    pub fn cancel_early(call: Call) -> Self {
        let state = CallState::Cancelled;
        Self::of(vec![Step::Call(Before::New, CallRecord { call, state })])
    }

    /// A call waited for too long.
    #[must_use]
    pub fn expire(call: &Call, from: Before, at: Micros) -> Self {
        let mut steps = end_of_wait(call, from, CallState::Expired);
        let expired = ExpiredCall {
            call_id: call.id.clone(),
            criteria: call.criteria.clone(),
            arrived_at: call.arrived,
        };
        steps.push(Step::Notice(Notice {
            at,
            news: News::Expired(expired),
        }));
        Self::of(steps)
    }

    /// An entry that outlived its stay leaves the queue.
    #[must_use]
    pub fn discard(entry: &QueueEntry) -> Self {
        Self::of(vec![Step::Discard(entry.clone())])
    }

    /// The obsolete entry of a call that is not pending any more is deleted.
    #[must_use]
    pub fn forget(call: &Call) -> Self {
        let count = Step::CountWaiting(call.criteria.clone(), By::Less);
        Self::of(vec![Step::Unwait(call.clone()), count])
    }

    /// A call that has a place in a line and no item of its own gets one again.
    #[must_use]
    pub fn restore(call: &Call) -> Self {
        let record = CallRecord {
            call: call.clone(),
            state: CallState::Waiting,
        };
        Self::of(vec![Step::Call(Before::New, record)])
    }

    /// A call lease expired: the agent is available again, and not queued.
    #[must_use]
    pub fn take_back(lease: &CallLease, at: Micros) -> Self {
        let change = AgentChange {
            agent: lease.agent.clone(),
            from: AgentStatus::AttendingCall,
            ticket: lease.ticket,
            in_call: Some(lease.call.clone()),
            to: AgentState::Available { since: at },
            fresh_ticket: None,
            profile: None,
        };
        Self::agent(change, Some(lease.clone()))
    }

    /// A lease that stands for nothing any more.
    #[must_use]
    pub fn end_lease(lease: &CallLease) -> Self {
        Self::of(vec![Step::Unlease(lease.clone())])
    }
}

fn leaving(entries: Vec<QueueEntry>) -> Vec<Step> {
    entries.into_iter().map(Step::Leave).collect()
}

fn end_of_wait(call: &Call, from: Before, state: CallState) -> Vec<Step> {
    let record = CallRecord {
        call: call.clone(),
        state,
    };
    let mut steps = vec![Step::Call(from, record)];
    if from == Before::Waiting {
        steps.push(Step::Unwait(call.clone()));
        steps.push(Step::CountWaiting(call.criteria.clone(), By::Less));
    }
    steps
}

#[cfg(test)]
mod tests;
