//! Batches of an ingest queue, on tokio's paused clock: deadlines pass in milliseconds.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod admission;
mod backpressure;
mod behaviour;
mod dynamodb;
mod keys;
mod response;
mod world;
