//! Formats the desk's response as text and as JSON.

use std::time::Duration;

use serde_json::Value;

use crate::exit::Exit;
use crate::report::{Report, columns};
use crate::time_format::rough;

pub(crate) const PENDING: [&str; 5] = [
    "Criteria",
    "Calls",
    "Agents queued",
    "Oldest call",
    "Pending for",
];

/// Converts a response to a report.
pub(crate) fn report(response: Value) -> Report {
    let exit = match response["changed"].as_bool() {
        Some(false) => Exit::NotAll,
        _ => Exit::Done,
    };
    Report::new(exit, text(&response), response)
}

fn text(response: &Value) -> String {
    if let Some(queues) = response["queues"].as_array() {
        let pending = rows(&response["pending"], |calls| pending_calls(calls, queues));
        let queues = rows(&response["queues"], |queue| {
            [readable(&queue["queue"]), cell(&queue["depth"])]
        });
        return format!(
            "queued agents\n{}\n\npending calls\n{}",
            table(["ATTRIBUTES", "AGENTS"], queues),
            table(PENDING.map(str::to_uppercase), pending)
        );
    }
    if response["calls"].is_array() {
        let calls = rows(&response["calls"], call);
        return table(["CALL", "CRITERIA", "PENDING FOR"], calls);
    }
    if response["agents"].is_array() {
        let agents = rows(&response["agents"], agent);
        let head = ["AGENT", "NAME", "STATUS", "CALL", "ATTRIBUTES"];
        let mut text = table(head, agents);
        if let Some(next) = response["next"].as_str() {
            text += &format!("\nmore agents: continue with --after {next}");
        }
        if let (Some(account), Some(region)) =
            (response["account"].as_str(), response["region"].as_str())
        {
            text += &format!("\nin account {account}, {region}");
        }
        return text;
    }
    match response["rejected"].as_str() {
        Some(why) => format!("not changed: {why}\n{response:#}"),
        None => format!("{response:#}"),
    }
}

fn rows<const N: usize>(objects: &Value, row: impl Fn(&Value) -> [String; N]) -> Vec<[String; N]> {
    objects.as_array().into_iter().flatten().map(row).collect()
}

/// Returns an agent's table row, with its call and its attributes by name.
pub(crate) fn agent(agent: &Value) -> [String; 5] {
    let attributes = agent["attributes"].as_object().into_iter().flatten();
    let attributes = attributes.map(|(name, values)| format!("{name}: {}", listed(values)));
    [
        cell(&agent["agentId"]),
        cell(&agent["name"]),
        cell(&agent["status"]),
        cell(&agent["callId"]),
        attributes.collect::<Vec<_>>().join("; "),
    ]
}

/// Returns a pending call's table row: its id, its criteria, and how long it has been pending.
pub(crate) fn call(call: &Value) -> [String; 3] {
    let pending = call["pendingMs"].as_u64().map(Duration::from_millis);
    [
        cell(&call["callId"]),
        readable(&call["criteria"]),
        pending.map_or_else(String::new, rough),
    ]
}

/// Returns the table row of the pending calls with the same criteria: the number of calls, the
/// number of matching queued agents, and the oldest call.
pub(crate) fn pending_calls(calls: &Value, queues: &[Value]) -> [String; 5] {
    let criteria = calls["criteria"].as_str().unwrap_or_default();
    let matching = queues.iter().filter(|queue| {
        let name = queue["queue"].as_str().unwrap_or_default();
        fits(criteria, name)
    });
    let depths: Vec<u64> = matching
        .map(|queue| queue["depth"].as_u64().unwrap_or(0))
        .collect();
    let agents = match depths.is_empty() {
        true => "no agent with these attributes was ever queued".to_owned(),
        false => depths.iter().sum::<u64>().to_string(),
    };
    let [oldest, _, pending] = call(&calls["oldest"]);
    [
        readable(&calls["criteria"]),
        cell(&calls["depth"]),
        agents,
        oldest,
        pending,
    ]
}

/// Returns whether the agents in a queue match criteria. Queue names and criteria have one value
/// per dimension; `*` in criteria matches any value.
fn fits(criteria: &str, queue: &str) -> bool {
    let wanted: Vec<&str> = criteria.split('#').collect();
    let values: Vec<&str> = queue.split('#').skip(1).collect();
    wanted.len() == values.len()
        && std::iter::zip(wanted, values).all(|(wanted, value)| wanted == "*" || wanted == value)
}

/// Formats the values in a queue name or in criteria: "Spanish, M" for `Q#Spanish#M`.
pub(crate) fn readable(name: &Value) -> String {
    let name = name.as_str().unwrap_or_default();
    let values = name.strip_prefix("Q#").unwrap_or(name);
    let values = values.split('#').map(|value| match value {
        "*" => "any",
        value => value,
    });
    values.collect::<Vec<_>>().join(", ")
}

fn listed(values: &Value) -> String {
    match values.as_array() {
        Some(values) => values.iter().map(cell).collect::<Vec<_>>().join(", "),
        None => cell(values),
    }
}

fn table<const N: usize, T: ToString>(head: [T; N], rows: Vec<[String; N]>) -> String {
    match rows.is_empty() {
        true => "none".to_owned(),
        false => columns(std::iter::once(head.map(|name| name.to_string())).chain(rows)),
    }
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pending_calls_show_the_queued_agents_that_match() {
        let queues = [
            json!({ "queue": "Q#Spanish#M", "depth": 2 }),
            json!({ "queue": "Q#Spanish#F", "depth": 3 }),
            json!({ "queue": "Q#Basque#F", "depth": 0 }),
        ];
        for (criteria, agents) in [
            ("Spanish#M", "2"),
            ("Spanish#*", "5"),
            ("*#F", "3"),
            ("Basque#F", "0"),
            ("Latin#M", "no agent with these attributes was ever queued"),
            ("Spanish", "no agent with these attributes was ever queued"),
        ] {
            let calls = json!({ "criteria": criteria, "depth": 1 });
            assert_eq!(pending_calls(&calls, &queues)[2], agents, "{criteria}");
        }
        assert_eq!(readable(&json!("Q#Spanish#M")), "Spanish, M");
        assert_eq!(readable(&json!("*#F")), "any, F");
    }
}
