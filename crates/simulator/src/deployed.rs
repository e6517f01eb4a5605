//! The settings with which a queue is deployed by default: those of `tests/contract.json`, which is
//! generated from `infra/`.

use std::sync::LazyLock;

use lifo_queue::process::ProcessSettings;
use serde_json::Value;

pub static PROCESS_TASKS: LazyLock<ProcessSettings> = LazyLock::new(|| {
    let settings = settings("process-tasks");
    serde_json::from_value(settings).expect("the contract has the settings of process-tasks")
});

/// The default settings of a function, in the format of its environment variable. `Null` if it has
/// none.
pub fn settings(function: &str) -> Value {
    let contract = include_str!("../../../tests/contract.json");
    let contract: Value = serde_json::from_str(contract).expect("the contract is JSON");
    contract["settings"]["defaults"][function].clone()
}
