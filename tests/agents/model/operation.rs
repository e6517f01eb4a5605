//! What is asked of a queue, and what it answers.

use agent_queue::agent::{IdleStatus, Ticket};
use agent_queue::call::{Assignment, Call};
use agent_queue::name::{AgentId, CallId};
use agent_queue::profile::Profile;
use agent_queue::time::Micros;

use crate::rows::Row;

/// One wish with everything it needs, the time included: a sequence means the same when some of
/// it is left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// When.
    pub now: Micros,
    /// What.
    pub wish: Wish,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Wish {
    /// A new agent, or another profile.
    Register(AgentId, String, Profile),
    /// offline → available.
    Available(AgentId),
    /// available → queued.
    Enqueue(AgentId),
    /// The same for everybody.
    EnqueueAll,
    /// Out of the queues, or off work.
    Leave(AgentId, IdleStatus),
    /// A call asks for an agent, perhaps again.
    Match(Call),
    /// A call is cancelled.
    Cancel(CallId),
    /// A call ends; the ticket is one of the reference's.
    Finish(AgentId, CallId, Ticket),
    /// An agent answers, or goes on with a call; the ticket is one of the reference's.
    Extend(AgentId, CallId, Ticket),
    /// The assignments of an earlier wish are published, successfully or not; the tickets
    /// are the reference's.
    Tell(Vec<Assignment>, bool),
    /// A sweep, whose publisher is heard or not.
    Sweep(bool),
    /// An agent is queued by a process that crashes before its read.
    DieEnqueuing(AgentId),
    /// A call is written as pending by a process that crashes before its read.
    DieWaiting(Call),
    /// The outcome of a call.
    Call(CallId),
    /// Depths and versions.
    Queues,
    /// Who is there.
    Agents(Option<AgentId>, u16),
}

impl Wish {
    /// Its name.
    #[must_use]
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
            Self::DieWaiting(_) => "die waiting",
            Self::Call(_) => "call",
            Self::Queues => "queues",
            Self::Agents(..) => "agents",
        }
    }
}

/// What is answered, in words, rows and numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// `done`, `refused`, `unknown`, or the state of a call.
    pub said: String,
    /// The agents and the assignments it shows, in its order.
    pub rows: Vec<Row>,
    /// Its numbers.
    pub counts: Vec<(&'static str, u64)>,
    /// The events published meanwhile.
    pub heard: Vec<Row>,
}

impl Answer {
    /// A word alone.
    #[must_use]
    pub fn said(word: &str) -> Self {
        Self {
            said: word.to_owned(),
            ..Self::default()
        }
    }

    /// With these rows.
    #[must_use]
    pub fn showing(mut self, rows: impl IntoIterator<Item = Row>) -> Self {
        self.rows.extend(rows);
        self
    }

    /// With this number.
    #[must_use]
    pub fn counting(mut self, name: &'static str, count: impl TryInto<u64>) -> Self {
        self.counts
            .push((name, count.try_into().unwrap_or(u64::MAX)));
        self
    }

    /// Whether nothing was done.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        ["refused", "unknown"].contains(&self.said.as_str())
            && self.rows.len() <= 1
            && self.counts.iter().all(|(_, count)| *count == 0)
    }
}
