//! The settings that a queue is deployed with by default: those of `tests/contract.json`, which is
//! written from `infra/`.

use std::sync::LazyLock;

use lifo_queue::process::ProcessSettings;
use serde_json::Value;

/// The default settings of `process-tasks`.
pub static PROCESS_TASKS: LazyLock<ProcessSettings> = LazyLock::new(|| {
    let settings = settings("process-tasks");
    serde_json::from_value(settings).expect("the contract has the settings of process-tasks")
});

/// The default settings of a function, as its variable has them.
///
/// # Panics
/// If the contract cannot be read.
#[must_use]
pub fn settings(function: &str) -> Value {
    let contract = include_str!("../../../tests/contract.json");
    let contract: Value = serde_json::from_str(contract).expect("the contract is JSON");
    contract["settings"]["defaults"][function].clone()
}
