//! Fault schedules. A seed determines the configuration, the load, the outcome of each run, and the
//! faults. The same seed always plays the same schedule.
//!
//! | module | content |
//! |---|---|
//! | [`schedule`] | the schedule for a seed |
//! | [`suite`] | plays many seeds, prints their figures, and checks what must have occurred |

pub mod agents;
pub mod schedule;
pub mod suite;
