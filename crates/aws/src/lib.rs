//! AWS code that both queues share.
//!
//! | module | content |
//! |---|---|
//! | [`batch`] | limits of an SQS or SNS batch, and the outcome of each entry |
//! | [`client`] | timeouts and retries of every client |
//! | [`connections`] | the HTTP client of every client and of the HTTP runner |
//! | [`error_chain`] | an error and its causes on one line |
//! | [`store_error`] | DynamoDB errors, classified by the reaction that they require |

pub mod batch;
pub mod client;
pub mod connections;
pub mod error_chain;
pub mod store_error;
