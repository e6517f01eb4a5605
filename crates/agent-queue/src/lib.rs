//! # A filtered FIFO queue on DynamoDB
//!
//! A call asks for an agent, for example a Spanish-speaking man. Of the matching agents, the one
//! queued longest is assigned, and leaves every other queue in the same transaction.
//!
//! ## Layout, in the order of a call's way
//!
//! | module | what it holds |
//! |---|---|
//! | [`dimension`], [`profile`], [`criteria`], [`name`] | what agents are chosen by |
//! | [`agent`] | an agent, its states and what may follow what |
//! | [`call`] | a call, its outcome and its assignment |
//! | [`transaction`] | every change as one transaction, with its conditions |
//! | [`store`] | where it all lives: DynamoDB, and memory for tests |
//! | [`queue`] | the queue itself: settings, and how a change is carried through |
//! | [`agent_lifecycle`] | register, become available, leave, finish |
//! | [`enqueue`] | a waiting call for a free agent, or a place in all queues that fit |
//! | [`matcher`] | a call is assigned to an agent, waits, or expires |
//! | [`lane`] | the new calls of one criteria and one batch, side by side |
//! | [`publish`] | assignments to the topic, expired calls to the dead-letter queue |
//! | [`aws`] | the topic and the dead-letter queue on SNS and SQS |
//! | [`sweep`] | expired call leases, expired and missed calls, unpublished events |
//! | [`intake`] | a message of the call queue |
//! | [`desk`] | the commands of `agent-desk`, and their answers |
//! | [`seed`] | made-up agents, for trying it out |
//! | [`time`] | microseconds and the clock |
//! | [`schema`] | the table's names |
//!
//! The crate knows AWS services behind traits. It knows no Lambda event or runtime type and
//! reads no environment.

pub mod agent;
pub mod agent_lifecycle;
pub mod aws;
pub mod call;
pub mod criteria;
pub mod desk;
pub mod dimension;
pub mod enqueue;
pub mod intake;
pub mod lane;
mod lines;
pub mod matcher;
mod meet;
pub mod name;
mod open_lines;
pub mod profile;
pub mod publish;
pub mod queue;
pub mod schema;
pub mod seed;
mod serve;
pub mod store;
pub mod sweep;
pub mod time;
pub mod transaction;
mod window;
