//! Matches calls with agents.
//!
//! | module | content |
//! |---|---|
//! | [`one_call`] | assigns a call to an agent, sets it to pending, or expires it |
//! | [`lane`] | concurrently assigns the new calls with the same criteria in one batch |
//! | [`first_agent`] | matches one call with the first matching agent |
//! | [`line`](mod@line), [`lines`] | serve the pending calls of one criteria, and of all |

pub(crate) mod first_agent;
pub mod lane;
pub(crate) mod line;
pub(crate) mod lines;
pub mod one_call;
