//! # The AWS services the queue stands on, in one process
//!
//! For tests and benchmarks only; nothing that is deployed depends on it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`agents`] | the agents' queue over a bad network, and an audit of its table |
//! | [`cloud`] | the whole loop on a virtual clock, with faults, and a ledger that checks it |
//! | [`conflicts`] | transactions that meet, as DynamoDB has them meet, and what every call costs |
//! | [`deployed`] | the settings that a queue is deployed with by default |
//! | [`dynamodb`] | an embedded DynamoDB with the queue's table, behind the real SDK client |
//! | [`faulty`] | a store whose answers fail as a script says |
//! | [`protocol`] | the requests of a client, answered by a function |
//! | [`scripted`] | the real client over an embedded DynamoDB, failing as a script says |
//! | [`seeds`] | which seeds a test with drawn inputs plays |
//! | [`topics`] | topics that remember what was published, and fail when told to |

pub mod agents;
pub mod cloud;
pub mod conflicts;
pub mod deployed;
pub mod dynamodb;
pub mod faulty;
pub mod protocol;
pub mod scripted;
pub mod seeds;
pub mod topics;
