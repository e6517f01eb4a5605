//! Requests to a queue, and responses.

use agent_queue::agent::{IdleStatus, Ticket};
use agent_queue::call::{Assignment, Call};
use agent_queue::name::{AgentId, CallId};
use agent_queue::profile::Profile;
use agent_queue::time::Micros;

use crate::rows::Row;

/// One request with all its data, including the time. A sequence therefore keeps its meaning when
/// shrinking removes some of its requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    pub now: Micros,
    pub wish: Wish,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Wish {
    Register(AgentId, String, Profile),
    Available(AgentId),
    Enqueue(AgentId),
    EnqueueAll,
    Leave(AgentId, IdleStatus),
    /// A call requests an agent, sometimes repeatedly.
    Match(Call),
    Cancel(CallId),
    /// An agent finishes a call. The ticket is the reference's.
    Finish(AgentId, CallId, Ticket),
    /// An agent answers or extends a call. The ticket is the reference's.
    Extend(AgentId, CallId, Ticket),
    /// An earlier request's assignments are published, with the reference's tickets. The flag is
    /// false if the publisher fails.
    Tell(Vec<Assignment>, bool),
    /// A sweep. The flag is false if the publisher fails.
    Sweep(bool),
    /// A process queues an agent and crashes before its read.
    DieEnqueuing(AgentId),
    /// A process writes a call as pending and crashes before its read.
    DiePending(Call),
    Call(CallId),
    /// A read of the queues' depths and versions, and of the numbers of pending calls.
    Queues,
    /// A read of a page of agents: the last agent of the previous page, and the page size.
    Agents(Option<AgentId>, u16),
}

impl Wish {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Register(..) => "register",
            Self::Available(_) => "available",
            Self::Enqueue(_) => "enqueue",
            Self::EnqueueAll => "enqueue_all",
            Self::Leave(..) => "leave",
            Self::Match(_) => "match_call",
            Self::Cancel(_) => "cancel",
            Self::Finish(..) => "finish",
            Self::Extend(..) => "extend",
            Self::Tell(..) => "tell",
            Self::Sweep(_) => "sweep",
            Self::DieEnqueuing(_) => "die enqueuing",
            Self::DiePending(_) => "die pending",
            Self::Call(_) => "call",
            Self::Queues => "queues",
            Self::Agents(..) => "agents",
        }
    }
}

/// A response, represented by a word, rows and counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// `done`, `rejected`, `unknown`, `died`, or the state of a call.
    pub said: String,
    /// The agents and assignments in the response, in response order.
    pub rows: Vec<Row>,
    pub counts: Vec<(&'static str, u64)>,
    /// The events published during the request.
    pub heard: Vec<Row>,
}

impl Response {
    pub fn said(word: &str) -> Self {
        Self {
            said: word.to_owned(),
            ..Self::default()
        }
    }

    #[must_use]
    pub fn showing(mut self, rows: impl IntoIterator<Item = Row>) -> Self {
        self.rows.extend(rows);
        self
    }

    #[must_use]
    pub fn counting(mut self, name: &'static str, count: impl TryInto<u64>) -> Self {
        self.counts
            .push((name, count.try_into().unwrap_or(u64::MAX)));
        self
    }

    /// Whether the queue rejected the request and did nothing else.
    pub fn is_rejection(&self) -> bool {
        ["rejected", "unknown"].contains(&self.said.as_str())
            && self.rows.len() <= 1
            && self.counts.iter().all(|(_, count)| *count == 0)
    }
}
