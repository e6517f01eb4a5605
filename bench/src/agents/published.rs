//! The published sample's method, implemented again from its description. It reads a snapshot of
//! all queues' versions, then the whole queue. One transaction then depends on those versions.
//!
//! The sample fails when its transaction is cancelled. Here it starts again until it succeeds, with
//! the pauses of a lane ([`pause`]). The calls of a batch start all at once, as in a lane.

use std::collections::HashMap;
use std::sync::Arc;

use agent_queue::lane::pause;
use agent_queue::schema::{
    AGENT_NAME, AGENT_STATUS, ALL_AGENTS, ALL_QUEUES, PK, QUEUE_DEPTH, QUEUE_VERSION, SK,
};
use agent_queue::time::Clock;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{BuildError, SdkError};
use aws_sdk_dynamodb::operation::transact_get_items::TransactGetItemsError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    AttributeValue, Delete, Get, Put, TransactGetItem, TransactWriteItem, Update,
};
use simulator::dynamodb::AGENT_TABLE;

use super::crowd::{Person, Wish, all_queues, queue};
use crate::Error;

const LANGUAGES: &str = "Languages";
const GENDER: &str = "Gender";

/// An item or its key, as the client represents it.
pub(super) type Item = HashMap<String, AttributeValue>;

/// One process of the published sample.
pub(super) struct Published {
    client: Client,
    clock: Arc<dyn Clock>,
}

/// The reason why an attempt ended early.
enum Broken {
    /// The transaction met another one, or a version had changed.
    Cancelled,
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Broken {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl Published {
    pub(super) fn new(client: Client, clock: Arc<dyn Clock>) -> Self {
        Self { client, clock }
    }

    /// Every queue's version, as one snapshot.
    async fn versions(&self) -> Result<HashMap<String, String>, Broken> {
        let queues = all_queues();
        let gets: Result<Vec<_>, BuildError> = queues
            .iter()
            .map(|queue| {
                let get = Get::builder().table_name(AGENT_TABLE);
                let get = get.set_key(Some(key(ALL_QUEUES, queue))).build()?;
                Ok(TransactGetItem::builder().get(get).build())
            })
            .collect();
        let request = self
            .client
            .transact_get_items()
            .set_transact_items(Some(gets?));
        let answer = match request.send().await {
            Ok(answer) => answer,
            Err(error) if was_cancelled_read(&error) => return Err(Broken::Cancelled),
            Err(error) => return Err(error.into()),
        };
        let version = |item: &Item| item.get(QUEUE_VERSION)?.as_n().ok().cloned();
        let versions = answer.responses().iter().map(|response| {
            let version = response.item().and_then(version);
            version.ok_or_else(|| Error::from("a queue without a version"))
        });
        let versions: Result<Vec<_>, _> = versions.collect();
        Ok(queues.into_iter().zip(versions?).collect())
    }

    /// The whole queue, longest queued first.
    pub(super) async fn whole_queue(&self, queue: &str) -> Result<Vec<Item>, Error> {
        let mut items = vec![];
        let mut after = None;
        loop {
            let query = self.client.query().table_name(AGENT_TABLE);
            let page = query
                .consistent_read(true)
                .key_condition_expression("pk = :pk")
                .expression_attribute_values(":pk", text(queue))
                .set_exclusive_start_key(after)
                .send()
                .await?;
            items.extend(page.items.unwrap_or_default());
            after = page.last_evaluated_key;
            if after.is_none() {
                return Ok(items);
            }
        }
    }

    async fn try_match(&self, wish: Wish) -> Result<(), Broken> {
        let versions = self.versions().await?;
        let waiting = self.whole_queue(&wish.queue()).await?;
        let Some(first) = waiting.first() else {
            let nobody = format!("a call for {} found no agent", wish.queue());
            return Err(Broken::Failed(nobody.into()));
        };
        let (name, since) = (attribute(first, AGENT_NAME)?, attribute(first, SK)?);
        let gender = attribute(first, GENDER)?;
        let languages = first.get(LANGUAGES).and_then(|value| value.as_ss().ok());
        let mut actions = vec![set_status(name, "attendingCall")?];
        for language in languages.ok_or("an agent without languages")? {
            let queue = queue(language, gender);
            let delete = Delete::builder().table_name(AGENT_TABLE);
            let delete = delete.set_key(Some(key(&queue, since))).build()?;
            actions.push(TransactWriteItem::builder().delete(delete).build());
            actions.push(count(&queue, &versions, "-1")?);
        }
        self.transact(actions).await
    }

    async fn try_enqueue(&self, person: &Person) -> Result<(), Broken> {
        let versions = self.versions().await?;
        let since = self.clock.now().to_string();
        let mut actions = vec![set_status(&person.name, "queued")?];
        for queue in person.queues() {
            let put = Put::builder().table_name(AGENT_TABLE);
            let put = put.set_item(Some(entry(&queue, &since, person))).build()?;
            actions.push(TransactWriteItem::builder().put(put).build());
            actions.push(count(&queue, &versions, "1")?);
        }
        self.transact(actions).await
    }

    async fn transact(&self, actions: Vec<TransactWriteItem>) -> Result<(), Broken> {
        let request = self.client.transact_write_items();
        match request.set_transact_items(Some(actions)).send().await {
            Ok(_) => Ok(()),
            Err(error) if was_cancelled(&error) => Err(Broken::Cancelled),
            Err(error) => Err(error.into()),
        }
    }
}

impl Published {
    /// Writes the agents, not yet queued, and the counters of all queues.
    pub(super) async fn register(&self, people: &[Person]) -> Result<(), Error> {
        let zero = || AttributeValue::N("0".to_owned());
        for queue in all_queues() {
            let put = self.client.put_item().table_name(AGENT_TABLE);
            put.set_item(Some(key(ALL_QUEUES, &queue)))
                .item(QUEUE_VERSION, zero())
                .item(QUEUE_DEPTH, zero())
                .send()
                .await?;
        }
        for person in people {
            let put = self.client.put_item().table_name(AGENT_TABLE);
            put.set_item(Some(agent_key(&person.name)))
                .item(AGENT_NAME, text(&person.name))
                .item(AGENT_STATUS, text("available"))
                .item(LANGUAGES, texts(&person.languages))
                .item(GENDER, text(person.gender))
                .send()
                .await?;
        }
        Ok(())
    }

    /// Queues an agent, repeating the attempt until it succeeds.
    pub(super) async fn enqueue(&self, person: &Person) -> Result<(), Error> {
        until_done(|| self.try_enqueue(person)).await
    }

    /// Matches a call, repeating the attempt until it succeeds.
    pub(super) async fn match_wish(&self, wish: Wish) -> Result<(), Error> {
        until_done(|| self.try_match(wish)).await
    }
}

/// Repeats the attempt after each cancellation, without a limit.
async fn until_done<F: Future<Output = Result<(), Broken>>>(
    attempt: impl Fn() -> F,
) -> Result<(), Error> {
    let mut losses = 0_u32;
    loop {
        match attempt().await {
            Ok(()) => return Ok(()),
            Err(Broken::Failed(error)) => return Err(error),
            Err(Broken::Cancelled) => losses = losses.saturating_add(1),
        }
        pause(losses).await;
    }
}

fn was_cancelled(error: &SdkError<TransactWriteItemsError>) -> bool {
    let error = error.as_service_error();
    error.is_some_and(TransactWriteItemsError::is_transaction_canceled_exception)
}

fn was_cancelled_read(error: &SdkError<TransactGetItemsError>) -> bool {
    let error = error.as_service_error();
    error.is_some_and(TransactGetItemsError::is_transaction_canceled_exception)
}

/// An entry of a queue. Its sort key is only the time.
pub(super) fn entry(queue: &str, since: &str, person: &Person) -> Item {
    let mut item = key(queue, since);
    item.insert(AGENT_NAME.to_owned(), text(&person.name));
    item.insert(LANGUAGES.to_owned(), texts(&person.languages));
    item.insert(GENDER.to_owned(), text(person.gender));
    item
}

/// Increases the version by one and the depth by `by`, if the version is that of the snapshot.
fn count(
    queue: &str,
    versions: &HashMap<String, String>,
    by: &str,
) -> Result<TransactWriteItem, Broken> {
    let seen = versions.get(queue).ok_or("a queue without a version")?;
    let number = |digits: &str| AttributeValue::N(digits.to_owned());
    let update = Update::builder()
        .table_name(AGENT_TABLE)
        .set_key(Some(key(ALL_QUEUES, queue)))
        .update_expression("ADD QueueVersionId :one, QueueDepth :by")
        .condition_expression("QueueVersionId = :seen")
        .expression_attribute_values(":one", number("1"))
        .expression_attribute_values(":by", number(by))
        .expression_attribute_values(":seen", number(seen));
    Ok(TransactWriteItem::builder().update(update.build()?).build())
}

/// Sets the status without a condition on it, because only the versions guard it.
fn set_status(name: &str, status: &str) -> Result<TransactWriteItem, BuildError> {
    let update = Update::builder()
        .table_name(AGENT_TABLE)
        .set_key(Some(agent_key(name)))
        .update_expression("SET AgentStatus = :status")
        .expression_attribute_values(":status", text(status));
    Ok(TransactWriteItem::builder().update(update.build()?).build())
}

fn agent_key(name: &str) -> Item {
    key(ALL_AGENTS, &format!("Agent#{name}"))
}

fn key(partition: &str, sort: &str) -> Item {
    let pair = |name: &str, value| (name.to_owned(), text(value));
    Item::from([pair(PK, partition), pair(SK, sort)])
}

fn attribute<'a>(item: &'a Item, name: &str) -> Result<&'a str, Error> {
    let value = item.get(name).and_then(|value| value.as_s().ok());
    value
        .map(String::as_str)
        .ok_or_else(|| format!("an entry without {name}").into())
}

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

fn texts(values: &[&str]) -> AttributeValue {
    AttributeValue::Ss(values.iter().map(|value| (*value).to_owned()).collect())
}
