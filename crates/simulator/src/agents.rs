//! The agents' queue over an unreliable network, on a virtual clock. Requests are delayed, lost or
//! rejected, responses are lost, and transactions conflict as on DynamoDB.
//!
//! | module | content |
//! |---|---|
//! | [`network`] | one exchange with the database, and its faults |
//! | [`wire_store`] | the in-memory store behind that network |
//! | [`embedded`] | the embedded DynamoDB behind that network, through the real SDK client |

pub mod embedded;
pub mod network;
pub mod wire_store;
