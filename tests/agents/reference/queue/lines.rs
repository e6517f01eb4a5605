//! The lines of pending calls, and the choice of the call that a queued or available agent serves.

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

    /// Returns the first call from `pick` that is not too old. Expires calls that are too old.
    fn live(
        &mut self,
        now: Micros,
        served: &mut Served,
        pick: impl Fn(&Self) -> Option<Call>,
    ) -> Option<Call> {
        loop {
            let call = pick(self)?;
            if !is_too_old(&call, now) {
                return Some(call);
            }
            self.expire(&call, now);
            served.expired += 1;
        }
    }

    /// Serves the pending calls with the same criteria in order, as long as an agent matches.
    pub(super) fn serve(&mut self, criteria: &Criteria, now: Micros) -> Served {
        let mut served = Served::default();
        let first = |of: &Self| of.first_pending(criteria);
        while let Some(call) = self.live(now, &mut served, first) {
            let Some(agent) = self.first(criteria) else {
                break;
            };
            served.assignments.extend(self.assign(&call, &agent, now));
        }
        served
    }

    /// Serves all lines, longest-pending call first. Skips a line after its first call that no
    /// queued agent matches.
    pub(super) fn serve_lines(&mut self, now: Micros) -> Served {
        let mut served = Served::default();
        let mut lines: Vec<_> = self.pending.keys().cloned().collect();
        while let Some(call) = self.live(now, &mut served, |of| of.longest(&lines)) {
            match self.first(&call.criteria) {
                Some(agent) => served.assignments.extend(self.assign(&call, &agent, now)),
                None => lines.retain(|line| *line != call.criteria),
            }
        }
        served
    }

    /// Assigns the longest-pending call that matches an available agent, unless a queued agent
    /// matches it too.
    pub(super) fn take_pending(&mut self, agent: &Agent, now: Micros) -> Served {
        let mut served = Served::default();
        let longest = |of: &Self| of.longest_pending(agent);
        if let Some(call) = self.live(now, &mut served, longest)
            && self.first(&call.criteria).is_none()
        {
            let ticket = self.fresh_ticket();
            if let Some(agent) = self.agents.get_mut(&agent.id) {
                agent.ticket = ticket;
            }
            let made = self.assign(&call, &agent.id, now);
            served.assignments.extend(made);
        }
        served
    }

    fn longest_pending(&self, agent: &Agent) -> Option<Call> {
        let fits = self.pending.keys();
        self.longest(fits.filter(|criteria| criteria.fits_profile(&agent.profile)))
    }

    fn longest<'a>(&self, lines: impl IntoIterator<Item = &'a Criteria>) -> Option<Call> {
        let firsts = lines.into_iter();
        let firsts = firsts.filter_map(|criteria| self.first_pending(criteria));
        firsts.min_by_key(|call| (call.arrived, call.id.clone()))
    }

    /// Serves the agent's matching calls, longest pending first, until the agent has a call or no
    /// matching call is pending.
    pub(super) fn serve_agent(&mut self, agent: &Agent, now: Micros) -> Served {
        let mut served = Served::default();
        let longest = |of: &Self| of.longest_pending(agent);
        while let Some(call) = self.live(now, &mut served, longest) {
            let Some(first) = self.first(&call.criteria) else {
                break;
            };
            served.assignments.extend(self.assign(&call, &first, now));
            if first == agent.id {
                break;
            }
        }
        served
    }
}
