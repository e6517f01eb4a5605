//! Publishing, and the sweep.

use agent_queue::agent::AgentState;
use agent_queue::call::{Assignment, CallState, OutboxEntry, OutboxEvent};
use agent_queue::name::{AgentId, CallId};
use agent_queue::sweep::CLOCK_SKEW;
use agent_queue::time::Micros;

use super::{GRACE, Reference, Response, Rule, Ruled};
use crate::rows;

#[derive(Default)]
struct Published {
    published: u64,
    dead_lettered: u64,
    failed: u64,
    heard: Vec<rows::Row>,
}

/// Numbers of agents made available, of returned calls, and of undone assignments.
#[derive(Default)]
struct Returned {
    agents: u64,
    calls: u64,
    undone: u64,
}

impl Reference {
    /// Publishes the events and deletes the published ones from the outbox.
    fn tell_all(&mut self, outbox: &[OutboxEntry], heard: bool, published: &mut Published) {
        for entry in outbox {
            if !heard {
                published.failed += 1;
                continue;
            }
            match entry.event {
                OutboxEvent::Assigned(_) => published.published += 1,
                OutboxEvent::Expired(_) => published.dead_lettered += 1,
            }
            published.heard.push(rows::outbox_entry(entry));
            let key = entry.sort_key();
            self.outbox.retain(|kept| kept.sort_key() != key);
        }
    }

    pub(super) fn publish(&mut self, assignments: &[Assignment], heard: bool) -> Ruled {
        let mut published = Published::default();
        self.tell_all(&outbox_entries(assignments), heard, &mut published);
        let mut response = Response::said("done")
            .counting("published", published.published)
            .counting("failed", published.failed);
        response.heard = published.heard;
        (response, if heard { Rule::Tell } else { Rule::TellFails })
    }

    /// Makes an agent available if the call lease expired before now. If the agent has not
    /// answered, the call returns to its line. If the assignment was not published, the agent
    /// returns to its former position in its queues.
    fn return_unanswered(&mut self, now: Micros) -> Returned {
        let mut returned = Returned::default();
        for (id, call, answered) in self.expired(now) {
            let record = self.calls.get(&call).filter(|_| !answered).cloned();
            let assigned = record.and_then(|record| match record.state {
                CallState::Assigned(made) => Some((record.call, OutboxEntry::assigned(made))),
                _ => None,
            });
            if let Some(agent) = self.agents.get_mut(&id) {
                agent.state = AgentState::Available { since: now };
            }
            let Some((mut call, entry)) = assigned else {
                returned.agents += 1;
                continue;
            };
            call.unanswered += 1;
            self.wait(&call);
            let before = self.outbox.len();
            self.outbox
                .retain(|kept| kept.sort_key() != entry.sort_key());
            if self.outbox.len() == before {
                returned.agents += 1;
                returned.calls += 1;
            } else {
                self.requeue(&id);
                returned.undone += 1;
            }
        }
        returned
    }

    /// Returns the agents with an expired lease, with their calls and whether they have answered.
    fn expired(&self, now: Micros) -> Vec<(AgentId, CallId, bool)> {
        let expired = self.agents.values().filter_map(|agent| match &agent.state {
            AgentState::AttendingCall {
                call,
                until: Some(until),
                answered,
            } if until.plus(CLOCK_SKEW) < now => Some((agent.id.clone(), call.clone(), *answered)),
            _ => None,
        });
        expired.collect()
    }

    /// Queues an available agent in its former position.
    pub(super) fn requeue(&mut self, id: &AgentId) {
        if let Some(place) = self.places.get(id).copied() {
            if let Some(agent) = self.agents.get_mut(id) {
                agent.state = AgentState::Available { since: place };
            }
            self.join(id, place);
        }
    }

    /// Returns the events that the sweep publishes, oldest first: expired calls, and assignments
    /// older than the grace period.
    fn forgotten(&self, now: Micros) -> Vec<OutboxEntry> {
        let is_forgotten = |entry: &&OutboxEntry| match entry.event {
            OutboxEvent::Expired(_) => true,
            OutboxEvent::Assigned(_) => entry.at.plus(GRACE) <= now,
        };
        let mut forgotten: Vec<_> = self.outbox.iter().filter(is_forgotten).cloned().collect();
        forgotten.sort_by_key(OutboxEntry::sort_key);
        forgotten
    }

    pub(super) fn sweep(&mut self, heard: bool, now: Micros) -> Ruled {
        let mut published = Published::default();
        let returned = self.return_unanswered(now);
        let first = self.forgotten(now);
        self.tell_all(&first, heard, &mut published);
        let all = self.serve_lines(now);
        self.tell_all(&outbox_entries(&all.assignments), heard, &mut published);
        let mut expired = self.forgotten(now);
        expired.retain(|entry| !first.contains(entry));
        self.tell_all(&expired, heard, &mut published);
        let rule = match () {
            () if returned.undone > 0 => Rule::SweepUndoes,
            () if returned.calls > 0 => Rule::SweepReturnsCalls,
            () if returned.agents > 0 => Rule::SweepReturns,
            () if !all.assignments.is_empty() => Rule::SweepServes,
            () if all.expired > 0 => Rule::SweepExpires,
            () if published.failed > 0 => Rule::SweepFails,
            () if !published.heard.is_empty() => Rule::SweepTells,
            () => Rule::Sweep,
        };
        let mut response = Response::said("done")
            .counting("returned", returned.agents)
            .counting("calls_returned", returned.calls)
            .counting("undone", returned.undone)
            .counting("assigned", all.assignments.len())
            .counting("expired", all.expired)
            .counting("published", published.published)
            .counting("dead_lettered", published.dead_lettered)
            .counting("untold", published.failed);
        response.heard = published.heard;
        (self.measured(response, now), rule)
    }

    fn measured(&self, response: Response, now: Micros) -> Response {
        let queued =
            |agent: &&agent_queue::agent::Agent| matches!(&agent.state, AgentState::Queued { .. });
        let lines = self.pending.values();
        let oldest = lines.clone().filter_map(|line| line.first());
        let oldest = oldest.map(|(arrived, _)| now.since(*arrived).as_micros());
        response
            .counting("queued_agents", self.agents.values().filter(queued).count())
            .counting("pending_calls", lines.map(Vec::len).sum::<usize>())
            .counting("oldest", oldest.max().unwrap_or(0))
            .counting("complete", true)
    }
}

fn outbox_entries(assignments: &[Assignment]) -> Vec<OutboxEntry> {
    let assignments = assignments.iter().cloned();
    assignments.map(OutboxEntry::assigned).collect()
}
