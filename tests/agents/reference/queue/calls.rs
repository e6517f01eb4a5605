//! The state changes of calls, and the assignment of an agent to a call.

use std::collections::BTreeMap;

use agent_queue::agent::AgentState;
use agent_queue::call::{Assignment, Call, CallRecord, CallState, OutboxEntry};
use agent_queue::criteria::Criteria;
use agent_queue::dimension::Dimensions;
use agent_queue::name::{AgentId, CallId};
use agent_queue::store::Order;
use agent_queue::time::Micros;

use super::{ANSWER, LEASE, MAX_WAIT, Reference, Response, Rule, Ruled, Served};
use crate::rows;

pub(super) fn is_too_old(call: &Call, now: Micros) -> bool {
    call.arrived.plus(MAX_WAIT) <= now
}

impl Reference {
    pub(super) fn first(&self, criteria: &Criteria) -> Option<AgentId> {
        let fits = self.queues.iter().filter(|(name, _)| criteria.fits(name));
        let agents = fits.flat_map(|(_, line)| &line.agents);
        let first = match self.order {
            Order::Fifo => agents.min(),
            Order::Lifo => agents.max(),
        };
        first.map(|(_, id)| id.clone())
    }

    fn others_wait(&self, criteria: &Criteria) -> bool {
        self.pending
            .get(criteria)
            .is_some_and(|line| !line.is_empty())
    }

    /// Assigns the agent, removes it from every queue, and writes the assignment to the outbox.
    pub(super) fn assign(&mut self, call: &Call, id: &AgentId, now: Micros) -> Option<Assignment> {
        self.part(id);
        let agent = self.agents.get_mut(id)?;
        let place = match agent.state {
            AgentState::Queued { at, .. } => at,
            _ => now,
        };
        self.places.insert(id.clone(), place);
        let until = now.plus(if self.answers { ANSWER } else { LEASE });
        agent.state = AgentState::AttendingCall {
            call: call.id.clone(),
            until: Some(until),
            answered: !self.answers,
        };
        let made = Assignment {
            call_id: call.id.clone(),
            number: call.unanswered + 1,
            criteria: call.criteria.clone(),
            agent_id: id.clone(),
            agent_name: agent.name.clone(),
            ticket: agent.ticket,
            assigned_at: now,
            lease_until: Some(until),
        };
        self.end(call, CallState::Assigned(made.clone()), now);
        self.outbox.push(OutboxEntry::assigned(made.clone()));
        Some(made)
    }

    /// Writes the outcome of a call and removes it from its line.
    fn end(&mut self, call: &Call, state: CallState, now: Micros) {
        if let Some(line) = self.pending.get_mut(&call.criteria) {
            line.retain(|(_, id)| *id != call.id);
        }
        let record = CallRecord::ended(call.clone(), state, now);
        self.calls.insert(call.id.clone(), record);
    }

    pub(super) fn expire(&mut self, call: &Call, now: Micros) {
        self.end(call, CallState::Expired, now);
        self.outbox.push(OutboxEntry::expired(call, now));
    }

    pub(super) fn wait(&mut self, call: &Call) {
        let line = self.pending.entry(call.criteria.clone()).or_default();
        let place = (call.arrived, call.id.clone());
        let behind = line.partition_point(|other| *other < place);
        line.insert(behind, place);
        let record = CallRecord::pending(call.clone());
        self.calls.insert(call.id.clone(), record);
    }

    /// Assigns a new call if an agent matches and no call with the same criteria is pending.
    /// Otherwise, the call becomes pending, and the pending calls are served. If the call has
    /// ended, returns its first response again.
    pub(super) fn match_call(&mut self, call: &Call, now: Micros) -> Ruled {
        let known = self.calls.get(&call.id).cloned();
        if is_too_old(call, now) {
            return self.match_too_late(call, known, now);
        }
        match known {
            Some(record) if record.state == CallState::Pending => {
                let served = self.serve(&record.call.criteria, now);
                let response = self.matched(&call.id, &served, false);
                (response, Rule::MatchKnownWaits)
            }
            Some(_) => {
                let response = self.matched(&call.id, &Served::default(), false);
                (response, Rule::MatchKnown)
            }
            None => self.match_new(call, now),
        }
    }

    fn match_too_late(&mut self, call: &Call, known: Option<CallRecord>, now: Micros) -> Ruled {
        let (expired, rule) = match known {
            None => (Some(call.clone()), Rule::MatchTooLate),
            Some(record) if record.state == CallState::Pending => {
                (Some(record.call), Rule::MatchTooLatePending)
            }
            Some(_) => (None, Rule::MatchKnown),
        };
        let mut served = Served::default();
        if let Some(call) = expired {
            self.expire(&call, now);
            served.expired = 1;
        }
        (self.matched(&call.id, &served, false), rule)
    }

    fn match_new(&mut self, call: &Call, now: Micros) -> Ruled {
        let behind = self.others_wait(&call.criteria);
        self.pending.entry(call.criteria.clone()).or_default();
        if !behind && let Some(agent) = self.first(&call.criteria) {
            let made = self.assign(call, &agent, now);
            let served = Served {
                assignments: made.into_iter().collect(),
                expired: 0,
            };
            let rule = match call.criteria.exact() {
                Some(_) => Rule::Match,
                None => Rule::MatchWildcard,
            };
            return (self.matched(&call.id, &served, false), rule);
        }
        self.wait(call);
        let served = self.serve(&call.criteria, now);
        let rule = if !served.assignments.is_empty() {
            Rule::MatchServesOthers
        } else if served.expired > 0 {
            Rule::MatchExpiresOthers
        } else if behind {
            Rule::MatchBehind
        } else {
            Rule::MatchWaits
        };
        let state = self.calls.get(&call.id).map(|record| &record.state);
        let waits = state == Some(&CallState::Pending);
        (self.matched(&call.id, &served, waits), rule)
    }

    fn matched(&self, id: &CallId, served: &Served, queued: bool) -> Response {
        self.state_of(id)
            .showing(served.assignments.iter().map(rows::assigned))
            .counting("queued", queued)
            .counting("expired", served.expired)
    }

    fn state_of(&self, id: &CallId) -> Response {
        match self.calls.get(id).map(|record| &record.state) {
            None => Response::said("unknown"),
            Some(CallState::Assigned(made)) => {
                Response::said("assigned").showing([rows::assigned(made)])
            }
            Some(state) => Response::said(state.as_str()),
        }
    }

    /// Cancels a pending call. An unknown call can be cancelled before it arrives, and an assigned
    /// call until its agent answers.
    pub(super) fn cancel(&mut self, id: &CallId, now: Micros) -> Ruled {
        let mut served = Served::default();
        let rule = match self.calls.get(id).cloned() {
            None => {
                let any = Dimensions::default().criteria(&BTreeMap::new());
                let any = any.unwrap_or_else(|error| unreachable!("{error}"));
                let call = Call::new(id.clone(), any, now);
                self.end(&call, CallState::Cancelled, now);
                Rule::CancelEarly
            }
            Some(record) if record.state == CallState::Pending => {
                self.end(&record.call, CallState::Cancelled, now);
                Rule::Cancel
            }
            Some(record) => match self.unanswered_of(&record) {
                Some((agent, assigned)) => {
                    let mut call = record.call;
                    call.unanswered += 1;
                    self.end(&call, CallState::Cancelled, now);
                    self.outbox
                        .retain(|entry| entry.sort_key() != assigned.sort_key());
                    self.requeue(&agent);
                    if let Some(agent) = self.agents.get(&agent).cloned() {
                        served = self.serve_agent(&agent, now);
                    }
                    match served.assignments.is_empty() {
                        true => Rule::CancelUnanswered,
                        false => Rule::CancelServes,
                    }
                }
                None => Rule::CancelKnown,
            },
        };
        let response = self
            .state_of(id)
            .showing(served.assignments.iter().map(rows::assigned))
            .counting("expired", served.expired);
        (response, rule)
    }

    /// Returns the agent of an unanswered assignment, and the assignment's outbox entry.
    fn unanswered_of(&self, record: &CallRecord) -> Option<(AgentId, OutboxEntry)> {
        let CallState::Assigned(made) = &record.state else {
            return None;
        };
        let agent = self.agents.get(&made.agent_id)?;
        let waits = matches!(
            agent.state,
            AgentState::AttendingCall {
                answered: false,
                ..
            }
        );
        let ours = waits && agent.ticket == made.ticket;
        ours.then(|| (agent.id.clone(), OutboxEntry::assigned(made.clone())))
    }

    /// Writes a call as pending, without reading the queues afterwards.
    pub(super) fn die_pending(&mut self, call: &Call) -> Ruled {
        let rule = match self.calls.contains_key(&call.id) {
            true => Rule::DiedInVain,
            false => {
                self.wait(call);
                Rule::DiedPending
            }
        };
        (Response::said("died"), rule)
    }
}
