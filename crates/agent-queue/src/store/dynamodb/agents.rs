//! Reads agents from all of their partitions.

use std::collections::HashMap;

use aws::store_error::store_error;
use futures::stream::{self, StreamExt, TryStreamExt};

use super::DynamoStore;
use super::item::{Attributes, key};
use super::read::{AT_ONCE, GET, QUERY, StartKey, readable};
use crate::agent::Agent;
use crate::name::AgentId;
use crate::schema;
use crate::store::{AgentPage, Result};
use crate::transaction::{agent_key, striped};

const PAGE: u16 = 200;

impl DynamoStore {
    pub(super) async fn one_agent(&self, agent: &AgentId) -> Result<Option<Agent>> {
        let item = self.get(agent_key(agent)).await?;
        let read = |item| Attributes::of(item, GET).agent(&self.dimensions);
        item.as_ref().map(read).transpose()
    }

    /// Returns a page of agents. Reads `limit` agents per partition, because one may contain all.
    pub(super) async fn page_of_agents(
        &self,
        after: Option<&AgentId>,
        limit: u16,
    ) -> Result<AgentPage> {
        let read = |partition: String| async move {
            let start = after.map(|after| key((partition.clone(), agent_key(after).1)));
            let (agents, next) = self.agents_of(&partition, start, limit).await?;
            Ok((agents, next.as_ref().and_then(id_of)))
        };
        let parts = self.of_each_partition(read).await?;
        // Some partitions may have more agents after this id, so the page must end at the id.
        let mut next = parts.iter().filter_map(|(_, next)| next.clone()).min();
        let mut agents = merged(parts.into_iter().map(|(agents, _)| agents));
        agents.retain(|agent| next.as_ref().is_none_or(|next| agent.id <= *next));
        if agents.len() > usize::from(limit) {
            agents.truncate(limit.into());
            next = agents.last().map(|last| last.id.clone());
        }
        Ok(AgentPage { agents, next })
    }

    pub(super) async fn agents_of_all_partitions(&self) -> Result<Vec<Agent>> {
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

    /// Returns the number of joins per queue, as counted in the agents' items.
    pub(super) async fn joins_of_agents(&self) -> Result<HashMap<String, u64>> {
        let read = |partition: String| async move {
            let query = self.whole(&partition).limit(PAGE.into());
            let mut items = query.into_paginator().items().send();
            let mut joins = vec![];
            while let Some(item) = items.try_next().await.map_err(|e| store_error(QUERY, e))? {
                let agent = Attributes::of(&item, QUERY);
                let counted = agent.joins();
                joins.extend(counted.map(|(queue, times)| (queue.to_owned(), times)));
            }
            Ok(joins)
        };
        let mut joins = HashMap::new();
        for (queue, times) in self.of_each_partition(read).await?.into_iter().flatten() {
            *joins.entry(queue).or_default() += times;
        }
        Ok(joins)
    }

    async fn agents_of(
        &self,
        partition: &str,
        start: Option<StartKey>,
        limit: u16,
    ) -> Result<(Vec<Agent>, Option<StartKey>)> {
        let query = self.whole(partition).set_exclusive_start_key(start);
        let (items, next) = self.page(query, limit).await?;
        let agents = readable(&items, |attributes| attributes.agent(&self.dimensions));
        Ok((agents, next))
    }

    async fn of_each_partition<T, F>(&self, read: impl Fn(String) -> F) -> Result<Vec<T>>
    where
        F: Future<Output = Result<T>>,
    {
        let stripes = 0..schema::STRIPES;
        let stripes: Vec<_> = stripes
            .map(|stripe| read(striped(schema::AGENTS, stripe)))
            .collect();
        stream::iter(stripes).buffered(AT_ONCE).try_collect().await
    }
}

/// Merges the agents of all parts, ordered by id.
fn merged(parts: impl IntoIterator<Item = Vec<Agent>>) -> Vec<Agent> {
    let mut agents: Vec<_> = parts.into_iter().flatten().collect();
    agents.sort_unstable_by(|one, other| one.id.cmp(&other.id));
    agents
}

fn id_of(key: &StartKey) -> Option<AgentId> {
    let sort = key.get(schema::SK)?.as_s().ok()?;
    let id = sort.strip_prefix(schema::AGENT_PREFIX)?;
    Some(AgentId::from_stored(id))
}
