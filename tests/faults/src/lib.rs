//! Fault schedules. A seed determines the configuration, the load, the outcome of each run, and the
//! faults. The same seed always produces the same schedule.
//!
//! | module | content |
//! |---|---|
//! | [`schedule`] | the schedule for a seed |
//! | [`suite`] | runs many seeds, prints their figures, and checks that the required events occurred |

pub mod agents;
pub mod schedule;
pub mod suite;
