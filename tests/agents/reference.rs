//! # A reference queue, and a state machine that compares the stores with it
//!
//! The reference is derived from the documented states of agents and calls and from the guarantees,
//! not from the code. It has plain agents, queues of agents, and lines of pending calls. A state
//! machine draws sequences of requests. Some are repeated, late or forged, and some come from a
//! process that crashes between a write and the read that follows it. The queue executes them on a
//! store. Every response, published event and table row must equal the reference's.
//!
//! | module | content |
//! |---|---|
//! | [`rule`] | every possible outcome of a request, with a name |
//! | [`operation`] | requests and responses |
//! | [`queue`] | the reference queue |
//! | [`machine`], [`draw`] | which requests are drawn in which state |
//! | [`subject`] | the queue under test |
//! | [`ledger`] | checks that do not depend on the reference |
//! | [`mod@hold`] | runs the sequences |

pub mod draw;
pub mod hold;
pub mod ledger;
pub mod machine;
pub mod operation;
pub mod queue;
pub mod rule;
pub mod subject;
