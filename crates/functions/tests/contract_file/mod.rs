//! Reads `tests/contract.json`, which TypeScript code writes.

use serde_json::Value;

pub(crate) fn contract() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/contract.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

pub(crate) fn defaults(function: &str) -> Value {
    contract()["settings"]["defaults"][function].clone()
}

/// Returns a valid value for a function's environment variable.
pub(crate) fn example(function: &str, name: &str) -> Option<String> {
    Some(match name {
        name if name.starts_with("SETTINGS_") => defaults(function).to_string(),
        "TASK_RUNNER" => r#"{"kind":"simulated","capacity":3,"durationMs":10}"#.to_owned(),
        name if name.ends_with("_ARN") => "arn:aws:sns:eu-west-1:111122223333:topic".to_owned(),
        name if name.ends_with("_URL") => format!("https://sqs.example.com/1/{name}"),
        _ => "table".to_owned(),
    })
}
