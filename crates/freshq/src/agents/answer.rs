//! The response of the desk, as text for people and as JSON for programs.

use serde_json::Value;

use crate::exit::Exit;
use crate::report::{Report, columns};

#[derive(Debug)]
pub(crate) struct Answer(pub(super) Value);

impl Report for Answer {
    fn exit(&self) -> Exit {
        match self.0["changed"].as_bool() {
            Some(false) => Exit::NotAll,
            _ => Exit::Done,
        }
    }

    fn text(&self) -> String {
        let answer = &self.0;
        if let Some(queues) = answer["queues"].as_array() {
            let waiting = answer["waiting"].as_array().map_or(&[][..], Vec::as_slice);
            let agents = table(queues, ["queue", "depth", "version"]);
            let calls = table(waiting, ["criteria", "depth"]);
            return format!("queued agents\n{agents}\n\npending calls\n{calls}");
        }
        if let Some(agents) = answer["agents"].as_array() {
            let mut text = table(agents, ["agentId", "name", "status", "attributes"]);
            if let Some(next) = answer["next"].as_str() {
                text += &format!("\nmore agents: continue with --after {next}");
            }
            if let (Some(account), Some(region)) =
                (answer["account"].as_str(), answer["region"].as_str())
            {
                text += &format!("\nin account {account}, {region}");
            }
            return text;
        }
        match answer["refused"].as_str() {
            Some(why) => format!("not changed: {why}\n{answer:#}"),
            None => format!("{answer:#}"),
        }
    }

    fn json(&self) -> Value {
        self.0.clone()
    }
}

/// A table with one row per object and one column per name.
fn table<const N: usize>(objects: &[Value], names: [&str; N]) -> String {
    if objects.is_empty() {
        return "none".to_owned();
    }
    let head = names.map(str::to_uppercase);
    let rows = objects
        .iter()
        .map(|object| names.map(|name| cell(&object[name])));
    columns(std::iter::once(head).chain(rows))
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
