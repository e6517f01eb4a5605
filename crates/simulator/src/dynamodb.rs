//! The embedded DynamoDB, and the name of its agents' table.

pub use embedded_dynamodb::{EmbeddedDynamo, NotStarted, TABLE, client, dispatch};

pub const AGENT_TABLE: &str = "agents";
