//! The embedded DynamoDB, and the name of its table of agents, queues and calls.

pub use embedded_dynamodb::{EmbeddedDynamo, NotStarted, TABLE, client, dispatch};

pub const AGENT_TABLE: &str = "agents";
