//! What both queues share of AWS.
//!
//! | module | what it holds |
//! |---|---|
//! | [`batch`] | limits of a batch of SQS or SNS, and what the answer says of each entry |
//! | [`client`] | timeouts and retries of every client |
//! | [`error_chain`] | an error and its causes on one line |
//! | [`store_error`] | an error of DynamoDB, by what its caller can do about it |

pub mod batch;
pub mod client;
pub mod error_chain;
pub mod store_error;
