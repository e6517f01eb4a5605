//! Composes a transaction from a change: each step is an operation of `TransactWriteItems`, with
//! its condition
//! (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html>).

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{
    AttributeValue, Delete, Put, ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update,
};

use super::item::{
    Item, agent_item, call_item, entry_item, key, lease_item, notice_item, number,
    profile_attributes, record_item, state_attributes, string,
};
use crate::agent::{AgentChange, InCall, Ticket};
use crate::call::CallRecord;
use crate::dimension::Dimensions;
use crate::schema;
use crate::transaction::{Before, Key, Step};

pub(super) struct Composer<'a> {
    pub(super) table: &'a str,
    pub(super) dimensions: &'a Dimensions,
}

impl Composer<'_> {
    pub(super) fn operation(&self, step: &Step) -> Result<TransactWriteItem, BuildError> {
        let at = step.key();
        match step {
            Step::NewAgent(agent) => self.put(
                at,
                agent_item(agent, self.dimensions),
                Some("attribute_not_exists(pk)"),
            ),
            Step::Agent(change) => self.agent(at, change),
            Step::OpenQueue(_) => self.open_queue(at),
            Step::Join(entry) => self.put(
                at,
                owned(entry_item(entry)),
                Some("attribute_not_exists(pk)"),
            ),
            Step::Leave(_) | Step::Unwait(_) | Step::Unlease(_) => self.delete(at),
            Step::Discard(entry) => self.discard(at, entry.ticket),
            Step::Call(before, record) => self.call(at, *before, record),
            Step::Wait(call) => self.put(at, owned(call_item(call)), None),
            Step::Lease(lease) => self.put(at, owned(lease_item(lease)), None),
            Step::OutboxEntry(entry) => self.put(at, owned(notice_item(entry)), None),
            Step::Published(_) => self.absent(at),
        }
    }

    fn put(
        &self,
        at: Key,
        attributes: Vec<(String, AttributeValue)>,
        condition: Option<&str>,
    ) -> Result<TransactWriteItem, BuildError> {
        let item: Item = key(at).into_iter().chain(attributes).collect();
        let put = Put::builder()
            .table_name(self.table)
            .set_item(Some(item))
            .set_condition_expression(condition.map(str::to_owned))
            .set_return_values_on_condition_check_failure(
                condition.map(|_| ReturnValuesOnConditionCheckFailure::AllOld),
            );
        Ok(TransactWriteItem::builder().put(put.build()?).build())
    }

    fn delete(&self, at: Key) -> Result<TransactWriteItem, BuildError> {
        let delete = Delete::builder()
            .table_name(self.table)
            .set_key(Some(key(at)));
        Ok(TransactWriteItem::builder().delete(delete.build()?).build())
    }

    /// Requires that an item does not exist. Unlike a condition check, a deletion needs no
    /// additional permission.
    fn absent(&self, at: Key) -> Result<TransactWriteItem, BuildError> {
        let delete = Delete::builder()
            .table_name(self.table)
            .set_key(Some(key(at)))
            .condition_expression("attribute_not_exists(pk)");
        Ok(TransactWriteItem::builder().delete(delete.build()?).build())
    }

    fn discard(&self, at: Key, ticket: Ticket) -> Result<TransactWriteItem, BuildError> {
        let delete = Delete::builder()
            .table_name(self.table)
            .set_key(Some(key(at)))
            .condition_expression("Ticket = :ticket")
            .expression_attribute_values(":ticket", string(ticket));
        Ok(TransactWriteItem::builder().delete(delete.build()?).build())
    }

    fn call(
        &self,
        at: Key,
        before: Before,
        record: &CallRecord,
    ) -> Result<TransactWriteItem, BuildError> {
        let attributes = owned(record_item(record));
        let item: Item = key(at).into_iter().chain(attributes).collect();
        let put = Put::builder()
            .table_name(self.table)
            .set_item(Some(item))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let put = match before {
            Before::New => put.condition_expression("attribute_not_exists(pk)"),
            Before::Pending if record.call.unanswered == 0 => put
                .condition_expression("CallStatus = :pending AND attribute_not_exists(Assignment)")
                .expression_attribute_values(":pending", string(schema::PENDING)),
            Before::Pending => put
                .condition_expression("CallStatus = :pending AND Assignment = :unanswered")
                .expression_attribute_values(":pending", string(schema::PENDING))
                .expression_attribute_values(":unanswered", number(record.call.unanswered)),
            Before::Assigned(ticket) => put
                .condition_expression("CallStatus = :assigned AND Ticket = :by")
                .expression_attribute_values(":assigned", string("assigned"))
                .expression_attribute_values(":by", string(ticket)),
        };
        Ok(TransactWriteItem::builder().put(put.build()?).build())
    }

    /// Updates an agent under the conditions of the change. Sets the attributes of the new state
    /// and removes those of other states. The agent's item counts the agent's joins, because a
    /// shared item for all counters would grow with the number of queues.
    fn agent(&self, at: Key, change: &AgentChange) -> Result<TransactWriteItem, BuildError> {
        let mut condition = "AgentStatus = :from AND Ticket = :ticket".to_owned();
        let mut update = Update::builder()
            .table_name(self.table)
            .set_key(Some(key(at)))
            .expression_attribute_values(":from", string(change.from))
            .expression_attribute_values(":ticket", string(change.ticket))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        if let Some(InCall { call, until }) = &change.in_call {
            condition.push_str(" AND CallID = :inCall");
            update = update.expression_attribute_values(":inCall", string(call));
            if let Some(until) = until {
                condition.push_str(" AND LeaseUntil = :until");
                update = update.expression_attribute_values(":until", string(until));
            } else {
                condition.push_str(" AND attribute_not_exists(LeaseUntil)");
            }
        }
        let mut becomes: Vec<(String, AttributeValue)> =
            vec![(schema::AGENT_STATUS.to_owned(), string(change.to.status()))];
        if let Some(ticket) = change.fresh_ticket {
            becomes.push((schema::TICKET.to_owned(), string(ticket)));
        }
        let state = state_attributes(&change.to);
        let gone = [
            schema::AVAILABLE_SINCE,
            schema::QUEUED_AT,
            schema::QUEUES,
            schema::CALL_ID,
            schema::LEASE_UNTIL,
            schema::ANSWER_BY,
        ];
        let gone: Vec<_> = gone
            .into_iter()
            .filter(|name| state.iter().all(|(kept, _)| kept != name))
            .collect();
        becomes.extend(owned(state));
        if let Some((name, profile)) = &change.profile {
            becomes.extend(profile_attributes(name, profile, self.dimensions));
        }
        let mut sets = vec![];
        for (n, (name, value)) in becomes.into_iter().enumerate() {
            sets.push(format!("#s{n} = :s{n}"));
            update = update
                .expression_attribute_names(format!("#s{n}"), name)
                .expression_attribute_values(format!(":s{n}"), value);
        }
        let mut expression = format!("SET {} REMOVE {}", sets.join(", "), gone.join(", "));
        let mut adds = vec![];
        for (n, queue) in change.joins().iter().enumerate() {
            adds.push(format!("#q{n} :one"));
            update = update.expression_attribute_names(format!("#q{n}"), queue.as_str());
        }
        if !adds.is_empty() {
            expression.push_str(&format!(" ADD {}", adds.join(", ")));
            update = update.expression_attribute_values(":one", number(1));
        }
        let update = update
            .update_expression(expression)
            .condition_expression(condition);
        Ok(TransactWriteItem::builder().update(update.build()?).build())
    }

    fn open_queue(&self, at: Key) -> Result<TransactWriteItem, BuildError> {
        // ADD of 0 creates missing counters and does not change existing ones.
        let update = Update::builder()
            .table_name(self.table)
            .set_key(Some(key(at)))
            .update_expression("ADD QueueVersionId :zero, QueueDepth :zero")
            .expression_attribute_values(":zero", number(0));
        Ok(TransactWriteItem::builder().update(update.build()?).build())
    }
}

fn owned(attributes: Vec<(&str, AttributeValue)>) -> Vec<(String, AttributeValue)> {
    let own = |(name, value): (&str, _)| (name.to_owned(), value);
    attributes.into_iter().map(own).collect()
}
