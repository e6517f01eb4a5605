//! The state changes of agents.

use std::time::Duration;

use agent_queue::agent::{Agent, AgentState, IdleStatus, Ticket};
use agent_queue::name::{AgentId, CallId};
use agent_queue::profile::Profile;
use agent_queue::time::Micros;

use super::{LEASE, Reference, Response, Rule, Ruled, Served, queues_of};
use crate::rows;

fn rejected(agent: &Agent, rule: Rule) -> Ruled {
    (
        Response::said("rejected").showing([rows::agent(agent)]),
        rule,
    )
}

fn done(agent: &Agent, rule: Rule) -> Ruled {
    (Response::said("done").showing([rows::agent(agent)]), rule)
}

fn unknown(rule: Rule) -> Ruled {
    (Response::said("unknown"), rule)
}

impl Reference {
    /// Registers an agent, or changes its profile unless queued. Creates the profile's queues.
    pub(super) fn register(&mut self, id: &AgentId, name: &str, profile: &Profile) -> Ruled {
        let (mut agent, rule) = match self.agents.get(id) {
            None => {
                let agent = Agent::new(id.clone(), name.to_owned(), profile.clone());
                (agent, Rule::RegisterNew)
            }
            Some(agent) => {
                let rule = match agent.state {
                    AgentState::Queued { .. } => return rejected(agent, Rule::RegisterQueued),
                    AgentState::AttendingCall { .. } => Rule::RegisterAttending,
                    _ => Rule::RegisterAgain,
                };
                (agent.clone(), rule)
            }
        };
        if rule != Rule::RegisterAttending {
            agent.ticket = self.fresh_ticket();
        }
        name.clone_into(&mut agent.name);
        agent.profile = profile.clone();
        for queue in queues_of(&agent) {
            self.queues.entry(queue).or_default();
        }
        self.agents.insert(id.clone(), agent.clone());
        done(&agent, rule)
    }

    pub(super) fn available(&mut self, id: &AgentId, now: Micros) -> Ruled {
        let Some(agent) = self.agents.get_mut(id) else {
            return unknown(Rule::AvailableUnknown);
        };
        if agent.state != AgentState::Offline {
            return rejected(agent, Rule::AvailableRejected);
        }
        agent.state = AgentState::Available { since: now };
        done(agent, Rule::Available)
    }

    /// Queues an available agent in each of the profile's queues.
    pub(super) fn join(&mut self, id: &AgentId, now: Micros) -> Option<Agent> {
        let ticket = self.fresh_ticket();
        let agent = self.agents.get_mut(id)?;
        let AgentState::Available { since } = agent.state else {
            return None;
        };
        let queues = queues_of(agent);
        agent.ticket = ticket;
        agent.state = AgentState::Queued {
            since,
            at: now,
            queues: queues.clone(),
        };
        for queue in queues {
            let line = self.queues.entry(queue).or_default();
            line.version += 1;
            let place = (now, id.clone());
            let behind = line.agents.partition_point(|other| *other < place);
            line.agents.insert(behind, place);
        }
        Some(agent.clone())
    }

    /// Assigns the longest-pending matching call, unless a queued agent matches it too. Otherwise,
    /// queues the agent in each of the profile's queues, and serves the longest-pending matching
    /// calls.
    pub(super) fn enqueue(&mut self, id: &AgentId, now: Micros) -> Ruled {
        let Some(agent) = self.agents.get(id).cloned() else {
            let (response, rule) = unknown(Rule::EnqueueUnknown);
            return (response.counting("expired", 0_u64), rule);
        };
        let mut before = 0;
        if matches!(agent.state, AgentState::Available { .. }) {
            let taken = self.take_pending(&agent, now);
            before = taken.expired;
            if let Some(made) = taken.assignments.first() {
                let response = Response::said("done")
                    .showing(self.agents.get(id).map(rows::agent))
                    .showing([rows::assigned(made)])
                    .counting("expired", before);
                return (response, Rule::EnqueueTakes);
            }
        }
        let (said, shown) = match self.join(id, now) {
            Some(queued) => ("done", queued),
            None => ("rejected", agent),
        };
        let queued = matches!(shown.state, AgentState::Queued { .. });
        let served = match queued {
            true => self.serve_agent(&shown, now),
            false => Served::default(),
        };
        let own = served.assignments.iter().any(|made| made.agent_id == *id);
        let expired = before + served.expired;
        let rule = match (said, queued) {
            (_, false) => Rule::EnqueueRejected,
            ("rejected", _) if served.assignments.is_empty() => Rule::EnqueueAgain,
            ("rejected", _) => Rule::EnqueueAgainServes,
            _ if own => Rule::EnqueueServes,
            _ if !served.assignments.is_empty() => Rule::EnqueueServesOthers,
            _ if expired > 0 => Rule::EnqueueExpires,
            _ => Rule::Enqueue,
        };
        let response = Response::said(said)
            .showing([rows::agent(&shown)])
            .showing(served.assignments.iter().map(rows::assigned))
            .counting("expired", expired);
        (response, rule)
    }

    /// Queues every available agent, longest available first, and serves all lines.
    pub(super) fn enqueue_all(&mut self, now: Micros) -> Ruled {
        let mut available: Vec<_> = self.agents.values().filter_map(available_since).collect();
        available.sort();
        for (number, (_, id)) in (0..).zip(&available) {
            self.join(id, now.plus(Duration::from_micros(number)));
        }
        let all = self.serve_lines(now);
        let response = Response::said("done")
            .showing(all.assignments.iter().map(rows::assigned))
            .counting("queued", available.len())
            .counting("expired", all.expired);
        (response, Rule::EnqueueAll)
    }

    /// Queues an agent without reading the pending calls afterwards.
    pub(super) fn die_enqueuing(&mut self, id: &AgentId, now: Micros) -> Ruled {
        let rule = match self.join(id, now) {
            Some(_) => Rule::DiedEnqueuing,
            None => Rule::DiedInVain,
        };
        (Response::said("died"), rule)
    }

    pub(super) fn part(&mut self, id: &AgentId) {
        for line in self.queues.values_mut() {
            let before = line.agents.len();
            line.agents.retain(|(_, other)| other != id);
            line.version += u64::from(line.agents.len() < before);
        }
    }

    /// Makes a queued agent available or offline, or an available agent offline.
    pub(super) fn leave(&mut self, id: &AgentId, rest: IdleStatus) -> Ruled {
        let Some(mut agent) = self.agents.get(id).cloned() else {
            return unknown(Rule::LeaveUnknown);
        };
        let (state, rule) = match (&agent.state, rest) {
            (AgentState::Queued { since, .. }, IdleStatus::Available) => {
                (AgentState::Available { since: *since }, Rule::LeaveQueues)
            }
            (AgentState::Queued { .. }, IdleStatus::Offline) => {
                (AgentState::Offline, Rule::LeaveQueuesHome)
            }
            (AgentState::Available { .. }, IdleStatus::Offline) => {
                (AgentState::Offline, Rule::LeaveHome)
            }
            _ => return rejected(&agent, Rule::LeaveRejected),
        };
        self.part(id);
        agent.state = state;
        self.agents.insert(id.clone(), agent.clone());
        done(&agent, rule)
    }

    /// Ends the call with this id and ticket (attendingCall → available).
    pub(super) fn finish(
        &mut self,
        id: &AgentId,
        call: &CallId,
        ticket: Ticket,
        now: Micros,
    ) -> Ruled {
        let Some(agent) = self.agents.get_mut(id) else {
            return unknown(Rule::FinishUnknown);
        };
        match &agent.state {
            AgentState::AttendingCall { call: own, .. } if own == call => {
                if agent.ticket != ticket {
                    return rejected(agent, Rule::FinishForged);
                }
                agent.state = AgentState::Available { since: now };
                done(agent, Rule::Finish)
            }
            _ => rejected(agent, Rule::FinishLate),
        }
    }

    /// Extends the call with this id and ticket (attendingCall → attendingCall, with a new lease).
    pub(super) fn extend(
        &mut self,
        id: &AgentId,
        call: &CallId,
        ticket: Ticket,
        now: Micros,
    ) -> Ruled {
        let Some(agent) = self.agents.get_mut(id) else {
            return unknown(Rule::ExtendUnknown);
        };
        let has_ticket = agent.ticket == ticket;
        match &mut agent.state {
            AgentState::AttendingCall {
                call: own,
                until,
                answered,
            } if own == call && has_ticket => {
                let rule = match answered {
                    true => Rule::ExtendAgain,
                    false => Rule::ExtendAnswers,
                };
                (*until, *answered) = (Some(now.plus(LEASE)), true);
                done(agent, rule)
            }
            _ => rejected(agent, Rule::ExtendRejected),
        }
    }
}

fn available_since(agent: &Agent) -> Option<(Micros, AgentId)> {
    match agent.state {
        AgentState::Available { since } => Some((since, agent.id.clone())),
        _ => None,
    }
}
