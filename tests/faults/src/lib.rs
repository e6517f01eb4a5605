//! Fault schedules: a seed decides the configuration, the load, what each task does and what
//! goes wrong. The same seed plays the same schedule.
//!
//! | module | what it holds |
//! |---|---|
//! | [`schedule`] | what a seed decides |
//! | [`suite`] | many seeds, their figures, and what must have occurred among them |

pub mod agents;
pub mod schedule;
pub mod suite;
