//! The lines of pending calls, and which of their calls a queued or an available agent serves.

use agent_queue::agent::Agent;
use agent_queue::call::Call;
use agent_queue::criteria::Criteria;
use agent_queue::time::Micros;

use super::calls::is_too_old;
use super::{Reference, Served};

impl Reference {
    fn first_pending(&self, criteria: &Criteria) -> Option<Call> {
        let (_, id) = self.pending.get(criteria)?.first()?;
        self.calls.get(id).map(|record| record.call.clone())
    }

    /// Serves the pending calls of the same criteria in order, as long as an agent matches.
    pub(super) fn serve(&mut self, criteria: &Criteria, now: Micros) -> Served {
        let mut served = Served::default();
        while let Some(call) = self.first_pending(criteria) {
            if is_too_old(&call, now) {
                self.expire(&call, now);
                served.expired += 1;
                continue;
            }
            let Some(agent) = self.first(criteria) else {
                break;
            };
            served.assignments.extend(self.assign(&call, &agent, now));
        }
        served
    }

    /// Serves all lines: repeatedly the longest pending call for which an agent may still be
    /// queued.
    pub(super) fn serve_lines(&mut self, now: Micros) -> Served {
        let mut served = Served::default();
        let mut lines: Vec<_> = self.pending.keys().cloned().collect();
        loop {
            let firsts = lines.iter().filter_map(|line| self.first_pending(line));
            let Some(call) = firsts.min_by_key(|call| (call.arrived, call.id.clone())) else {
                return served;
            };
            if is_too_old(&call, now) {
                self.expire(&call, now);
                served.expired += 1;
            } else if let Some(agent) = self.first(&call.criteria) {
                served.assignments.extend(self.assign(&call, &agent, now));
            } else {
                lines.retain(|line| *line != call.criteria);
            }
        }
    }

    /// Assigns the longest pending call that matches an available agent, unless a queued agent
    /// matches it too.
    pub(super) fn take_pending(&mut self, agent: &Agent, now: Micros) -> Served {
        let mut served = Served::default();
        while let Some(call) = self.longest_pending(agent) {
            if is_too_old(&call, now) {
                self.expire(&call, now);
                served.expired += 1;
                continue;
            }
            if self.first(&call.criteria).is_none() {
                let ticket = self.fresh_ticket();
                if let Some(agent) = self.agents.get_mut(&agent.id) {
                    agent.ticket = ticket;
                }
                served
                    .assignments
                    .extend(self.assign(&call, &agent.id, now));
            }
            break;
        }
        served
    }

    fn longest_pending(&self, agent: &Agent) -> Option<Call> {
        let fits = self.pending.keys();
        let fits = fits.filter(|criteria| criteria.fits_profile(&agent.profile));
        let firsts = fits.filter_map(|criteria| self.first_pending(criteria));
        firsts.min_by_key(|call| (call.arrived, call.id.clone()))
    }

    /// Serves the longest pending call that matches the agent, and then the next. Ends when the
    /// agent has a call or no matching call is pending.
    pub(super) fn serve_agent(&mut self, agent: &Agent, now: Micros) -> Served {
        let mut served = Served::default();
        loop {
            let Some(call) = self.longest_pending(agent) else {
                return served;
            };
            if is_too_old(&call, now) {
                self.expire(&call, now);
                served.expired += 1;
                continue;
            }
            let Some(first) = self.first(&call.criteria) else {
                return served;
            };
            served.assignments.extend(self.assign(&call, &first, now));
            if first == agent.id {
                return served;
            }
        }
    }
}
