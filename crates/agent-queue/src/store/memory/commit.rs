//! Commits a change in memory: checks all conditions first, then applies all steps.

use super::State;
use crate::agent::{Agent, AgentChange};
use crate::call::CallState;
use crate::store::{Committed, Rejection, There};
use crate::transaction::{Before, Change, Step};

impl State {
    pub(super) fn commit(&mut self, change: &Change) -> Committed {
        if self.committed.contains(&change.token) {
            return Committed::Done;
        }
        let rejected = change.steps.iter().enumerate().filter_map(|(step, what)| {
            let (met, there) = self.check(what);
            (!met).then_some(Rejection { step, there })
        });
        let rejected: Vec<_> = rejected.collect();
        if !rejected.is_empty() {
            return Committed::Rejected(rejected);
        }
        for step in &change.steps {
            self.apply(step);
        }
        self.committed.insert(change.token);
        Committed::Done
    }

    /// Returns whether a step's condition is met, and the agent or call that DynamoDB would return.
    fn check(&self, step: &Step) -> (bool, Option<There>) {
        let seen = |agent: Option<&Agent>| agent.cloned().map(Box::new).map(There::Agent);
        match step {
            Step::NewAgent(agent) => {
                let there = self.agents.get(&agent.id);
                (there.is_none(), seen(there))
            }
            Step::Agent(change) => {
                let there = self.agents.get(&change.agent);
                (
                    there.is_some_and(|agent| change.is_met_by(agent)),
                    seen(there),
                )
            }
            Step::Join(entry) => {
                let key = (entry.queue.clone(), entry.at, entry.agent.clone());
                (!self.entries.contains_key(&key), None)
            }
            Step::Discard(entry) => {
                let key = (entry.queue.clone(), entry.at, entry.agent.clone());
                let there = self.entries.get(&key);
                (there.is_some_and(|is| is.ticket == entry.ticket), None)
            }
            Step::Call(before, record) => {
                let there = self.calls.get(&record.call.id);
                let met = match before {
                    Before::New => there.is_none(),
                    Before::Pending => there.is_some_and(|is| {
                        is.state == CallState::Pending
                            && is.call.unanswered == record.call.unanswered
                    }),
                    Before::Assigned(ticket) => there.is_some_and(|is| {
                        matches!(&is.state, CallState::Assigned(made) if made.ticket == *ticket)
                    }),
                };
                (met, there.cloned().map(Box::new).map(There::Call))
            }
            Step::Published(entry) => (!self.outbox.contains_key(&entry.sort_key()), None),
            Step::OpenQueue(_)
            | Step::Leave(_)
            | Step::Wait(_)
            | Step::Unwait(_)
            | Step::Lease(_)
            | Step::Unlease(_)
            | Step::OutboxEntry(_) => (true, None),
        }
    }

    fn apply(&mut self, step: &Step) {
        match step {
            Step::NewAgent(agent) => {
                self.agents.insert(agent.id.clone(), agent.clone());
            }
            Step::Agent(change) => self.move_agent(change),
            Step::OpenQueue(queue) => {
                self.opened.insert(queue.clone());
            }
            Step::Join(entry) => {
                let key = (entry.queue.clone(), entry.at, entry.agent.clone());
                self.entries.insert(key, entry.clone());
            }
            Step::Leave(entry) | Step::Discard(entry) => {
                let key = (entry.queue.clone(), entry.at, entry.agent.clone());
                self.entries.remove(&key);
            }
            Step::Call(_, record) => {
                self.calls.insert(record.call.id.clone(), record.clone());
            }
            Step::Wait(call) => {
                let key = (call.criteria.clone(), call.sort_key());
                self.pending.insert(key, call.clone());
            }
            Step::Unwait(call) => {
                let key = (call.criteria.clone(), call.sort_key());
                self.pending.remove(&key);
            }
            Step::Lease(lease) => {
                self.leases
                    .insert((lease.until, lease.agent.clone()), lease.clone());
            }
            Step::Unlease(lease) => {
                self.leases.remove(&(lease.until, lease.agent.clone()));
            }
            Step::OutboxEntry(entry) => {
                self.outbox.insert(entry.sort_key(), entry.clone());
            }
            Step::Published(_) => {}
        }
    }

    fn move_agent(&mut self, change: &AgentChange) {
        for queue in change.joins() {
            *self.joins.entry(queue.clone()).or_default() += 1;
        }
        if let Some(agent) = self.agents.remove(&change.agent) {
            self.agents
                .insert(agent.id.clone(), change.applied_to(agent));
        }
    }
}
