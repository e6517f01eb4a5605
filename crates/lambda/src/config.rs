//! Typed configuration: what each function reads from its environment, once, at its start.
//!
//! A function has names, ARNs and URLs in variables of their own, and its settings as JSON in one,
//! `SETTINGS_<FUNCTION>`. The constructs in `infra/` have the defaults and the rules between
//! settings. A function whose environment is wrong reports each wrong variable with its remedy, in
//! one error. `tests/contract.json` holds the names and samples of the settings; tests here and in
//! `tests/infra` compare with it.

mod agents;
mod reader;
mod tasks;
pub mod variable;

pub use self::agents::{AgentQueue, AgentSettings, MatchCalls};
pub use self::reader::{ConfigError, Problem, Reader, parse};
pub use self::tasks::{
    CountShed, CreateTasks, CreateTasksSettings, IngestTasks, IngestTasksSettings, ProcessTasks,
    REPORT_MARGIN, SweepTasks, SweepTasksSettings, Trigger, TriggerSettings, Waking,
};

/// The process's environment, as [`Reader`] wants it.
#[must_use]
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
