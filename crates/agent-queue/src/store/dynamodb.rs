//! The store on DynamoDB. Every change is one `TransactWriteItems`. Reads are strongly consistent
//! `Query` and `GetItem` requests.

mod agents;
mod item;
mod line;
mod read;
mod transact;

use aws::store_error::store_error;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{CancellationReason, DeleteRequest, WriteRequest};

use self::item::{Attributes, key};
use self::transact::Composer;
use super::{Committed, Rejection, Result, StoreError, There};
use crate::call::{CallRecord, CallState, OutboxEntry};
use crate::dimension::Dimensions;
use crate::transaction::{Change, Step, outbox_key};

#[derive(Clone, Debug)]
pub struct DynamoStore {
    client: Client,
    table: String,
    dimensions: Dimensions,
}

/// Maximum number of items per `BatchWriteItem` request
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html>).
const MAX_BATCH: usize = 25;

const TRANSACT: &str = "TransactWriteItems";
const BATCH: &str = "BatchWriteItem";

/// Converts a builder's error, which occurs only if a required field is not set. Here, all are set.
fn incomplete(operation: &'static str, source: BuildError) -> StoreError {
    StoreError::Rejected {
        operation,
        code: "incomplete".to_owned(),
        source: Box::new(source),
    }
}

impl DynamoStore {
    /// Creates the store on `table`, whose agents have these dimensions. The client can retry
    /// requests, because every change has its own token.
    pub fn new(client: Client, table: impl Into<String>, dimensions: Dimensions) -> Self {
        Self {
            client,
            table: table.into(),
            dimensions,
        }
    }

    async fn transact(&self, change: &Change) -> Result<Committed> {
        let composer = Composer {
            table: &self.table,
            dimensions: &self.dimensions,
        };
        let mut request = self
            .client
            .transact_write_items()
            .client_request_token(change.token.to_string());
        for step in &change.steps {
            let operation = composer.operation(step);
            let operation = operation.map_err(|e| incomplete(TRANSACT, e))?;
            request = request.transact_items(operation);
        }
        let Err(error) = request.send().await else {
            return Ok(Committed::Done);
        };
        match error.as_service_error() {
            Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => {
                match self.cancelled(change, cancelled.cancellation_reasons())? {
                    Some(committed) => Ok(committed),
                    None => Err(StoreError::Throttled {
                        operation: TRANSACT,
                        source: Box::new(error),
                    }),
                }
            }
            _ => Err(store_error(TRANSACT, error)),
        }
    }

    /// Returns the result of a cancelled transaction, from its cancellation reasons, one per step.
    /// A failed condition takes precedence over a conflict, because a retry would not help. Returns
    /// `None` if the cause is throttling.
    fn cancelled(
        &self,
        change: &Change,
        reasons: &[CancellationReason],
    ) -> Result<Option<Committed>> {
        let mut rejected = vec![];
        let mut conflict = false;
        for (step, reason) in reasons.iter().enumerate() {
            match reason.code() {
                Some("ConditionalCheckFailed") => {
                    let there = self.there(change.steps.get(step), reason);
                    rejected.push(Rejection { step, there });
                }
                Some("TransactionConflict") => conflict = true,
                None | Some("None" | "ThrottlingError" | "ProvisionedThroughputExceeded") => {}
                Some(code) => {
                    let message = reason.message().unwrap_or_default();
                    return Err(StoreError::Rejected {
                        operation: TRANSACT,
                        code: code.to_owned(),
                        source: format!("step {step}: {message}").into(),
                    });
                }
            }
        }
        Ok(if !rejected.is_empty() {
            Some(Committed::Rejected(rejected))
        } else if conflict {
            Some(Committed::Conflict)
        } else {
            None
        })
    }

    /// Returns the stored agent or call, if the step concerns one. An unreadable agent does not
    /// count as the step's agent, and an unreadable call counts as ended.
    fn there(&self, step: Option<&Step>, reason: &CancellationReason) -> Option<There> {
        let item = reason.item().filter(|item| !item.is_empty())?;
        let attributes = Attributes::of(item, TRANSACT);
        let unreadable = |error: &StoreError| tracing::error!(%error, "unreadable item skipped");
        match step? {
            Step::NewAgent(_) | Step::Agent(_) => {
                let agent = attributes.agent(&self.dimensions);
                let agent = agent.inspect_err(unreadable).ok()?;
                Some(There::Agent(Box::new(agent)))
            }
            Step::Call(_, record) => {
                let there = attributes.record().inspect_err(unreadable);
                let there = there.unwrap_or_else(|_| CallRecord {
                    call: record.call.clone(),
                    state: CallState::Unreadable,
                    ttl: None,
                });
                Some(There::Call(Box::new(there)))
            }
            _ => None,
        }
    }

    async fn forget(&self, outbox: &[OutboxEntry]) -> Result<()> {
        for outbox in outbox.chunks(MAX_BATCH) {
            let deletes = outbox.iter().map(|entry| {
                let at = key(outbox_key(entry));
                let delete = DeleteRequest::builder().set_key(Some(at)).build();
                delete.map(|delete| WriteRequest::builder().delete_request(delete).build())
            });
            let deletes: Result<Vec<_>, _> = deletes.collect();
            let deletes = deletes.map_err(|e| incomplete(BATCH, e))?;
            let request = self.client.batch_write_item();
            let request = request.request_items(&self.table, deletes);
            let response = request.send().await.map_err(|e| store_error(BATCH, e))?;
            // The sweep publishes unprocessed entries again, because delivery is at least once.
            let left = response.unprocessed_items.unwrap_or_default();
            if let Some(left) = left.get(&self.table).filter(|left| !left.is_empty()) {
                tracing::warn!(
                    left = left.len(),
                    "published entries not deleted from the outbox; the sweep publishes them again"
                );
            }
        }
        Ok(())
    }
}
