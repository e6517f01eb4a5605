//! # A reference queue, and a state machine that compares the stores with it
//!
//! The reference is derived from the "States" table in `docs/explanation/architecture.md` and from
//! the rules in `docs/explanation/wake-protocol.md`, not from a store. It has plain records and one
//! control item, without expressions or retries. A state machine draws sequences of operations,
//! some of which are repeated, late, forged or stale. A store performs these operations, and every
//! answer and every stored attribute must equal the reference's.
//!
//! | module | content |
//! |---|---|
//! | [`operation`] | operations on a store, the call for each, and the rules for their answers |
//! | [`answer`] | answers of a store |
//! | [`queue`] | the reference queue; each module has transitions and draws matching operations |
//! | [`machine`], [`draw`] | the operations that can be drawn in each state |
//! | [`subject`] | the stores under test |
//! | [`ledger`] | checks that do not depend on the reference |
//! | [`mod@hold`] | runs the sequences |
//!
//! The sequences don't contain deletions by DynamoDB's time to live, because no store performs them.

pub mod answer;
pub mod draw;
pub mod hold;
pub mod ledger;
pub mod machine;
pub mod operation;
pub mod queue;
pub mod subject;
