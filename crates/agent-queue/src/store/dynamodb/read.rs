//! What the store reads, and the trait's methods.

use std::collections::HashMap;

use async_trait::async_trait;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;

use super::DynamoStore;
use super::error::store_error;
use super::item::{Attributes, Item, key, string};
use crate::agent::Agent;
use crate::call::{Call, CallRecord, Notice};
use crate::change::{
    CallLease, Change, Key, QueueEntry, Step, agent_key, call_key, waiting_partition,
};
use crate::criteria::{Criteria, QueueName};
use crate::name::{AgentId, CallId};
use crate::schema;
use crate::store::{
    AgentPage, AgentStore, Committed, Order, QueueCounters, StoreError, WaitingCount,
};
use crate::time::Micros;

const GET: &str = "GetItem";
const QUERY: &str = "Query";

/// An exclusive start key, as the client has it.
type StartKey = HashMap<String, AttributeValue>;

impl DynamoStore {
    async fn get(&self, at: Key) -> Result<Option<Item>, StoreError> {
        let request = self
            .client
            .get_item()
            .table_name(&self.table)
            .set_key(Some(key(at)))
            .consistent_read(true);
        let answer = request.send().await.map_err(|e| store_error(GET, e))?;
        Ok(answer.item)
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

    /// The items behind a key and before a moment.
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
    ) -> Result<(Vec<Item>, Option<StartKey>), StoreError> {
        let query = query.limit(limit.into());
        let answer = query.send().await.map_err(|e| store_error(QUERY, e))?;
        Ok((answer.items.unwrap_or_default(), answer.last_evaluated_key))
    }

    /// The first items that can be read, at most `limit`. It reads no item more than that, except
    /// for each item that cannot be read another one behind it.
    async fn first<T>(
        &self,
        query: QueryFluentBuilder,
        limit: u16,
        read: impl Fn(Attributes<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
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

    /// Every item of a partition that has one for each queue or criteria there is.
    async fn all(&self, partition: &str) -> Result<Vec<Item>, StoreError> {
        let mut items = vec![];
        let mut start = None;
        loop {
            let query = self.whole(partition).set_exclusive_start_key(start);
            let answer = query.send().await.map_err(|e| store_error(QUERY, e))?;
            items.extend(answer.items.unwrap_or_default());
            start = answer.last_evaluated_key;
            if start.is_none() {
                return Ok(items);
            }
        }
    }
}

/// Reads each item. One that cannot be read is reported and left out, so that it never blocks
/// those beside it.
fn readable<T>(items: &[Item], read: impl Fn(Attributes<'_>) -> Result<T, StoreError>) -> Vec<T> {
    let read = |item| match read(Attributes::of(item, QUERY)) {
        Ok(value) => Some(value),
        Err(error) => {
            tracing::error!(%error, "left out");
            None
        }
    };
    items.iter().filter_map(read).collect()
}

#[async_trait]
impl AgentStore for DynamoStore {
    async fn commit(&self, change: &Change) -> Result<Committed, StoreError> {
        self.transact(change).await
    }

    async fn agent(&self, agent: &AgentId) -> Result<Option<Agent>, StoreError> {
        let item = self.get(agent_key(agent)).await?;
        let read = |item| Attributes::of(item, GET).agent(&self.dimensions);
        item.as_ref().map(read).transpose()
    }

    async fn agents(&self, after: Option<&AgentId>, limit: u16) -> Result<AgentPage, StoreError> {
        let start = after.map(|after| key(agent_key(after)));
        let query = self.whole(schema::ALL_AGENTS);
        let query = query.set_exclusive_start_key(start);
        let (items, next) = self.page(query, limit).await?;
        let next = next.and_then(|next| {
            let sort = next.get(schema::SK)?.as_s().ok()?;
            let id = sort.strip_prefix(schema::AGENT_PREFIX)?;
            Some(AgentId::from_stored(id))
        });
        let agents = readable(&items, |attributes| attributes.agent(&self.dimensions));
        Ok(AgentPage { agents, next })
    }

    async fn queues(&self) -> Result<Vec<QueueCounters>, StoreError> {
        let items = self.all(schema::ALL_QUEUES).await?;
        Ok(readable(&items, |attributes| {
            Ok(QueueCounters {
                queue: QueueName::from_stored(attributes.sort_key()?),
                version: attributes.number(schema::QUEUE_VERSION)?,
                depth: attributes.depth(schema::QUEUE_DEPTH)?,
            })
        }))
    }

    async fn peek(
        &self,
        queue: &QueueName,
        order: Order,
        limit: u16,
    ) -> Result<Vec<QueueEntry>, StoreError> {
        let query = self.whole(queue.as_str());
        let query = query.scan_index_forward(order == Order::Fifo);
        self.first(query, limit, |attributes| attributes.entry())
            .await
    }

    async fn call(&self, call: &CallId) -> Result<Option<CallRecord>, StoreError> {
        let item = self.get(call_key(call)).await?;
        let read = |item| Attributes::of(item, GET).record();
        item.as_ref().map(read).transpose()
    }

    async fn waiting(&self) -> Result<Vec<WaitingCount>, StoreError> {
        let items = self.all(schema::ALL_CRITERIA).await?;
        Ok(readable(&items, |attributes| {
            let sort = attributes.sort_key()?;
            let criteria = sort.strip_prefix(schema::CRITERIA_PREFIX);
            Ok(WaitingCount {
                criteria: Criteria::from_stored(criteria.unwrap_or(sort)),
                depth: attributes.depth(schema::WAITING_DEPTH)?,
            })
        }))
    }

    async fn waiting_calls(
        &self,
        criteria: &Criteria,
        limit: u16,
    ) -> Result<Vec<Call>, StoreError> {
        let query = self.whole(&waiting_partition(criteria));
        self.first(query, limit, |attributes| attributes.call())
            .await
    }

    async fn leases(
        &self,
        after: Option<&CallLease>,
        until: Micros,
        limit: u16,
    ) -> Result<Vec<CallLease>, StoreError> {
        let after = after.map(|lease| Step::Unlease(lease.clone()).key());
        let query = self.before(schema::LEASES, after, until);
        self.first(query, limit, |attributes| attributes.lease())
            .await
    }

    async fn notices(
        &self,
        after: Option<&Notice>,
        until: Micros,
        limit: u16,
    ) -> Result<Vec<Notice>, StoreError> {
        let after = after.map(|notice| (schema::OUTBOX.to_owned(), notice.sort_key()));
        let query = self.before(schema::OUTBOX, after, until);
        self.first(query, limit, |attributes| attributes.notice())
            .await
    }

    async fn told(&self, notices: &[Notice]) -> Result<(), StoreError> {
        self.forget(notices).await
    }

    async fn adopt(&self) -> Result<u32, StoreError> {
        self.adopt_all().await
    }
}
