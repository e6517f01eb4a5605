//! The guarantees of every store.
#![allow(clippy::unwrap_used)]

/// Runs every check in a module on every store.
macro_rules! on_every_store {
    ($($check:ident,)*) => {
        mod memory {
            $(#[tokio::test] async fn $check() { super::$check(conformance::memory()).await; })*
        }
        mod dynamodb {
            $(#[tokio::test] async fn $check() { super::$check(conformance::dynamodb()).await; })*
        }
    };
}

mod consistent;
mod control;
mod crashes;
mod groups;
mod keys;
mod leases;
mod names;
mod operator;
mod quarantine;
mod redrive;
mod requests;
mod tasks;
