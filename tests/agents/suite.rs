//! # Test suites of the agents' queue
//!
//! The stores under test, and helpers that the suites share.
//!
//! | module | content |
//! |---|---|
//! | [`rows`] | the entire content of a store, in the format of the documented table |
//! | [`tally`] | invariants that hold for every table at all times |
//! | [`world`] | a queue, a fixed clock, and a recording publisher |
//! | [`watched`] | a store that records reads and can inject changes |
//! | [`reference`] | a reference queue, and a state machine that compares the stores with it |
//! | [`contended`] | transaction conflicts, in an order determined by a seed |
//! | [`game`] | one run of processes with conflicting transactions, and a batch of such runs |

pub mod contended;
pub mod game;
pub mod reference;
pub mod rows;
pub mod tally;
pub mod watched;
pub mod world;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agent_queue::agent::{Agent, Ticket};
use agent_queue::call::{Assignment, Call, ExpiredCall};
use agent_queue::criteria::{Criteria, QueueName};
use agent_queue::dimension::Dimensions;
use agent_queue::name::{AgentId, CallId};
use agent_queue::profile::Profile;
use agent_queue::store::dynamodb::DynamoStore;
use agent_queue::store::memory::MemoryStore;
use agent_queue::store::{AgentStore, Committed};
use agent_queue::time::Micros;
use agent_queue::transaction::{Change, QueueEntry};
use aws_sdk_dynamodb::Client;
use serde_json::{Value as Json, json};
use simulator::agents::embedded::Embedded;
use simulator::dynamodb::AGENT_TABLE;

/// The time at which the suites start.
pub const NOW: Micros = Micros(1_800_000_000_000_000);

pub fn at(micros: u64) -> Micros {
    NOW.plus(Duration::from_micros(micros))
}

pub fn memory() -> Arc<dyn AgentStore> {
    Arc::new(MemoryStore::new())
}

/// Creates a fresh DynamoDB store on an embedded DynamoDB.
pub fn dynamodb() -> Arc<dyn AgentStore> {
    Arc::new(store_of(embedded()))
}

/// Creates the DynamoDB store on a client's agents' table.
pub fn store_of(client: Client) -> DynamoStore {
    DynamoStore::new(client, AGENT_TABLE, Dimensions::default())
}

/// Creates a client for a fresh embedded DynamoDB that contains the agents' table.
pub fn embedded() -> Client {
    let embedded = Embedded::start();
    embedded.expect("the embedded DynamoDB starts").client()
}

/// Creates an agent id.
pub fn agent_id(id: &str) -> AgentId {
    AgentId::new(id).expect("an agent's id")
}

/// Creates a call id.
pub fn call_id(id: &str) -> CallId {
    CallId::new(id).expect("a call's id")
}

/// Creates a profile in the default dimensions.
pub fn profile(languages: &[&str], gender: &str) -> Profile {
    let attributes = json!({"language": languages, "gender": gender});
    let profile = Dimensions::default().profile(&fields(attributes));
    profile.expect("a profile")
}

/// Creates criteria in the default dimensions from their canonical text, such as `Spanish#*`.
pub fn criteria(text: &str) -> Criteria {
    let values = std::iter::zip(["language", "gender"], text.split('#'));
    let given = values.filter(|(_, value)| *value != "*");
    let given: BTreeMap<_, _> = given
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect();
    let criteria = Dimensions::default().criteria(&given).expect("criteria");
    assert_eq!(criteria.to_string(), text, "the canonical text");
    criteria
}

/// Creates a queue name from its values, such as `Spanish#M`.
pub fn queue(text: &str) -> QueueName {
    criteria(text).exact().expect("a value in each dimension")
}

fn fields(json: Json) -> BTreeMap<String, Json> {
    serde_json::from_value(json).expect("an object")
}

/// Creates an offline agent. Its name is the id in capitals.
pub fn agent(id: &str, languages: &[&str], gender: &str) -> Agent {
    Agent::new(agent_id(id), id.to_uppercase(), profile(languages, gender))
}

/// Creates a call that arrived this number of microseconds after [`NOW`].
pub fn call(id: &str, wanted: &str, arrived: u64) -> Call {
    Call::new(call_id(id), criteria(wanted), at(arrived))
}

/// Creates the first assignment of a call to ana, this number of microseconds after [`NOW`].
pub fn assignment(call: &str, wanted: &str, made: u64, until: Option<u64>) -> Assignment {
    Assignment {
        call_id: call_id(call),
        number: 1,
        criteria: criteria(wanted),
        agent_id: agent_id("ana"),
        agent_name: "Ana Ruiz".to_owned(),
        ticket: Ticket::fresh(),
        assigned_at: at(made),
        lease_until: until.map(at),
    }
}

/// Creates an expired call that arrived this number of microseconds after [`NOW`].
pub fn expired(call: &str, wanted: &str, arrived: u64) -> ExpiredCall {
    ExpiredCall {
        call_id: call_id(call),
        criteria: criteria(wanted),
        arrived_at: at(arrived),
    }
}

/// Commits a change, which must succeed.
pub async fn done(store: &dyn AgentStore, change: &Change) {
    let committed = store.commit(change).await.expect("a result");
    assert_eq!(committed, Committed::Done, "{change:?}");
}

/// Adds a call to its line. No process serves the line.
pub async fn wait(store: &dyn AgentStore, call: &Call) {
    let opened = store.open_line(&call.criteria, NOW).await;
    opened.expect("a result");
    done(store, &Change::wait(call)).await;
}

/// Registers an offline agent.
pub async fn register(store: &dyn AgentStore, agent: &Agent) {
    let queues = Dimensions::default().queues(&agent.profile);
    done(store, &Change::register(agent.clone(), queues)).await;
}

/// Registers an agent that has been available since [`NOW`].
pub async fn available(store: &dyn AgentStore, mut agent: Agent) -> Agent {
    register(store, &agent).await;
    let change = agent.become_available(NOW).expect("offline");
    done(store, &Change::agent(change.clone(), None)).await;
    agent = change.applied_to(agent);
    agent
}

/// Queues an available agent, this number of microseconds after [`NOW`].
pub async fn enqueue(store: &dyn AgentStore, agent: Agent, since: u64) -> Agent {
    let change = agent.enqueue(at(since), &Dimensions::default());
    let change = change.expect("available");
    done(store, &Change::enqueue(change.clone(), &agent)).await;
    change.applied_to(agent)
}

/// Registers an agent that was queued this number of microseconds after [`NOW`].
pub async fn queued(store: &dyn AgentStore, agent: Agent, since: u64) -> Agent {
    let agent = available(store, agent).await;
    enqueue(store, agent, since).await
}

/// Returns the queue entries of a queued agent, ordered by queue name.
pub fn entries(agent: &Agent) -> Vec<QueueEntry> {
    let entries = QueueEntry::all_of(agent);
    assert!(!entries.is_empty(), "{} is not queued", agent.id);
    entries
}
