//! The default deployment settings of a queue, from `tests/contract.json`, which is generated from
//! `infra/`.

use std::sync::LazyLock;

use lifo_queue::ingest::IngestSettings;
use lifo_queue::process::ProcessSettings;
use lifo_queue::sweep::SweepSettings;
use serde_json::Value;

pub static PROCESS_TASKS: LazyLock<ProcessSettings> = LazyLock::new(|| {
    let settings = settings("process-tasks");
    serde_json::from_value(settings).expect("the contract has the settings of process-tasks")
});

pub static INGEST: LazyLock<IngestSettings> = LazyLock::new(|| {
    let settings = settings("ingest-tasks")["ingest"].clone();
    serde_json::from_value(settings).expect("the contract has the settings of ingest-tasks")
});

/// Returns the default settings of `sweep-tasks` for a queue with these `process-tasks` settings.
pub fn sweep(process: &ProcessSettings) -> SweepSettings {
    SweepSettings {
        default_ttl: process.default_ttl,
        expiry_bound: process.expiry_bound,
        overload_reach: process.codel.map(|codel| codel.reach()),
        max_attempts: process.max_attempts,
        backoff: process.backoff,
        failure_retention: process.retention.failure,
        groups: process.groups.is_some(),
        clock_skew: process.clock_skew,
    }
}

/// Returns the default settings of a function in the format of its environment variable. `Null` if
/// the function has no settings.
pub fn settings(function: &str) -> Value {
    let contract = include_str!("../../../tests/contract.json");
    let contract: Value = serde_json::from_str(contract).expect("the contract is JSON");
    contract["settings"]["defaults"][function].clone()
}
