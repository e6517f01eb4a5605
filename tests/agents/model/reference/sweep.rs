//! Publishing, and the sweep.

use agent_queue::agent::AgentState;
use agent_queue::call::{Assignment, OutboxEntry, OutboxEvent};
use agent_queue::time::Micros;

use super::{Answer, GRACE, Reference, Rule};
use crate::rows;

/// The published events.
#[derive(Default)]
struct Published {
    published: u64,
    dead_lettered: u64,
    failed: u64,
    heard: Vec<rows::Row>,
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

    pub(super) fn publish(&mut self, assignments: &[Assignment], heard: bool) -> (Answer, Rule) {
        let mut published = Published::default();
        self.tell_all(&outbox_entries(assignments), heard, &mut published);
        let mut answer = Answer::said("done")
            .counting("published", published.published)
            .counting("failed", published.failed);
        answer.heard = published.heard;
        (answer, if heard { Rule::Tell } else { Rule::TellFails })
    }

    /// attendingCall → available, if the call lease expired before now. The call of an agent that
    /// has not answered returns to its line. Returns the numbers of agents and of calls.
    fn take_back(&mut self, now: Micros) -> (u64, u64) {
        let (mut returned, mut calls) = (0, vec![]);
        for agent in self.agents.values_mut() {
            let AgentState::AttendingCall {
                call,
                until: Some(until),
                answered,
            } = &agent.state
            else {
                continue;
            };
            if *until < now {
                if !answered {
                    calls.push(call.clone());
                }
                agent.state = AgentState::Available { since: now };
                returned += 1;
            }
        }
        for id in &calls {
            if let Some(record) = self.calls.get(id) {
                let mut call = record.call.clone();
                call.unanswered += 1;
                self.wait(&call);
            }
        }
        (returned, calls.len() as u64)
    }

    /// The events that the sweep publishes, oldest first: expired calls, and assignments older than
    /// the grace.
    fn forgotten(&self, now: Micros) -> Vec<OutboxEntry> {
        let is_forgotten = |entry: &&OutboxEntry| match entry.event {
            OutboxEvent::Expired(_) => true,
            OutboxEvent::Assigned(_) => entry.at.plus(GRACE) <= now,
        };
        let mut forgotten: Vec<_> = self.outbox.iter().filter(is_forgotten).cloned().collect();
        forgotten.sort_by_key(OutboxEntry::sort_key);
        forgotten
    }

    pub(super) fn sweep(&mut self, heard: bool, now: Micros) -> (Answer, Rule) {
        let mut published = Published::default();
        let first = self.forgotten(now);
        self.tell_all(&first, heard, &mut published);
        let (returned, calls_returned) = self.take_back(now);
        let all = self.serve_lines(now);
        self.tell_all(&outbox_entries(&all.assignments), heard, &mut published);
        let mut expired = self.forgotten(now);
        expired.retain(|entry| !first.contains(entry));
        self.tell_all(&expired, heard, &mut published);
        let rule = match () {
            () if calls_returned > 0 => Rule::SweepReturnsCalls,
            () if returned > 0 => Rule::SweepReturns,
            () if !all.assignments.is_empty() => Rule::SweepServes,
            () if all.expired > 0 => Rule::SweepExpires,
            () if published.failed > 0 => Rule::SweepFails,
            () if !published.heard.is_empty() => Rule::SweepTells,
            () => Rule::Sweep,
        };
        let mut answer = Answer::said("done")
            .counting("returned", returned)
            .counting("calls_returned", calls_returned)
            .counting("assigned", all.assignments.len())
            .counting("expired", all.expired)
            .counting("published", published.published)
            .counting("dead_lettered", published.dead_lettered)
            .counting("untold", published.failed);
        answer.heard = published.heard;
        (self.measured(answer, now), rule)
    }

    fn measured(&self, answer: Answer, now: Micros) -> Answer {
        let queued =
            |agent: &&agent_queue::agent::Agent| matches!(&agent.state, AgentState::Queued { .. });
        let lines = self.waiting.values();
        let oldest = lines.clone().filter_map(|line| line.first());
        let oldest = oldest.map(|(arrived, _)| now.since(*arrived).as_micros());
        answer
            .counting("queued_agents", self.agents.values().filter(queued).count())
            .counting("waiting_calls", lines.map(Vec::len).sum::<usize>())
            .counting("oldest", oldest.max().unwrap_or(0))
            .counting("complete", true)
    }
}

fn outbox_entries(assignments: &[Assignment]) -> Vec<OutboxEntry> {
    let entry = |made: &Assignment| OutboxEntry {
        at: made.assigned_at,
        event: OutboxEvent::Assigned(made.clone()),
    };
    assignments.iter().map(entry).collect()
}
