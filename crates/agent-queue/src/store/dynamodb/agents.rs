//! The reads of agents, in all partitions of agents.
//!
//! Earlier releases have all agents in the partition `AllAgents`. The sweep moves them to the
//! partitions `Agents#<stripe>`. Until then, an agent is read and changed where it is.

use std::collections::{BTreeMap, HashMap};

use futures::stream::{self, StreamExt, TryStreamExt};

use super::DynamoStore;
use super::item::{Attributes, key};
use super::read::{AT_ONCE, GET, StartKey, add_joins, readable};
use crate::agent::Agent;
use crate::name::AgentId;
use crate::schema;
use crate::store::{AgentPage, StoreError};
use crate::transaction::{agent_key, former_agent_key, striped};

/// Number of agents read at once.
const PAGE: u16 = 200;

impl DynamoStore {
    pub(super) async fn one_agent(&self, agent: &AgentId) -> Result<Option<Agent>, StoreError> {
        // The sweep may move it between the first two reads.
        for at in [agent_key(agent), former_agent_key(agent), agent_key(agent)] {
            if let Some(item) = self.get(at).await? {
                let agent = Attributes::of(&item, GET).agent(&self.dimensions);
                return agent.map(Some);
            }
        }
        Ok(None)
    }

    /// Reads `limit` agents of each partition, because all of the page may be in one.
    pub(super) async fn page_of_agents(
        &self,
        after: Option<&AgentId>,
        limit: u16,
    ) -> Result<AgentPage, StoreError> {
        let read = |partition: String| async move {
            let start = after.map(|after| key((partition.clone(), agent_key(after).1)));
            let (agents, next) = self.agents_of(&partition, start, limit).await?;
            Ok((agents, next.as_ref().and_then(id_of)))
        };
        let parts = self.of_each_partition(read).await?;
        // Later agents may be missing.
        let mut next = parts.iter().filter_map(|(_, next)| next.clone()).min();
        let mut agents = merged(parts.into_iter().map(|(agents, _)| agents));
        agents.retain(|agent| next.as_ref().is_none_or(|next| agent.id <= *next));
        if agents.len() > usize::from(limit) {
            agents.truncate(limit.into());
            next = agents.last().map(|last| last.id.clone());
        }
        Ok(AgentPage { agents, next })
    }

    pub(super) async fn agents_of_all_partitions(&self) -> Result<Vec<Agent>, StoreError> {
        let read = |partition: String| async move {
            let (mut all, mut start) = (vec![], None);
            loop {
                let (agents, next) = self.agents_of(&partition, start, PAGE).await?;
                all.extend(agents);
                start = next;
                if start.is_none() {
                    return Ok(all);
                }
            }
        };
        Ok(merged(self.of_each_partition(read).await?))
    }

    /// The number of joins of each queue, as the agents' items count them.
    pub(super) async fn joins_of_agents(&self) -> Result<HashMap<String, u64>, StoreError> {
        let read = |partition: String| async move {
            let (mut joins, mut start) = (HashMap::new(), None);
            loop {
                let query = self.whole(&partition).set_exclusive_start_key(start);
                let (items, next) = self.page(query, PAGE).await?;
                for item in &items {
                    add_joins(&mut joins, item);
                }
                start = next;
                if start.is_none() {
                    return Ok(joins);
                }
            }
        };
        let parts = self.of_each_partition(read).await?.into_iter().flatten();
        Ok(parts.fold(HashMap::new(), |mut joins, (queue, times)| {
            *joins.entry(queue).or_default() += times;
            joins
        }))
    }

    async fn agents_of(
        &self,
        partition: &str,
        start: Option<StartKey>,
        limit: u16,
    ) -> Result<(Vec<Agent>, Option<StartKey>), StoreError> {
        let query = self.whole(partition).set_exclusive_start_key(start);
        let (items, next) = self.page(query, limit).await?;
        let agents = readable(&items, |attributes| attributes.agent(&self.dimensions));
        Ok((agents, next))
    }

    /// Reads each partition of agents. `AllAgents` is the first, so that an agent that moves
    /// meanwhile is read at least once.
    async fn of_each_partition<T, F>(
        &self,
        read: impl Fn(String) -> F,
    ) -> Result<Vec<T>, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let mut parts = vec![read(schema::ALL_AGENTS.to_owned()).await?];
        let stripes = 0..schema::STRIPES;
        let stripes: Vec<_> = stripes
            .map(|stripe| read(striped(schema::AGENTS, stripe)))
            .collect();
        let mut stripes = stream::iter(stripes).buffered(AT_ONCE);
        while let Some(part) = stripes.try_next().await? {
            parts.push(part);
        }
        Ok(parts)
    }
}

/// The agents of all parts, ordered by id. Of an agent that two parts have, the later one counts.
fn merged(parts: impl IntoIterator<Item = Vec<Agent>>) -> Vec<Agent> {
    let agents = parts.into_iter().flatten();
    let agents: BTreeMap<_, _> = agents.map(|agent| (agent.id.clone(), agent)).collect();
    agents.into_values().collect()
}

/// The agent of a key.
fn id_of(key: &StartKey) -> Option<AgentId> {
    let sort = key.get(schema::SK)?.as_s().ok()?;
    let id = sort.strip_prefix(schema::AGENT_PREFIX)?;
    Some(AgentId::from_stored(id))
}
