//! Reads tasks from a JSON Lines file.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

use lifo_queue::create::BYTE_ORDER_MARK;
use serde_json::json;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::failure::{Failure, Result};

/// Number of hash characters in a task id, enough to distinguish files.
const HASH_LENGTH: usize = 16;

/// The fields of a task, each as JSON text, because a parsed number may have other digits.
pub(super) type Fields = BTreeMap<String, String>;

/// A task and its line number, starting at 1.
#[derive(Debug, PartialEq)]
pub(super) struct Line {
    pub(super) number: usize,
    /// The task as JSON text.
    pub(super) task: String,
}

impl Line {
    /// Creates a line. A task with neither `taskId` nor `key` gets the id.
    pub(super) fn new(number: usize, mut fields: Fields, id: impl FnOnce() -> String) -> Self {
        let is_given = |name| fields.get(name).is_some_and(|text| text != "null");
        if !is_given("taskId") && !is_given("key") {
            fields.insert("taskId".to_owned(), json!(id()).to_string());
        }
        let members = fields.iter();
        let members = members.map(|(name, text)| format!("{}:{text}", json!(name)));
        let task = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
        Self { number, task }
    }
}

/// Reads the tasks from a file, or from standard input if the path is `-`.
pub(super) fn read(path: &Path) -> Result<Vec<Line>> {
    let is_stdin = path.as_os_str() == "-";
    let text = match is_stdin {
        true => {
            let mut text = String::new();
            let read = io::stdin().read_to_string(&mut text);
            read.map(|_| text)
        }
        false => fs::read_to_string(path),
    };
    let name = match is_stdin {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    };
    let text = text.map_err(|source| Failure::File {
        path: name.clone(),
        source,
    })?;
    parse(&name, &text)
}

/// Parses one task per non-empty line. Fails on any malformed line, so that no task is sent.
fn parse(name: &str, text: &str) -> Result<Vec<Line>> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let hash = format!("{:x}", Sha256::digest(text.as_bytes()));
    let hash = &hash[..HASH_LENGTH];
    let lines = text.lines().zip(1..);
    lines
        .filter(|(line, _)| !line.trim().is_empty())
        .map(|(line, number)| {
            let invalid = |fault: String| Failure::Input {
                place: format!("{name}, line {number}"),
                fault: format!("{fault}; write one task per line, for example {{\"payload\": 1}}"),
            };
            let task: &RawValue =
                serde_json::from_str(line).map_err(|error| invalid(error.to_string()))?;
            if !task.get().starts_with('{') {
                return Err(invalid("it is not a JSON object".to_owned()));
            }
            let fields: BTreeMap<String, &RawValue> =
                serde_json::from_str(line).map_err(|error| invalid(error.to_string()))?;
            let texts = fields.into_iter();
            let texts = texts.map(|(name, value)| (name, value.get().to_owned()));
            Ok(Line::new(number, texts.collect(), || {
                format!("{hash}-{number}")
            }))
        })
        .collect()
}

/// Groups lines into events of up to `tasks` tasks and `bytes` bytes. A larger task gets its own
/// event.
pub(super) fn batches(lines: Vec<Line>, tasks: usize, bytes: usize) -> Vec<Vec<Line>> {
    let mut batches: Vec<Vec<Line>> = Vec::new();
    let mut size = 0;
    for line in lines {
        let length = line.task.len() + 1;
        match batches.last_mut() {
            Some(batch) if batch.len() < tasks && size + length <= bytes => {
                size += length;
                batch.push(line);
            }
            _ => {
                size = length;
                batches.push(vec![line]);
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn missing_task_id_is_derived_from_file_and_line_number() {
        let text = "{\"payload\": 1}\n\n{\"taskId\": \"a\"}\n{\"key\": \"k\"}\n";
        let lines = parse("tasks.jsonl", text).unwrap();
        let id = |line: &Line| serde_json::from_str::<Value>(&line.task).unwrap()["taskId"].clone();
        let ids: Vec<_> = lines.iter().map(id).collect();
        let first = ids[0].as_str().unwrap();
        assert!(
            first.ends_with("-1") && first.len() == HASH_LENGTH + 2,
            "{first}"
        );
        assert_eq!(ids[1..], [json!("a"), Value::Null]);
        assert_eq!(
            lines.iter().map(|line| line.number).collect::<Vec<_>>(),
            [1, 3, 4]
        );
        assert_eq!(
            parse("tasks.jsonl", text).unwrap(),
            lines,
            "a repetition gives the same ids"
        );
        let other = parse("tasks.jsonl", "{\"payload\": 2}").unwrap();
        assert_ne!(id(&other[0]), ids[0]);
        let null = parse("tasks.jsonl", "{\"taskId\": null, \"key\": null}").unwrap();
        assert!(id(&null[0]).is_string(), "{null:?}");
    }

    #[test]
    fn numbers_are_sent_as_written_and_a_byte_order_mark_is_accepted() {
        let text = "\u{feff}{\"taskId\": \"a\", \"payload\": [9007199254740993.0, 1e-400]}";
        let lines = parse("tasks.jsonl", text).unwrap();
        let task = r#"{"payload":[9007199254740993.0, 1e-400],"taskId":"a"}"#;
        assert_eq!(lines[0].task, task);
    }

    #[test]
    fn malformed_line_error_names_the_line() {
        for (text, fault) in [
            ("{}\n{", "line 2: EOF"),
            ("[]", "line 1: it is not a JSON object"),
        ] {
            let failure = parse("tasks.jsonl", text).unwrap_err().line();
            assert!(
                failure.starts_with("tasks.jsonl, ") && failure.contains(fault),
                "{failure}"
            );
        }
    }

    #[test]
    fn events_are_bounded_by_tasks_and_bytes() {
        let line = |number| Line {
            number,
            task: "x".repeat(10),
        };
        let sizes = |tasks, bytes| -> Vec<usize> {
            let batches = batches((1..=7).map(line).collect(), tasks, bytes);
            batches.iter().map(Vec::len).collect()
        };
        assert_eq!(sizes(3, 1_000), [3, 3, 1]);
        assert_eq!(sizes(100, 25), [2, 2, 2, 1]);
        assert_eq!(sizes(100, 1), [1; 7], "a large task goes alone");
    }
}
