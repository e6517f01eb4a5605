//! # Simulated AWS services, in one process
//!
//! For tests and benchmarks only; no deployed code depends on it.
//!
//! | module | content |
//! |---|---|
//! | [`admission`] | the admission meter, with a simulated table |
//! | [`agents`] | the agents' queue over an unreliable network |
//! | [`cloud`] | the whole task queue on a virtual clock, with faults, and a ledger that checks it |
//! | [`conflicts`] | transaction conflicts, as on DynamoDB, and the cost of every request |
//! | [`deployed`] | the default deployment settings of a queue |
//! | [`dynamodb`] | the embedded DynamoDB, behind the real SDK client |
//! | [`engine`] | the DynamoDB of a test, embedded or DynamoDB Local |
//! | [`fault`] | faults, and their rates |
//! | [`faulty`] | a store whose calls fail according to a script |
//! | [`layered`] | an extension point between a queue and its store |
//! | [`protocol`] | SDK connectors that compute responses with a function |
//! | [`runtime_api`] | Lambda's Runtime API, for one function process |
//! | [`scripted`] | the real client over an embedded DynamoDB, with scripted failures |
//! | [`seeds`] | the seeds of a test with random inputs |
//! | [`sync`] | locks and pauses |
//! | [`texts`] | text assertions |
//! | [`topics`] | topics that record published messages and can be set to fail |

pub mod admission;
pub mod agents;
pub mod cloud;
pub mod conflicts;
pub mod deployed;
pub mod dynamodb;
pub mod engine;
pub mod fault;
pub mod faulty;
pub mod layered;
pub mod protocol;
pub mod runtime_api;
pub mod scripted;
pub mod seeds;
pub mod sync;
pub mod texts;
pub mod topics;
pub mod units;
