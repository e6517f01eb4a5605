//! The responses of `agent-desk`.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::agent::{Agent, AgentState, AgentStatus, Ticket};
use crate::call::{Assignment, Call, CallState};
use crate::dimension::Dimensions;
use crate::name::{AgentId, CallId};
use crate::store::{AgentPage, LineDepth, QueueCounters};
use crate::time::Micros;

#[derive(Clone, Debug, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum Response {
    /// Response to register, available, enqueue, leave, finish and extend.
    Changed {
        changed: bool,
        /// Reason why nothing changed, and what to do first.
        #[serde(skip_serializing_if = "Option::is_none")]
        rejected: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        agent: Option<AgentView>,
        /// The agent's assignment, if a call was pending.
        #[serde(skip_serializing_if = "Option::is_none")]
        assignment: Option<Assignment>,
    },
    /// Response to queue-all-available.
    AllQueued {
        queued: usize,
        assignments: Vec<Assignment>,
        /// Whether the command ended early. If so, repeat it for the remaining agents.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        cut_short: bool,
    },
    Seeded {
        agents: Vec<AgentView>,
    },
    Call {
        call_id: CallId,
        /// `assigned`, `pending`, `cancelled`, `expired` or `unknown`.
        status: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        assignment: Option<Assignment>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pending: Option<PendingView>,
    },
    Calls {
        calls: Vec<PendingView>,
    },
    Queues {
        queues: Vec<QueueView>,
        /// All open lines of pending calls, including empty lines.
        pending: Vec<LineView>,
    },
    Agents {
        /// A page of agents, ordered by id.
        agents: Vec<AgentView>,
        /// The value of `after` for the next page, if there may be more agents.
        #[serde(skip_serializing_if = "Option::is_none")]
        next: Option<AgentId>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentView {
    agent_id: AgentId,
    name: String,
    attributes: BTreeMap<String, Json>,
    status: AgentStatus,
    ticket: Ticket,
    #[serde(skip_serializing_if = "Option::is_none")]
    available_since: Option<Micros>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queued_at: Option<Micros>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call_id: Option<CallId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_until: Option<Micros>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer_by: Option<Micros>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QueueView {
    queue: String,
    depth: u64,
    version: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LineView {
    criteria: String,
    depth: u64,
    /// Oldest pending call in the line. The call and the depth come from separate reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest: Option<PendingView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingView {
    call_id: CallId,
    criteria: String,
    arrived_at: Micros,
    /// Time since `arrived_at`, in milliseconds.
    pending_ms: u64,
}

impl PendingView {
    pub fn of(call: &Call, now: Micros) -> Self {
        let pending = now.since(call.arrived).as_millis();
        Self {
            call_id: call.id.clone(),
            criteria: call.criteria.to_string(),
            arrived_at: call.arrived,
            pending_ms: u64::try_from(pending).unwrap_or(u64::MAX),
        }
    }
}

impl AgentView {
    /// Converts an agent for a response. The keys of its attributes are dimension names.
    pub fn of(agent: &Agent, dimensions: &Dimensions) -> Self {
        let values = std::iter::zip(dimensions.all(), agent.profile.values());
        let attributes = values.map(|(dimension, values)| {
            let value = match dimension.multi_valued {
                true => json!(values),
                false => json!(values.first()),
            };
            (dimension.name.clone(), value)
        });
        let (available_since, queued_at, call_id, lease_until) = match &agent.state {
            AgentState::Offline => (None, None, None, None),
            AgentState::Available { since } => (Some(*since), None, None, None),
            AgentState::Queued { since, at, .. } => (Some(*since), Some(*at), None, None),
            AgentState::AttendingCall { call, until, .. } => {
                (None, None, Some(call.clone()), *until)
            }
        };
        let answered = !matches!(
            agent.state,
            AgentState::AttendingCall {
                answered: false,
                ..
            }
        );
        Self {
            agent_id: agent.id.clone(),
            name: agent.name.clone(),
            attributes: attributes.collect(),
            status: agent.state.status(),
            ticket: agent.ticket,
            available_since,
            queued_at,
            call_id,
            lease_until,
            answer_by: lease_until.filter(|_| !answered),
        }
    }
}

impl Response {
    /// Returns the reason why the command did not change its agent, or `None` if it did. Returns
    /// `None` for all other commands.
    pub fn rejected(&self) -> Option<&str> {
        match self {
            Self::Changed { rejected, .. } => rejected.as_deref(),
            _ => None,
        }
    }

    pub(super) fn call(call_id: CallId, state: Option<CallState>) -> Self {
        let status = state.as_ref().map_or("unknown", CallState::as_str);
        let assignment = match state {
            Some(CallState::Assigned(assignment)) => Some(assignment),
            _ => None,
        };
        Self::Call {
            call_id,
            status,
            assignment,
            pending: None,
        }
    }

    /// Creates the response to `queues`. `oldest` contains the oldest pending call per criteria.
    pub(super) fn queues(
        queues: Vec<QueueCounters>,
        pending: Vec<LineDepth>,
        oldest: &[Call],
        now: Micros,
    ) -> Self {
        let queue = |counters: QueueCounters| QueueView {
            queue: counters.queue.to_string(),
            depth: counters.depth,
            version: counters.version,
        };
        let criteria = |count: LineDepth| {
            let oldest = oldest.iter().find(|call| call.criteria == count.criteria);
            LineView {
                criteria: count.criteria.to_string(),
                depth: count.depth,
                oldest: oldest.map(|call| PendingView::of(call, now)),
            }
        };
        Self::Queues {
            queues: queues.into_iter().map(queue).collect(),
            pending: pending.into_iter().map(criteria).collect(),
        }
    }

    pub(super) fn agents(page: AgentPage, dimensions: &Dimensions) -> Self {
        let agents = page.agents.iter();
        Self::Agents {
            agents: agents
                .map(|agent| AgentView::of(agent, dimensions))
                .collect(),
            next: page.next,
        }
    }
}
