//! Into all queues that fit; and then, for a queued agent, the longest waiting call.
//!
//! A match works from both sides, each writing first and looking afterwards, strongly
//! consistent: an agent is queued, then looks for a call; a call waits, then looks for an agent
//! ([`matcher`](crate::matcher)). Of two that cross, the later one to have written sees the
//! other. The sweep looks again for a pair whose writers died between the two.

use crate::agent::{Agent, AgentState};
use crate::call::{Assignment, Call};
use crate::change::{Before, Change};
use crate::matcher::{Met, Served};
use crate::name::AgentId;
use crate::queue::{AgentQueue, QueueError};
use crate::roster::Changed;

/// How a wish to be queued ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enqueued {
    /// What became of the agent by the wish itself.
    pub changed: Changed,
    /// The assignments made thereupon, to tell: this agent's, and others' that were due.
    pub assignments: Vec<Assignment>,
    /// How many calls were found to have waited for too long.
    pub expired: u32,
}

/// How many agents were queued.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllEnqueued {
    /// Agents.
    pub queued: usize,
    /// The assignments made thereupon, to tell.
    pub assignments: Vec<Assignment>,
    /// How many calls were found to have waited for too long.
    pub expired: u32,
}

/// The most calls that are looked at because one agent was queued: each is this agent's, or one
/// of an agent who waited longer and was left behind by a crash, or has waited for too long.
const MAX_SERVED: usize = 100;

impl AgentQueue {
    /// available → queued, in every queue that fits. Where a call waits, it is served.
    ///
    /// # Errors
    /// [`QueueError`]; repeat it.
    pub async fn enqueue(&self, id: &AgentId) -> Result<Enqueued, QueueError> {
        let changed = self
            .change(id, "enqueue", |agent| {
                let change = agent.enqueue(self.clock.now(), &self.settings.dimensions)?;
                Ok((change.clone(), Change::enqueue(change, agent)))
            })
            .await?;
        let Served {
            assignments,
            expired,
        } = match &changed {
            Changed::Done(agent) => self.serve_agent(agent).await?,
            // Queued before, by a call of ours perhaps whose look nobody took.
            Changed::Refused { agent, .. } if is_queued(agent) => self.serve_agent(agent).await?,
            _ => Served::default(),
        };
        Ok(Enqueued {
            changed,
            assignments,
            expired,
        })
    }

    /// Queues every agent who is available, the longest available first.
    ///
    /// # Errors
    /// [`QueueError`]: some may be queued; repeat it for the others.
    pub async fn enqueue_all_available(&self) -> Result<AllEnqueued, QueueError> {
        let mut all = AllEnqueued::default();
        for id in self.all_available().await? {
            let enqueued = self.enqueue(&id).await?;
            all.queued += usize::from(matches!(enqueued.changed, Changed::Done(_)));
            all.assignments.extend(enqueued.assignments);
            all.expired += enqueued.expired;
        }
        Ok(all)
    }

    /// Serves the calls that wait for such an agent, the longest waiting first, until the agent
    /// has one or none is left.
    async fn serve_agent(&self, agent: &Agent) -> Result<Served, QueueError> {
        let mut served = Served::default();
        for _ in 0..MAX_SERVED {
            let Some(call) = self.longest_waiting(agent).await? else {
                break;
            };
            if self.is_too_old(&call) {
                served.expired += u32::from(self.expire(&call).await?);
                continue;
            }
            match self.meet(&call, Before::Waiting).await? {
                Met::Assigned(assignment) => {
                    let ours = assignment.agent_id == agent.id;
                    served.assignments.push(assignment);
                    if ours {
                        break;
                    }
                }
                // Another was faster with this call.
                Met::Known(_) => {}
                // Another was faster with our agent.
                Met::Nobody | Met::OthersWait => break,
            }
        }
        Ok(served)
    }

    /// The call that waits longest among those that fit an agent, as read.
    async fn longest_waiting(&self, agent: &Agent) -> Result<Option<Call>, QueueError> {
        let mut longest: Option<Call> = None;
        for count in self.store.waiting().await? {
            if count.depth == 0 || !count.criteria.fits_profile(&agent.profile) {
                continue;
            }
            let first = self.store.waiting_calls(&count.criteria, 1).await?;
            for call in first {
                if longest
                    .as_ref()
                    .is_none_or(|other| call.sort_key() < other.sort_key())
                {
                    longest = Some(call);
                }
            }
        }
        Ok(longest)
    }
}

fn is_queued(agent: &Agent) -> bool {
    matches!(agent.state, AgentState::Queued { .. })
}
