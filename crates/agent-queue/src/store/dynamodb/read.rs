//! The store's reads, and its implementation of [`AgentStore`].

use std::collections::HashMap;

use async_trait::async_trait;
use aws::store_error::store_error;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, Select};
use futures::stream::{self, StreamExt, TryStreamExt};

use super::DynamoStore;
use super::item::{Attributes, Item, key, string};
use crate::agent::Agent;
use crate::call::{Call, CallRecord, OutboxEntry};
use crate::criteria::{Criteria, QueueName};
use crate::name::{AgentId, CallId};
use crate::schema;
use crate::store::{
    AgentPage, AgentStore, Committed, Line, LineDepth, Order, QueueCounters, Result,
};
use crate::time::Micros;
use crate::transaction::{
    CallLease, Change, Key, QueueEntry, call_key, lease_key, pending_partition, striped,
};

pub(super) const GET: &str = "GetItem";
pub(super) const QUERY: &str = "Query";

pub(super) type StartKey = HashMap<String, AttributeValue>;

impl DynamoStore {
    pub(super) async fn get(&self, at: Key) -> Result<Option<Item>> {
        let request = self
            .client
            .get_item()
            .table_name(&self.table)
            .set_key(Some(key(at)))
            .consistent_read(true);
        let response = request.send().await.map_err(|e| store_error(GET, e))?;
        Ok(response.item)
    }

    fn query(&self, partition: &str) -> QueryFluentBuilder {
        self.client
            .query()
            .table_name(&self.table)
            .consistent_read(true)
            .expression_attribute_values(":pk", string(partition))
    }

    pub(super) fn whole(&self, partition: &str) -> QueryFluentBuilder {
        self.query(partition).key_condition_expression("pk = :pk")
    }

    /// Queries the items after a key and before a time.
    fn before(&self, partition: &str, after: Option<Key>, until: Micros) -> QueryFluentBuilder {
        self.query(partition)
            .key_condition_expression("pk = :pk AND sk < :until")
            .expression_attribute_values(":until", string(until))
            .set_exclusive_start_key(after.map(key))
    }

    pub(super) async fn page(
        &self,
        query: QueryFluentBuilder,
        limit: u16,
    ) -> Result<(Vec<Item>, Option<StartKey>)> {
        let query = query.limit(limit.into());
        let response = query.send().await.map_err(|e| store_error(QUERY, e))?;
        Ok((
            response.items.unwrap_or_default(),
            response.last_evaluated_key,
        ))
    }

    /// Returns the first readable items, up to `limit`. Reads one more item for each unreadable
    /// one, and otherwise none beyond `limit`.
    async fn first<T>(
        &self,
        query: QueryFluentBuilder,
        limit: u16,
        read: impl Fn(Attributes<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let limit = usize::from(limit);
        let mut first = vec![];
        let mut start = query.get_exclusive_start_key().clone();
        loop {
            let missing = u16::try_from(limit - first.len()).unwrap_or(u16::MAX);
            let query = query.clone().set_exclusive_start_key(start);
            let (items, next) = self.page(query, missing).await?;
            first.extend(readable(&items, &read));
            start = next;
            if start.is_none() || first.len() >= limit {
                return Ok(first);
            }
        }
    }

    async fn opened(&self) -> Result<Vec<QueueName>> {
        let items = self.all(schema::ALL_QUEUES).await?;
        let name = |attributes: Attributes<'_>| attributes.sort_key().map(QueueName::from_stored);
        Ok(readable(&items, name))
    }

    /// Returns the number of items in a partition, at a cost of one read unit per 4 KB.
    async fn count(&self, partition: &str) -> Result<u64> {
        let query = self.whole(partition).select(Select::Count);
        let mut pages = query.into_paginator().send();
        let mut count = 0;
        while let Some(page) = pages.try_next().await.map_err(|e| store_error(QUERY, e))? {
            count += u64::try_from(page.count).unwrap_or(0);
        }
        Ok(count)
    }

    /// Returns the first items before `until` in each stripe, up to `limit` per stripe.
    async fn stripes<T>(
        &self,
        partition: &str,
        after: Option<String>,
        until: Micros,
        limit: u16,
        read: fn(Attributes<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let stripes: Vec<_> = (0..schema::STRIPES)
            .map(|stripe| {
                let partition = striped(partition, stripe);
                let after = after.clone().map(|sort| (partition.clone(), sort));
                let query = self.before(&partition, after, until);
                self.first(query, limit, read)
            })
            .collect();
        stream::iter(stripes).buffered(AT_ONCE).try_concat().await
    }

    /// Returns all items of a partition that has one item per queue or criteria.
    pub(super) async fn all(&self, partition: &str) -> Result<Vec<Item>> {
        let items = self.whole(partition).into_paginator().items().send();
        let items = items.try_collect().await;
        items.map_err(|error| store_error(QUERY, error))
    }
}

pub(super) const AT_ONCE: usize = 16;

/// Parses each item. An item that cannot be read is logged and skipped, so that it does not block
/// the others.
pub(super) fn readable<T>(items: &[Item], read: impl Fn(Attributes<'_>) -> Result<T>) -> Vec<T> {
    let read = |item| match read(Attributes::of(item, QUERY)) {
        Ok(value) => Some(value),
        Err(error) => {
            tracing::error!(%error, "unreadable item skipped");
            None
        }
    };
    items.iter().filter_map(read).collect()
}

#[async_trait]
impl AgentStore for DynamoStore {
    async fn commit(&self, change: &Change) -> Result<Committed> {
        self.transact(change).await
    }

    async fn agent(&self, agent: &AgentId) -> Result<Option<Agent>> {
        self.one_agent(agent).await
    }

    async fn agents(&self, after: Option<&AgentId>, limit: u16) -> Result<AgentPage> {
        self.page_of_agents(after, limit).await
    }

    async fn all_agents(&self) -> Result<Vec<Agent>> {
        self.agents_of_all_partitions().await
    }

    async fn queues(&self) -> Result<Vec<QueueCounters>> {
        let (opened, joins) = tokio::try_join!(self.opened(), self.joins_of_agents())?;
        let counters = opened.into_iter().map(|queue| {
            let joins = joins.get(queue.as_str()).copied().unwrap_or(0);
            async move {
                let depth = self.count(queue.as_str()).await?;
                Ok(QueueCounters::of(queue, joins, depth))
            }
        });
        let counters: Vec<_> = counters.collect();
        stream::iter(counters).buffered(AT_ONCE).try_collect().await
    }

    async fn queue_names(&self) -> Result<Vec<QueueName>> {
        self.opened().await
    }

    async fn peek(&self, queue: &QueueName, order: Order, limit: u16) -> Result<Vec<QueueEntry>> {
        let query = self.whole(queue.as_str());
        let query = query.scan_index_forward(order == Order::Fifo);
        self.first(query, limit, |attributes| attributes.entry())
            .await
    }

    async fn call(&self, call: &CallId) -> Result<Option<CallRecord>> {
        let item = self.get(call_key(call)).await?;
        let read = |item| Attributes::of(item, GET).record();
        item.as_ref().map(read).transpose()
    }

    async fn lines(&self) -> Result<Vec<Line>> {
        self.all_lines().await
    }

    async fn open_line(&self, criteria: &Criteria, at: Micros) -> Result<()> {
        self.note_line(criteria, at).await
    }

    async fn close_line(&self, line: &Line) -> Result<()> {
        self.delete_line(line).await
    }

    async fn pending(&self) -> Result<Vec<LineDepth>> {
        let lines = self.all_lines().await?.into_iter();
        let counts: Vec<_> = lines
            .map(|Line { criteria, .. }| async move {
                let depth = self.count(&pending_partition(&criteria)).await?;
                Ok(LineDepth { criteria, depth })
            })
            .collect();
        stream::iter(counts).buffered(AT_ONCE).try_collect().await
    }

    async fn calls_in_line(&self, criteria: &Criteria, limit: u16) -> Result<Vec<Call>> {
        let query = self.whole(&pending_partition(criteria));
        self.first(query, limit, |attributes| attributes.call())
            .await
    }

    async fn leases(
        &self,
        after: Option<&CallLease>,
        until: Micros,
        limit: u16,
    ) -> Result<Vec<CallLease>> {
        let after = after.map(|lease| lease_key(lease).1);
        let mut leases = self
            .stripes(schema::LEASES, after, until, limit, |item| item.lease())
            .await?;
        leases.sort_by_cached_key(|lease| lease_key(lease).1);
        leases.truncate(limit.into());
        Ok(leases)
    }

    async fn lease(&self, lease: &CallLease) -> Result<Option<CallLease>> {
        let item = self.get(lease_key(lease)).await?;
        let read = |item| Attributes::of(item, GET).lease();
        item.as_ref().map(read).transpose()
    }

    async fn outbox_entries(
        &self,
        after: Option<&OutboxEntry>,
        until: Micros,
        limit: u16,
    ) -> Result<Vec<OutboxEntry>> {
        let after = after.map(OutboxEntry::sort_key);
        let mut outbox = self
            .stripes(schema::OUTBOX, after, until, limit, |item| {
                item.outbox_entry()
            })
            .await?;
        outbox.sort_by_cached_key(OutboxEntry::sort_key);
        outbox.truncate(limit.into());
        Ok(outbox)
    }

    async fn delete_published(&self, outbox: &[OutboxEntry]) -> Result<()> {
        self.forget(outbox).await
    }
}
