//! Batches of an ingest queue. Tokio's clock is paused, so deadlines pass within milliseconds.
#![allow(clippy::unwrap_used)]

mod admission;
mod backpressure;
mod behaviour;
mod catch_up;
mod dynamodb;
mod keys;
mod response;
mod world;
