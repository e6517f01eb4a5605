//! Index reads.

use aws::store_error::store_error;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;

use super::DynamoStore;
use super::item::{self, number, string};
use crate::schema;
use crate::store::{Order, Page, PageQuery, StoreError, TakenPage};
use crate::task::TTL_REACH;

impl DynamoStore {
    pub(super) async fn read_pending(&self, query: &PageQuery) -> Result<Page, StoreError> {
        let read = self
            .index_page(query)?
            // The filter is negated, so that items with a missing or non-numeric `ttl` are visible
            // and can be adopted or quarantined. The second term does the same for items whose
            // `ttl` is too old for DynamoDB to delete them.
            .filter_expression("NOT (#ttl <= :now) OR #ttl < :reach")
            .projection_expression("taskId, taskCreated, #ttl, notBefore, leaseToken, attempts")
            .expression_attribute_names("#ttl", schema::TTL)
            .expression_attribute_values(":now", number(query.now.floor_seconds().0))
            .expression_attribute_values(
                ":reach",
                number(query.now.minus(TTL_REACH).floor_seconds().0),
            );
        let output = read
            .send()
            .await
            .map_err(|error| store_error("Query", error))?;
        Ok(Page {
            candidates: output
                .items()
                .iter()
                .map(item::candidate)
                .collect::<Result<_, _>>()?,
            next: output.last_evaluated_key().map(item::cursor).transpose()?,
        })
    }

    pub(super) async fn read_taken(&self, query: &PageQuery) -> Result<TakenPage, StoreError> {
        let read = self
            .index_page(query)?
            .projection_expression("taskId, leaseToken, leaseUntil, attempts");
        let output = read
            .send()
            .await
            .map_err(|error| store_error("Query", error))?;
        Ok(TakenPage {
            leases: output
                .items()
                .iter()
                .filter_map(item::standing_lease)
                .collect(),
            next: output.last_evaluated_key().map(item::cursor).transpose()?,
        })
    }

    fn index_page(&self, query: &PageQuery) -> Result<QueryFluentBuilder, StoreError> {
        query.check()?;
        let start = query
            .after
            .as_ref()
            .map(|cursor| item::start_key(cursor, query.status));
        let read = self
            .client
            .query()
            .table_name(&self.table)
            .index_name(schema::INDEX)
            .expression_attribute_values(":status", string(query.status))
            .scan_index_forward(query.order == Order::OldestFirst)
            .limit(i32::from(query.limit))
            .set_exclusive_start_key(start);
        Ok(match query.created_from {
            None => read.key_condition_expression("taskStatus = :status"),
            Some(from) => read
                .key_condition_expression("taskStatus = :status AND taskCreated >= :from")
                .expression_attribute_values(":from", number(from.0)),
        })
    }
}
