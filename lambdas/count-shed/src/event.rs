//! Parses the event of `count-shed`, a batch from the table's stream.
//!
//! Reads each record separately and only its required fields, so that an invalid record does not
//! block the others.

use aws_lambda_events::streams::{DynamoDbBatchItemFailure, DynamoDbEventResponse};
use functions::event::EventError;
use lifo_queue::ended::EndedTask;
use lifo_queue::schema::REVIVED;
use lifo_queue::shed::{NotShed, ShedTask};
use serde_json::Value;

const STREAM: &str = "records of the task table's stream";

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Batch {
    pub(crate) records: usize,
    /// The shed tasks, earliest deletion first.
    pub(crate) tasks: Vec<ShedTask>,
    /// The tasks that ended as SUCCESS or FAILURE, in the order in which they ended.
    pub(crate) ended: Vec<EndedTask>,
    /// Index of each shed task's record in the batch.
    shed_at: Vec<usize>,
    /// Index of each ended task's record in the batch.
    ended_at: Vec<usize>,
    sequence_numbers: Vec<Option<String>>,
}

/// The error for a failed record without a sequence number. Lambda cannot retry from such a record,
/// so the function fails, and Lambda retries the whole batch.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("a task was not sent to its queue, and its record has no SequenceNumber to retry from")]
pub(crate) struct NoSequenceNumber;

impl Batch {
    /// Returns the record index of the first ended task after the first `published` ones.
    pub(crate) fn unpublished(&self, published: usize) -> Option<usize> {
        self.ended_at.get(published).copied()
    }

    pub(crate) fn shed_before(&self, record: Option<usize>) -> &[ShedTask] {
        let before = |end| self.shed_at.partition_point(|at| *at < end);
        &self.tasks[..record.map_or(self.tasks.len(), before)]
    }

    pub(crate) fn record_of_shed(&self, task: usize) -> Option<usize> {
        self.shed_at.get(task).copied()
    }

    /// Creates the response, which makes Lambda retry all records from this one on, or none.
    ///
    /// Lambda retries a stream's batch from the lowest sequence number in the response
    /// (<https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html>).
    pub(crate) fn response(
        &self,
        again_from: Option<usize>,
    ) -> Result<DynamoDbEventResponse, NoSequenceNumber> {
        let mut response = DynamoDbEventResponse::default();
        if let Some(first) = again_from {
            let number = self.sequence_numbers.get(first).cloned().flatten();
            let mut failure = DynamoDbBatchItemFailure::default();
            failure.item_identifier = Some(number.ok_or(NoSequenceNumber)?);
            response.batch_item_failures.push(failure);
        }
        Ok(response)
    }

    fn add(&mut self, record: &Value) {
        let change = &record["dynamodb"];
        let sequence_number = change["SequenceNumber"].as_str();
        if is_deleted_by_ttl(record) || replaces_expired(record) {
            match ShedTask::from_image(&change["Keys"], &change["OldImage"]) {
                Ok(task) => {
                    self.tasks.push(task);
                    self.shed_at.push(self.records);
                }
                Err(NotShed::OwnItem | NotShed::Settled(_)) => {}
                Err(reason @ NotShed::NoStatus) => {
                    tracing::warn!(sequence_number, %reason, "deleted item is not counted");
                }
            }
        }
        if let Some(task) = EndedTask::from_images(&change["OldImage"], &change["NewImage"]) {
            self.ended.push(task);
            self.ended_at.push(self.records);
        }
        self.sequence_numbers
            .push(sequence_number.map(str::to_owned));
        self.records += 1;
    }
}

/// Reads the shed and the ended tasks in a batch from the stream.
///
/// # Errors
/// [`EventError`] when no record is from a DynamoDB stream.
pub(crate) fn read(event: &Value) -> Result<Batch, EventError> {
    let records = event["Records"].as_array();
    let records = records
        .filter(|records| records.iter().any(is_from_stream))
        .ok_or_else(|| EventError::unexpected(event, STREAM))?;
    let mut batch = Batch::default();
    for record in records {
        batch.add(record);
    }
    Ok(batch)
}

fn is_from_stream(record: &Value) -> bool {
    record["eventSource"] == "aws:dynamodb" || record["dynamodb"].is_object()
}

/// Whether DynamoDB's time to live deleted the item. The record then has the service's identity
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_Record.html>). A
/// deletion by an operator or a program has no identity. Neither does a deletion that a global
/// table replicates from another Region, where it is counted
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ttl-expired-items.html>).
///
/// The event source mapping's filter has the same condition; it is checked here too.
fn is_deleted_by_ttl(record: &Value) -> bool {
    let identity = &record["userIdentity"];
    record["eventName"] == "REMOVE"
        && identity["type"] == "Service"
        && identity["principalId"] == "dynamodb.amazonaws.com"
}

/// Returns whether a newer state of a key superseded an expired one. In that case, the put sets a
/// mark, which the next take deletes.
fn replaces_expired(record: &Value) -> bool {
    let mark = |image: &str| record["dynamodb"][image][REVIVED]["S"].as_str();
    record["eventName"] == "MODIFY"
        && mark("NewImage").is_some_and(|put| mark("OldImage") != Some(put))
}

#[cfg(test)]
mod tests;
