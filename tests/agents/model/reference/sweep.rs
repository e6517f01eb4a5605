//! Telling, and the sweep.

use agent_queue::agent::AgentState;
use agent_queue::call::{Assignment, News, Notice};
use agent_queue::time::Micros;

use super::{Answer, GRACE, Reference, Rule};
use crate::rows;

/// The published events.
#[derive(Default)]
struct Told {
    published: u64,
    dead_lettered: u64,
    failed: u64,
    heard: Vec<rows::Row>,
}

impl Reference {
    /// Publishes, and deletes published events.
    fn tell_all(&mut self, notices: &[Notice], heard: bool, told: &mut Told) {
        for notice in notices {
            if !heard {
                told.failed += 1;
                continue;
            }
            match notice.news {
                News::Assigned(_) => told.published += 1,
                News::Expired(_) => told.dead_lettered += 1,
            }
            told.heard.push(rows::notice(notice));
            let key = notice.sort_key();
            self.outbox.retain(|kept| kept.sort_key() != key);
        }
    }

    pub(super) fn tell(&mut self, assignments: &[Assignment], heard: bool) -> (Answer, Rule) {
        let mut told = Told::default();
        self.tell_all(&notices(assignments), heard, &mut told);
        let mut answer = Answer::said("done")
            .counting("published", told.published)
            .counting("failed", told.failed);
        answer.heard = told.heard;
        (answer, if heard { Rule::Tell } else { Rule::TellFails })
    }

    /// attendingCall → available, where the lease expired before now. The call of an agent who has
    /// not answered returns to its line. The numbers of agents and calls.
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

    /// Events left for the sweep: expired calls, and assignments after the grace; oldest
    /// first.
    fn forgotten(&self, now: Micros) -> Vec<Notice> {
        let is_forgotten = |notice: &&Notice| match notice.news {
            News::Expired(_) => true,
            News::Assigned(_) => notice.at.plus(GRACE) <= now,
        };
        let mut forgotten: Vec<_> = self.outbox.iter().filter(is_forgotten).cloned().collect();
        forgotten.sort_by_key(Notice::sort_key);
        forgotten
    }

    pub(super) fn sweep(&mut self, heard: bool, now: Micros) -> (Answer, Rule) {
        let mut told = Told::default();
        let first = self.forgotten(now);
        self.tell_all(&first, heard, &mut told);
        let (returned, calls_returned) = self.take_back(now);
        let all = self.serve_lines(now);
        self.tell_all(&notices(&all.assignments), heard, &mut told);
        let mut expired = self.forgotten(now);
        expired.retain(|notice| !first.contains(notice));
        self.tell_all(&expired, heard, &mut told);
        let rule = match () {
            () if calls_returned > 0 => Rule::SweepReturnsCalls,
            () if returned > 0 => Rule::SweepReturns,
            () if !all.assignments.is_empty() => Rule::SweepServes,
            () if all.expired > 0 => Rule::SweepExpires,
            () if told.failed > 0 => Rule::SweepFails,
            () if !told.heard.is_empty() => Rule::SweepTells,
            () => Rule::Sweep,
        };
        let mut answer = Answer::said("done")
            .counting("returned", returned)
            .counting("calls_returned", calls_returned)
            .counting("assigned", all.assignments.len())
            .counting("expired", all.expired)
            .counting("published", told.published)
            .counting("dead_lettered", told.dead_lettered)
            .counting("untold", told.failed);
        answer.heard = told.heard;
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

fn notices(assignments: &[Assignment]) -> Vec<Notice> {
    let notice = |made: &Assignment| Notice {
        at: made.assigned_at,
        news: News::Assigned(made.clone()),
    };
    assignments.iter().map(notice).collect()
}
