//! The wake-up protocol of the LIFO task queue, as a model that a checker explores completely.
//!
//! The protocol decides who looks at the queue, and when. It fails silently: a lost wake-up is a
//! task that waits while every log looks healthy. So its rules are written down a second time here,
//! apart from the code that runs, and every interleaving of a small world is visited: a few tasks,
//! two overlapping invocations, the topics, the stream, the index that lags, and a bounded number
//! of faults. `docs/explanation/wake-protocol.md` states the rules in words; the rule numbers in this crate are
//! those.
//!
//! | module | what it holds |
//! |---|---|
//! | [`state`] | one snapshot of the world |
//! | [`table`] | the tasks and the control item, as the table has them |
//! | [`action`] | everything that can happen next |
//! | [`waker`] | rules 1 and 9: asking for a wake-up |
//! | [`processor`] | one invocation of `process-tasks`: how it starts, steps, and ends |
//! | [`lease`] | rules 2, 3, 5, 6 and 10: acquire, heartbeat, release, tail call |
//! | [`newest_first`] | rules 4, 5 and 7: query, take, run, settle, linger |
//! | [`sweep`] | rule 8: lost wake-ups and expired leases |
//! | [`platform`] | AWS: delivery, retries, loss, leases expiring, the index catching up |
//! | [`property`] | what must hold in every state |
//! | [`drain`] | from every state the queue can still be emptied |
//! | [`mutation`] | one wrong rule at a time, to show that the checker would notice |
//! | [`protocol`] | the above, as a [`stateright::Model`] |

pub mod action;
pub mod drain;
pub mod lease;
pub mod mutation;
pub mod newest_first;
pub mod platform;
pub mod processor;
pub mod property;
pub mod protocol;
pub mod state;
pub mod sweep;
pub mod table;
pub mod waker;

pub use action::{Action, Fate};
pub use mutation::Mutation;
pub use protocol::{Protocol, Report};
pub use state::{Budget, State};
