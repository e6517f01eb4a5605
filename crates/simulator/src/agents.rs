//! The agents' queue over a bad network, on a virtual clock: requests that are late, lost,
//! rejected or answered by silence, and transactions that conflict as DynamoDB's do.
//!
//! | module | what it holds |
//! |---|---|
//! | [`network`] | one exchange with the database, and what may befall it |
//! | [`wire_store`] | the store in memory behind that network |
//! | [`embedded`] | the embedded DynamoDB behind it, through the real SDK's client |
//! | [`audit`] | what must hold of a table at every moment |

pub mod audit;
pub mod embedded;
pub mod network;
pub mod wire_store;
