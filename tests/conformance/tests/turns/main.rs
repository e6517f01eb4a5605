//! Turns of `process-tasks` on the in-memory store, and in part on DynamoDB. Tokio's paused clock makes the tests fast and
//! deterministic.
#![allow(clippy::unwrap_used)]

mod alone;
mod breaker;
mod breaker_by_hand;
mod codel;
mod defects;
mod depths;
mod ending;
mod failing;
mod group_breakers;
mod group_limits;
mod groups;
mod keys;
mod latency;
mod leases;
mod limit;
mod neighbours;
mod observed;
mod order;
mod outcomes;
mod overload;
mod pausing;
mod probes;
mod rate;
mod slots;
mod world;
