//! Composes every change of agents and calls as one transaction, which a store commits.
//!
//! A [`Change`] is a list of [`Step`]s that take effect together or not at all. Each step changes
//! one item and has its own condition. The content of a transaction is therefore defined once for
//! every store.

mod assign;
mod key;
mod step;

use uuid::Uuid;

use crate::agent::{Agent, AgentChange, AgentState, AgentStatus, InCall, Ticket};
use crate::call::{Assignment, Call, CallRecord, CallState, OutboxEntry};
use crate::criteria::QueueName;
use crate::time::Micros;

pub use self::key::{
    Key, agent_key, call_key, lease_key, line_key, outbox_key, pending_partition, stripe_of,
    striped,
};
pub use self::step::{Before, CallLease, QueueEntry, Step, Term};

use self::assign::FreeAgent;

/// Steps that take effect together or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Identifies this change, so that repeating it has no effect (`ClientRequestToken`, valid for
    /// ten minutes:
    /// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html#transaction-apis-txwriteitems-idempotency>).
    pub token: Uuid,
    /// Steps of the change, at most one per item.
    pub steps: Vec<Step>,
}

impl Change {
    /// Creates a change with these steps and a new token.
    pub fn of(steps: impl IntoIterator<Item = Step>) -> Self {
        Self {
            token: Uuid::new_v4(),
            steps: steps.into_iter().collect(),
        }
    }

    pub fn register(agent: Agent, queues: Vec<QueueName>) -> Self {
        let queues = queues.into_iter().map(Step::OpenQueue);
        Self::of(std::iter::once(Step::NewAgent(agent)).chain(queues))
    }

    pub fn profile(change: AgentChange, queues: Vec<QueueName>) -> Self {
        let queues = queues.into_iter().map(Step::OpenQueue);
        Self::of(std::iter::once(Step::Agent(change)).chain(queues))
    }

    /// Changes only the agent, and deletes its call lease if it has one.
    pub fn agent(change: AgentChange, lease: Option<CallLease>) -> Self {
        let lease = lease.map(Step::Unlease);
        Self::of(std::iter::once(Step::Agent(change)).chain(lease))
    }

    /// Extends a call by replacing the call lease that was read.
    pub fn extend(change: AgentChange, agent: &Agent) -> Self {
        let old = CallLease::of(agent);
        let new = CallLease::of(&change.applied_to(agent.clone()));
        let same = |lease: &CallLease| new.as_ref().is_some_and(|new| lease.until == new.until);
        let old = old.filter(|old| !same(old)).map(Step::Unlease);
        let leases = old.into_iter().chain(new.map(Step::Lease));
        Self::of(std::iter::once(Step::Agent(change)).chain(leases))
    }

    pub fn enqueue(change: AgentChange, agent: &Agent) -> Self {
        let entries = QueueEntry::all_of(&change.applied_to(agent.clone()));
        let joins = entries.into_iter().map(Step::Join);
        Self::of(joins.chain([Step::Agent(change)]))
    }

    /// Removes an agent from all its queues, or only changes an agent that is not queued.
    pub fn leave(change: AgentChange, agent: &Agent) -> Self {
        let left = leaving(QueueEntry::all_of(agent));
        Self::of(left.chain([Step::Agent(change)]))
    }

    /// Assigns a call to an entry's agent. The agent leaves all queues in the same transaction.
    pub fn assign(
        call: &Call,
        from: Before,
        entry: &QueueEntry,
        at: Micros,
        term: impl Into<Term>,
    ) -> (Self, Assignment) {
        let free = FreeAgent {
            id: &entry.agent,
            name: &entry.agent_name,
            status: AgentStatus::Queued,
            ticket: entry.ticket,
            fresh_ticket: None,
            queued_at: entry.at,
        };
        let (mut change, assignment) = free.assigned(call, from, at, term.into());
        change.steps.extend(leaving(entry.everywhere()));
        (change, assignment)
    }

    /// Assigns a pending call to an available agent without queueing the agent. The assignment gets
    /// a new ticket.
    pub fn assign_available(
        call: &Call,
        agent: &Agent,
        at: Micros,
        term: impl Into<Term>,
    ) -> (Self, Assignment) {
        let free = FreeAgent {
            id: &agent.id,
            name: &agent.name,
            status: AgentStatus::Available,
            ticket: agent.ticket,
            fresh_ticket: Some(Ticket::fresh()),
            queued_at: at,
        };
        free.assigned(call, Before::Pending, at, term.into())
    }

    pub fn wait(call: &Call) -> Self {
        let record = CallRecord::pending(call.clone());
        Self::of([Step::Call(Before::New, record), Step::Wait(call.clone())])
    }

    pub fn cancel(call: &Call, at: Micros) -> Self {
        Self::of(end_of_wait(call, Before::Pending, CallState::Cancelled, at))
    }

    pub fn cancel_early(call: Call) -> Self {
        let (state, at) = (CallState::Cancelled, call.arrived);
        let record = CallRecord::ended(call, state, at);
        Self::of(vec![Step::Call(Before::New, record)])
    }

    pub fn expire(call: &Call, from: Before, at: Micros) -> Self {
        let outbox = Step::OutboxEntry(OutboxEntry::expired(call, at));
        Self::of(end_of_wait(call, from, CallState::Expired, at).chain([outbox]))
    }

    pub fn discard(entry: &QueueEntry) -> Self {
        Self::of(vec![Step::Discard(entry.clone())])
    }

    pub(crate) fn rejoin(agent: &Agent, entry: QueueEntry) -> Self {
        Self::of(vec![Step::Agent(agent.stay()), Step::Join(entry)])
    }

    pub fn forget(call: &Call) -> Self {
        Self::of(vec![Step::Unwait(call.clone())])
    }

    pub fn restore(call: &Call) -> Self {
        let record = CallRecord::pending(call.clone());
        Self::of(vec![Step::Call(Before::New, record)])
    }

    /// Ends a call lease and makes its agent available without queueing the agent.
    pub fn free_agent(lease: &CallLease, at: Micros) -> Self {
        let change = AgentChange {
            agent: lease.agent.clone(),
            from: AgentStatus::AttendingCall,
            ticket: lease.ticket,
            in_call: Some(InCall {
                call: lease.call.clone(),
                until: Some(lease.until),
            }),
            to: AgentState::Available { since: at },
            fresh_ticket: None,
            profile: None,
        };
        Self::agent(change, Some(lease.clone()))
    }

    /// Ends a call lease that expired before the agent answered a published assignment. The agent
    /// becomes available but is not queued. The call is pending again, in its original position.
    pub fn return_call(lease: &CallLease, assigned: &Call, made: Assignment, at: Micros) -> Self {
        let mut change = Self::free_agent(lease, at);
        change.steps.extend(back_in_line(lease, assigned));
        let outbox = OutboxEntry::assigned(made);
        change.steps.push(Step::Published(outbox));
        change
    }

    /// Rolls back an assignment that was not published in time. The agent and the call return to
    /// their original positions.
    pub fn undo(change: AgentChange, agent: &Agent, lease: &CallLease, assigned: &Call) -> Self {
        let mut undone = Self::enqueue(change, agent);
        undone.steps.push(Step::Unlease(lease.clone()));
        undone.steps.extend(back_in_line(lease, assigned));
        undone
    }

    /// Cancels an assigned call that its agent has not answered. The agent returns to its original
    /// position.
    pub fn cancel_unanswered(
        change: AgentChange,
        agent: &Agent,
        lease: &CallLease,
        assigned: &Call,
        at: Micros,
    ) -> Self {
        let call = without_answer(assigned);
        let record = CallRecord::ended(call, CallState::Cancelled, at);
        let was = Before::Assigned(lease.ticket);
        let mut cancelled = Self::enqueue(change, agent);
        let steps = [Step::Unlease(lease.clone()), Step::Call(was, record)];
        cancelled.steps.extend(steps);
        cancelled
    }

    pub fn end_lease(lease: &CallLease) -> Self {
        Self::of(vec![Step::Unlease(lease.clone())])
    }
}

fn leaving(entries: Vec<QueueEntry>) -> impl Iterator<Item = Step> {
    entries.into_iter().map(Step::Leave)
}

fn without_answer(assigned: &Call) -> Call {
    Call {
        unanswered: assigned.unanswered + 1,
        ..assigned.clone()
    }
}

fn back_in_line(lease: &CallLease, assigned: &Call) -> [Step; 2] {
    let call = without_answer(assigned);
    let record = CallRecord::pending(call.clone());
    let was = Before::Assigned(lease.ticket);
    [Step::Call(was, record), Step::Wait(call)]
}

fn end_of_wait(
    call: &Call,
    from: Before,
    state: CallState,
    at: Micros,
) -> impl Iterator<Item = Step> {
    let record = CallRecord::ended(call.clone(), state, at);
    let unwait = (from == Before::Pending).then(|| Step::Unwait(call.clone()));
    std::iter::once(Step::Call(from, record)).chain(unwait)
}

#[cfg(test)]
mod tests;
