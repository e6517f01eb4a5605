//! Batches of an ingest queue. Tokio's clock is paused, so deadlines pass within milliseconds.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod admission;
mod backpressure;
mod behaviour;
mod catch_up;
mod dynamodb;
mod keys;
mod response;
mod world;
