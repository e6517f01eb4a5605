//! Ends expired call leases. An unanswered call returns to its line. Its agent becomes available if
//! the assignment was published, and otherwise returns to its queues.

use crate::call::{Assignment, Call, CallState, OutboxEntry};
use crate::queue::{AgentQueue, Outcome, Result};
use crate::time::Micros;
use crate::transaction::{CallLease, Change, Step};

impl AgentQueue {
    /// Ends an expired call lease. The change depends on the lease as read, so it fails if the
    /// lease was extended after that read.
    pub(super) async fn return_agent(&self, lease: &CallLease, now: Micros) -> Result<Returned> {
        let assigned = match lease.answered {
            true => None,
            false => self.assigned_by(lease).await?,
        };
        let change = match assigned.clone() {
            Some((call, made)) => {
                self.reopen_line(&call.criteria).await?;
                Change::return_call(lease, &call, made, now)
            }
            None => Change::free_agent(lease, now),
        };
        let rejections = match self.commit("return", &change).await? {
            Outcome::Done => {
                tracing::warn!(agent = %lease.agent, call = %lease.call, "call lease expired");
                let call = assigned.is_some();
                return Ok(Returned::Agent { call });
            }
            Outcome::Rejected(rejections) => rejections,
        };
        let rejected = |what: fn(&Step) -> bool| {
            let mut steps = rejections.iter().filter_map(|is| change.steps.get(is.step));
            steps.any(what)
        };
        // The agent has finished or extended the call since the read, which also deletes this
        // lease. If the lease remains, delete it here.
        if rejected(|step| matches!(step, Step::Agent(_))) {
            let end = Change::end_lease(lease);
            self.commit("delete a lease", &end).await?;
        } else if let Some((call, made)) = assigned
            && rejected(|step| matches!(step, Step::Published(_)))
        {
            return self.undo(lease, &call, made, now).await;
        }
        Ok(Returned::Nothing)
    }

    /// Rolls back an assignment that was not published in time. The agent returns to its queues,
    /// because no subscriber could ask the agent to answer.
    async fn undo(
        &self,
        lease: &CallLease,
        call: &Call,
        made: Assignment,
        now: Micros,
    ) -> Result<Returned> {
        let place = lease.queued_at.unwrap_or(now);
        let dimensions = &self.settings.dimensions;
        let agent = self.store.agent(&lease.agent).await?;
        let change = agent.and_then(|agent| {
            let change = agent.requeue(lease.ticket, place, dimensions)?;
            Some(Change::undo(change, &agent, lease, call))
        });
        let Some(change) = change else {
            return Ok(Returned::Nothing);
        };
        match self.commit("undo", &change).await? {
            Outcome::Done => {
                tracing::warn!(
                    agent = %lease.agent,
                    call = %lease.call,
                    "assignment not published in time and rolled back"
                );
                let outbox = [OutboxEntry::assigned(made)];
                self.store.delete_published(&outbox).await?;
                Ok(Returned::Undone)
            }
            // The agent has answered since the read, or the assignment was cancelled.
            Outcome::Rejected(_) => Ok(Returned::Nothing),
        }
    }

    /// Returns the lease's call and assignment, if the call is still assigned with this ticket.
    async fn assigned_by(&self, lease: &CallLease) -> Result<Option<(Call, Assignment)>> {
        let record = self.readable_call(&lease.call).await?;
        Ok(record.and_then(|record| match record.state {
            CallState::Assigned(made) if made.ticket == lease.ticket => Some((record.call, made)),
            _ => None,
        }))
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Returned {
    /// The lease had already ended.
    Nothing,
    /// The agent is available, and its call may have returned to its line.
    Agent {
        call: bool,
    },
    Undone,
}
