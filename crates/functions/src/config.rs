//! Typed configuration, which each function reads from its environment once, at startup.
//!
//! Each name, ARN and URL has its own environment variable. The settings are JSON in one variable,
//! `SETTINGS_<FUNCTION>`. The constructs in `infra/` define the defaults and the rules between
//! settings. A function with an invalid environment reports every invalid variable with its fix, in
//! one error. `tests/contract.json` contains the names and sample settings, which tests here and in
//! `tests/infra` check.

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

/// Looks up an environment variable of the process, for [`Reader`].
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
