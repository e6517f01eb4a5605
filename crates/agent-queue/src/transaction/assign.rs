//! The change that assigns a call to a queued or an available agent.

use super::{Before, CallLease, Change, Step, Term, end_of_wait};
use crate::agent::{AgentChange, AgentState, AgentStatus, Ticket};
use crate::call::{Assignment, Call, CallState, OutboxEntry};
use crate::name::AgentId;
use crate::time::Micros;

pub(super) struct FreeAgent<'a> {
    pub(super) id: &'a AgentId,
    pub(super) name: &'a str,
    pub(super) status: AgentStatus,
    pub(super) ticket: Ticket,
    pub(super) fresh_ticket: Option<Ticket>,
    pub(super) queued_at: Micros,
}

impl FreeAgent<'_> {
    /// Returns the change and its assignment. The agent attends the call, with a call lease and an
    /// outbox entry.
    pub(super) fn assigned(
        self,
        call: &Call,
        from: Before,
        at: Micros,
        Term { until, answered }: Term,
    ) -> (Change, Assignment) {
        let assignment = Assignment {
            call_id: call.id.clone(),
            number: call.unanswered + 1,
            criteria: call.criteria.clone(),
            agent_id: self.id.clone(),
            agent_name: self.name.to_owned(),
            ticket: self.fresh_ticket.unwrap_or(self.ticket),
            assigned_at: at,
            lease_until: until,
        };
        let mut steps = vec![Step::Agent(AgentChange {
            agent: self.id.clone(),
            from: self.status,
            ticket: self.ticket,
            in_call: None,
            to: AgentState::AttendingCall {
                call: call.id.clone(),
                until,
                answered,
            },
            fresh_ticket: self.fresh_ticket,
            profile: None,
        })];
        let state = CallState::Assigned(assignment.clone());
        steps.extend(end_of_wait(call, from, state, at));
        if let Some(until) = until {
            steps.push(Step::Lease(CallLease {
                until,
                agent: self.id.clone(),
                ticket: assignment.ticket,
                call: call.id.clone(),
                answered,
                queued_at: (!answered).then_some(self.queued_at),
            }));
        }
        let outbox = OutboxEntry::assigned(assignment.clone());
        steps.push(Step::OutboxEntry(outbox));
        (Change::of(steps), assignment)
    }
}
