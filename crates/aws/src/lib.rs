//! AWS code that both queues share.
//!
//! | module | content |
//! |---|---|
//! | [`batch`] | limits of a batch of SQS or SNS, and the outcome of each entry |
//! | [`client`] | timeouts and retries of every client |
//! | [`error_chain`] | an error and its causes on one line |
//! | [`store_error`] | errors of DynamoDB, sorted by the reaction that they require |

pub mod batch;
pub mod client;
pub mod error_chain;
pub mod store_error;
