//! # A reference queue, and a state machine that holds the stores to it
//!
//! The reference is written from the table "States" in `docs/explanation/architecture.md` and from the rules
//! in `docs/explanation/wake-protocol.md`, not from a store: plain rows and one control item, no expressions,
//! no retries, no cleverness. A state machine draws sequences of operations, among them repeated,
//! late, forged and stale ones; a store performs them, and every answer and every stored
//! attribute has to be the reference's.
//!
//! | module | what it holds |
//! |---|---|
//! | [`rule`] | what may happen, one name for each row and for each way of being rejected |
//! | [`operation`] | what is asked of a store, and what it answers |
//! | [`queue`] | the reference queue |
//! | [`machine`], [`draw`] | which operations are drawn in which state |
//! | [`subject`] | the stores, seen from outside |
//! | [`ledger`] | what holds whatever the reference says |
//! | [`hold`] | runs the sequences, and prints the figures |
//!
//! What DynamoDB's time to live removes is no store's doing, and not drawn.

pub mod draw;
pub mod figures;
pub mod hold;
pub mod ledger;
pub mod machine;
pub mod operation;
pub mod queue;
pub mod rule;
pub mod subject;
