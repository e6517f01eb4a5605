//! A model of the task queue's wake-up protocol, which a checker explores completely.
//!
//! The protocol decides which processes read the queue, and when. Its failures are silent: after a
//! lost wake-up, a task remains pending, and no log shows an error. This crate therefore restates
//! the rules independently of the code. The checker visits every interleaving of a small world: a
//! few tasks, two overlapping invocations, the topics, the stream, the lagging index, and a bounded
//! number of faults. `docs/explanation/wake-protocol.md` describes the rules in words, with the
//! same numbers.
//!
//! | module | content |
//! |---|---|
//! | [`state`] | a snapshot of the world |
//! | [`table`] | the tasks and the control item, as stored in the table |
//! | [`action`] | all events of the model |
//! | [`waker`] | rules 1 and 9: wake-up requests |
//! | [`processor`] | one invocation of `process-tasks`: its start, steps and end |
//! | [`lease`] | rules 2, 3, 5, 6 and 10: acquire, heartbeat, release, tail call |
//! | [`newest_first`] | rules 4, 5 and 7: query, take, run, settle and wait |
//! | [`sweep`] | rule 8: lost wake-ups and expired leases |
//! | [`platform`] | AWS: delivery, retries, loss, lease expiry, the index catching up |
//! | [`property`] | the properties that hold in every state |
//! | [`drain`] | checks that the queue can be emptied from every state |
//! | [`mutation`] | wrong rules, which show that the checker finds each violation |
//! | [`protocol`] | the complete protocol, as a [`stateright::Model`] |

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

/// A [`Budget`] with these faults; all other faults are zero or come from `base`.
#[macro_export]
macro_rules! budget {
    ($($fault:ident: $most:expr),*) => { $crate::budget!($($fault: $most),*, ..$crate::Budget::default()) };
    ($($fault:ident: $most:expr),*, ..$base:expr) => { $crate::Budget { $($fault: $most,)* ..$base } };
}
