//! # A reference queue, and a state machine that holds the stores to it
//!
//! The reference is written from the tables of the states of agents and calls and from what is
//! promised, not from the code: plain agents, lines of agents in waiting order, lines of calls.
//! A state machine draws sequences of wishes: repeated, late and forged ones, and those of a process
//! that crashes between a write and its read. The queue executes them on a store. Every answer, every
//! published event and every row of the table must equal the reference's.
//!
//! | module | what it holds |
//! |---|---|
//! | [`rule`] | what may happen, one name for each way |
//! | [`operation`] | what is asked of the queue, and what it answers |
//! | [`reference`] | the reference |
//! | [`machine`], [`draw`] | which wishes are drawn in which state |
//! | [`subject`] | the queue under test |
//! | [`ledger`] | what holds whatever the reference says |
//! | [`hold`] | runs the sequences |
//! | [`figures`] | what was run |

pub mod draw;
pub mod figures;
pub mod hold;
pub mod ledger;
pub mod machine;
pub mod operation;
pub mod reference;
pub mod rule;
pub mod subject;
