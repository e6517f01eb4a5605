//! Typed configuration, which each function reads from its environment once, at its start.
//!
//! Each name, ARN and URL has its own variable. The settings are JSON in one variable,
//! `SETTINGS_<FUNCTION>`. The constructs in `infra/` have the defaults and the rules between
//! settings. A function whose environment is wrong reports each wrong variable with its remedy, in
//! one error. `tests/contract.json` has the names, and samples of the settings. Tests here and in
//! `tests/infra` compare with it.

#[cfg(feature = "agents")]
mod agents;
mod reader;
mod tasks;
pub mod variable;

#[cfg(feature = "agents")]
pub use self::agents::{AgentQueue, AgentSettings, MatchCalls};
pub use self::reader::{ConfigError, Problem, Reader, parse};
pub use self::tasks::{
    CountShed, CreateTasks, CreateTasksSettings, IngestTasks, IngestTasksSettings, ProcessTasks,
    REPORT_MARGIN, SweepTasks, SweepTasksSettings, Trigger, TriggerSettings, Waking,
};

/// Looks a variable up in the process's environment, for [`Reader`].
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
