//! The items and reads so far, and the guarantees that each commit must uphold.

use std::collections::{BTreeMap, BTreeSet};

use agent_queue::agent::AgentStatus;
use agent_queue::call::{Assignment, CallState};
use agent_queue::criteria::{Criteria, QueueName};
use agent_queue::name::CallId;
use agent_queue::store::Order;
use agent_queue::time::Micros;
use agent_queue::transaction::{Before, Change, Key, QueueEntry, Step, agent_key};
use tokio::task::Id;

use super::{Contended, Seen};

#[derive(Default)]
pub(super) struct State {
    pub(super) seen: Seen,
    /// Queue entries, each with the number of commits before it was written.
    entries: BTreeMap<Key, (QueueEntry, u64)>,
    /// Criteria of the pending calls, each with the number of commits before the call was added.
    pending: BTreeMap<Key, (Criteria, u64)>,
    /// Number of commits before the last read, per tokio task and per queue or line.
    pub(super) looks: BTreeMap<(Id, String), u64>,
    pub(super) states: BTreeMap<CallId, &'static str>,
    tickets: BTreeSet<String>,
}

impl State {
    /// Records a committed change.
    pub(super) fn happened(&mut self, change: &Change, watch: &Contended) {
        let mut found = vec![];
        for step in &change.steps {
            match step {
                Step::Call(before, record) => {
                    found.extend(self.transition(*before, &record.call.id, &record.state));
                    if let CallState::Assigned(made) = &record.state {
                        found.extend(self.assigned(made, *before, change, watch));
                        self.seen.assignments.push(made.clone());
                    }
                }
                // Each ticket is used for one assignment only.
                Step::Agent(arrow)
                    if arrow.to.status() == AgentStatus::AttendingCall
                        && !self
                            .tickets
                            .insert(arrow.fresh_ticket.unwrap_or(arrow.ticket).to_string()) =>
                {
                    found.push(format!("{} was given twice", arrow.agent));
                }
                _ => {}
            }
        }
        for step in &change.steps {
            self.follow(step);
        }
        self.seen.commits += 1;
        self.seen.violations.extend(found);
    }

    fn follow(&mut self, step: &Step) {
        let since = self.seen.commits;
        match step {
            Step::Join(entry) => {
                let there = self.entries.insert(step.key(), (entry.clone(), since));
                if there.is_some() {
                    self.seen
                        .violations
                        .push(format!("{entry:?} overwrote another"));
                }
            }
            Step::Leave(_) => {
                self.entries.remove(&step.key());
            }
            Step::Wait(call) => {
                self.pending
                    .insert(step.key(), (call.criteria.clone(), since));
            }
            Step::Unwait(_) => {
                self.pending.remove(&step.key());
            }
            _ => {}
        }
    }

    /// Returns a violation unless the call was in the state that the change expects.
    fn transition(&mut self, before: Before, call: &CallId, state: &CallState) -> Option<String> {
        let was = self.states.insert(call.clone(), state.as_str());
        let right = match before {
            Before::New => was.is_none(),
            Before::Pending => was == Some("pending"),
            Before::Assigned(_) => was == Some("assigned"),
        };
        (!right).then(|| format!("{call} was {was:?} and became {}", state.as_str()))
    }

    /// Returns violations of the order. No agent in the matcher's page may precede the assigned
    /// agent, and no pending call may precede the assigned call.
    fn assigned(
        &self,
        made: &Assignment,
        before: Before,
        change: &Change,
        watch: &Contended,
    ) -> Vec<String> {
        let (mut found, mut passed) = (vec![], BTreeSet::new());
        let mut own = change.steps.iter().filter_map(|step| match step {
            Step::Leave(entry) => Some(entry.at),
            // An available agent ranks after every queued agent.
            Step::Agent(arrow) if arrow.from == AgentStatus::Available => Some(Micros(u64::MAX)),
            _ => None,
        });
        let Some(place) = own.next().map(|at| (at, &made.agent_id)) else {
            return vec![format!("{made:?} leaves no queue")];
        };
        for (entry, since) in self.entries.values() {
            let other = (entry.at, &entry.agent);
            let first = match watch.order {
                Order::Fifo => other < place,
                Order::Lifo => other > place,
            };
            // Another transaction may be assigning that agent at the same time.
            let busy = watch.passes > 0 && watch.held.holds(&agent_key(&entry.agent));
            let fits = made.criteria.fits(&entry.queue);
            if first && !busy && fits && self.was_seen(&entry.queue, *since) {
                passed.insert(&entry.agent);
            }
        }
        if passed.len() > watch.passes {
            found.push(format!("{made:?} passes {passed:?} over"));
        }
        let mut same = self.pending.iter();
        let own = change.steps.iter().find_map(|step| match step {
            Step::Unwait(_) => Some(step.key()),
            _ => None,
        });
        let overtaken = same.find(|(key, (criteria, since))| {
            *criteria == made.criteria
                && match (before, &own) {
                    (Before::Pending, Some(own)) => {
                        *key < own && self.look(&criteria.to_string()) >= Some(since + 1)
                    }
                    _ => true,
                }
        });
        if let Some((key, _)) = overtaken {
            found.push(format!("{made:?} overtakes {key:?}"));
        }
        found
    }

    /// Whether the current task last read the queue after that commit.
    fn was_seen(&self, queue: &QueueName, since: u64) -> bool {
        self.look(queue.as_str()).is_some_and(|look| look > since)
    }

    fn look(&self, place: &str) -> Option<u64> {
        let task = tokio::task::try_id()?;
        self.looks.get(&(task, place.to_owned())).copied()
    }
}
