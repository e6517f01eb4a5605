//! # A task queue on this machine, for development
//!
//! [`DevQueue`] runs the queue's own core in one process: create, wake, process, sweep and expiry, with
//! the real clock and the DynamoDB store. The table is an embedded DynamoDB, in memory or in a folder.
//!
//! | module | content |
//! |---|---|
//! | [`table`] | the embedded table; reports every item change |
//! | [`change`] | item changes, and the task transitions that they represent |
//! | [`queue`] | the queue: the processor, the sweep, the expiry and the reactions to changes |
//! | [`server`] | the HTTP endpoint: `POST /tasks`, DynamoDB, and the invocation of `create-tasks` |
//! | [`journal`] | prints one line per transition |
//! | [`freshness`] | ages at start, compared with arrival order |
//! | [`settings`] | the settings of a queue: the defaults, a template's settings, and overrides |
//! | [`simulation`] | a simulated downstream and a burst |
//!
//! Not included: the agents' queue, SQS ingest, streams, IAM, alarms and metrics.

pub mod change;
pub mod freshness;
pub mod journal;
pub mod output;
pub mod queue;
pub mod server;
pub mod settings;
pub mod simulation;
pub mod table;

pub use self::queue::DevQueue;
