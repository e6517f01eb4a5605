//! Restores missing entries of queued agents, after the table was edited by hand or restored.

use std::collections::{BTreeMap, BTreeSet};

use crate::agent::{Agent, AgentState};
use crate::queue::{AgentQueue, Outcome, Result};
use crate::store::Order;
use crate::transaction::{Change, QueueEntry};

impl AgentQueue {
    /// Writes missing entries and returns their number. Each change depends on the agent's status
    /// and ticket, so it has no effect on an agent that was queued or left after `agents` was read.
    pub(super) async fn restore_entries(&self, agents: &[Agent]) -> Result<u32> {
        // Collect only references: all entries of all agents would exceed the function's memory.
        let mut expected: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for agent in agents {
            if let AgentState::Queued { queues, .. } = &agent.state {
                for queue in queues {
                    expected.entry(queue).or_default().push(agent);
                }
            }
        }
        let mut restored = 0;
        for (queue, queued) in expected {
            if self.is_over() {
                break;
            }
            let entries = self.store.peek(queue, Order::Fifo, u16::MAX).await?;
            let there: BTreeSet<_> = entries.into_iter().map(|entry| entry.ticket.0).collect();
            for agent in queued {
                if there.contains(&agent.ticket.0) {
                    continue;
                }
                let mut entries = QueueEntry::all_of(agent).into_iter();
                let Some(entry) = entries.find(|entry| entry.queue == *queue) else {
                    continue;
                };
                let id = &agent.id;
                if let Outcome::Done = self.commit("rejoin", &Change::rejoin(agent, entry)).await? {
                    tracing::error!(
                        %queue,
                        agent = %id,
                        "the queue entry of a queued agent was missing; restored it"
                    );
                    restored += 1;
                }
            }
        }
        Ok(restored)
    }
}
