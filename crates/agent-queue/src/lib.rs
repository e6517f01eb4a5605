//! # A filtered FIFO queue on DynamoDB
//!
//! A call requests an agent, for example a Spanish-speaking man. Of the matching agents, the one
//! that has been queued longest is assigned and leaves every other queue in the same transaction.
//!
//! ## Modules, in the order in which a call uses them
//!
//! | module | content |
//! |---|---|
//! | [`dimension`], [`profile`], [`criteria`], [`name`] | dimensions, profiles of agents, criteria of calls, ids and values |
//! | [`agent`] | an agent, its states and their transitions |
//! | [`call`] | a call, its states and its assignment |
//! | [`transaction`] | every change as one transaction, with its conditions |
//! | [`store`] | the storage: DynamoDB, and an in-memory store for tests |
//! | [`queue`] | the queue: settings, commits and retries |
//! | [`agent_lifecycle`] | register, become available, leave, extend, finish, list |
//! | [`enqueue`] | assigns a pending call to an available agent, or adds the agent to all its queues |
//! | [`matching`] | matches calls with agents: one call, the new calls of a batch, or the pending calls |
//! | [`publish`] | publishes assignments to the topic, and sends expired calls to the dead-letter queue |
//! | [`aws`] | the topic and the dead-letter queue on SNS and SQS |
//! | [`sweep`] | ends expired call leases, expires and assigns pending calls, publishes remaining events |
//! | [`intake`] | parses and processes the messages of the call queue |
//! | [`desk`] | the commands of `agent-desk`, and their responses |
//! | [`seed`] | sample agents for trying out the queue |
//! | [`time`] | times in microseconds, and the clock |
//! | [`schema`] | the names of the table's keys and attributes |
//!
//! The crate uses AWS services through traits. It does not depend on Lambda event or runtime types
//! and does not read environment variables.

pub mod agent;
pub mod agent_lifecycle;
pub mod aws;
pub mod call;
pub mod criteria;
pub mod desk;
pub mod dimension;
pub mod enqueue;
mod gate;
pub mod intake;
pub mod matching;
pub mod name;
mod open_lines;
mod patience;
pub mod profile;
pub mod publish;
pub mod queue;
pub mod schema;
pub mod seed;
pub mod store;
pub mod sweep;
pub mod time;
pub mod transaction;
mod window;
