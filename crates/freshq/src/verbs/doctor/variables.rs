//! Compares the environment variables of functions with the template.

use serde_json::Value;

use super::Finding;
use crate::deployed::{Resource, Stack};

/// Maximum number of differing settings of a variable that a finding names.
const NAMED: usize = 5;

/// The queue's own variables, besides its settings.
const OWN: [&str; 12] = [
    "TASK_TABLE_NAME",
    "PROCESS_TASKS_TOPIC_ARN",
    "TRIGGER_TOPIC_ARN",
    "TASK_RUNNER",
    "SHED_QUEUE_URL",
    "EVENT_BUS_ARN",
    "INGEST_QUEUE_URL",
    "INGEST_DEAD_LETTER_QUEUE_URL",
    "AGENT_TABLE_NAME",
    "ASSIGNMENT_TOPIC_ARN",
    "CALL_QUEUE_URL",
    "CALL_DEAD_LETTER_QUEUE_URL",
];

/// Prefix of a dynamic reference, which CloudFormation replaces with a secret or parameter.
const DYNAMIC: &str = "{{resolve:";

/// Compares the environment variables of a function. Returns their number and one finding per
/// difference. Skips variables that only CloudFormation can evaluate or that Lambda cannot decrypt.
pub(super) fn check(stack: &Stack, resource: &Resource, now: &Value) -> (usize, Vec<Finding>) {
    let path = "/Environment/Variables";
    let variables = resource.wanted.pointer(path).and_then(Value::as_object);
    let compared = variables
        .into_iter()
        .flatten()
        .filter_map(|(name, wanted)| {
            let wanted = stack.value(wanted)?;
            let wanted = wanted.as_str().filter(|text| !text.contains(DYNAMIC))?;
            let now = now.pointer(path)?[name].as_str();
            Some(compare(resource, name, wanted, now))
        });
    let compared: Vec<_> = compared.collect();
    (compared.len(), compared.into_iter().flatten().collect())
}

fn compare(resource: &Resource, name: &str, wanted: &str, now: Option<&str>) -> Option<Finding> {
    (now != Some(wanted)).then(|| Finding {
        place: resource.place(),
        what: format!("the variable {name} {}", difference(name, wanted, now)),
        why: "the function runs with settings that were not deployed; a higher rate or concurrency may overload the downstream".to_owned(),
        remedy: match is_printable(name, wanted) {
            true => format!(
                "aws lambda get-function-configuration --function-name {id} --query Environment --output json | jq -c --arg v '{}' '.Variables.{name}=$v' | xargs -0 aws lambda update-function-configuration --function-name {id} --environment",
                wanted.replace('\'', r"'\''"),
                id = resource.id,
            ),
            false => format!("deploy with a changed value of {name}, then with the old value again; doctor does not print the value, because it may contain a secret"),
        },
    })
}

/// Whether the value of a variable may be printed: only the queue's own variables contain no
/// secrets, and a URL in them may contain one in its query.
fn is_printable(name: &str, value: &str) -> bool {
    let is_own = name.starts_with("SETTINGS_") || OWN.contains(&name);
    is_own && !value.contains('?')
}

/// Describes the settings that differ if the variable is one of the queue's own and contains JSON.
/// Omits other values, because they may be secrets.
fn difference(name: &str, wanted: &str, now: Option<&str>) -> String {
    let Some(now) = now else {
        return "is not set, but the template sets it".to_owned();
    };
    if ![wanted, now].iter().all(|value| is_printable(name, value)) {
        return "differs from the template".to_owned();
    }
    let parsed = |text| serde_json::from_str::<Value>(text).ok();
    let mut settings = Vec::new();
    if let (Some(wanted), Some(now)) = (parsed(wanted), parsed(now)) {
        different("", &wanted, &now, &mut settings);
    }
    let more = settings.len().saturating_sub(NAMED);
    settings.truncate(NAMED);
    if more > 0 {
        settings.push(format!("{more} more settings differ"));
    }
    match settings.as_slice() {
        [] => "differs from the template".to_owned(),
        settings => format!("differs: {}", settings.join("; ")),
    }
}

/// Adds each setting that differs, with both values.
fn different(name: &str, wanted: &Value, now: &Value, settings: &mut Vec<String>) {
    if let (Value::Object(wanted), Value::Object(now)) = (wanted, now) {
        let added = now.keys().filter(|key| !wanted.contains_key(*key));
        for key in wanted.keys().chain(added) {
            let inner = match name {
                "" => key.clone(),
                outer => format!("{outer}.{key}"),
            };
            let [wanted, now] = [wanted, now].map(|of| of.get(key).unwrap_or(&Value::Null));
            different(&inner, wanted, now, settings);
        }
    } else if wanted != now && !name.is_empty() {
        settings.push(format!("{name} is {now}, and {wanted} in the template"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deployed::Kind;

    #[test]
    fn difference_names_settings_but_hides_other_values() {
        let wanted = r#"{"concurrency":10,"breaker":{"maxReturns":500},"order":"newest-first"}"#;
        for (now, text) in [
            (None, "is not set, but the template sets it"),
            (Some("not JSON"), "differs from the template"),
            (
                Some(r#"{"concurrency":100,"breaker":{"maxReturns":500},"order":"newest-first"}"#),
                "differs: concurrency is 100, and 10 in the template",
            ),
            (
                Some(r#"{"concurrency":10,"breaker":{"maxReturns":5},"rate":1}"#),
                "differs: breaker.maxReturns is 5, and 500 in the template; order is null, and \"newest-first\" in the template; rate is 1, and null in the template",
            ),
        ] {
            assert_eq!(difference("SETTINGS_TRIGGER", wanted, now), text);
        }
        let differs = "differs from the template";
        assert_eq!(difference("TABLE", "a secret", Some("another")), differs);
        let other = difference(
            "OTHERS",
            r#"{"key":"secret"}"#,
            Some(r#"{"key":"another"}"#),
        );
        assert_eq!(other, differs);
        let many =
            |n: i32| format!(r#"{{"a":{n},"b":{n},"c":{n},"d":{n},"e":{n},"f":{n},"g":{n}}}"#);
        let many = difference("SETTINGS_TRIGGER", &many(1), Some(&many(2)));
        assert!(
            many.ends_with("; e is 2, and 1 in the template; 2 more settings differ"),
            "{many}"
        );
    }

    #[test]
    fn no_finding_contains_a_value_that_may_be_a_secret() {
        let resource = Resource {
            logical: "process".to_owned(),
            kind: Kind::Function,
            id: "the-process".to_owned(),
            wanted: Value::Null,
        };
        let runner = |query: &str| format!(r#"{{"url":"https://orders.example/run{query}"}}"#);
        for (name, wanted, now) in [
            ("TOKEN", "s3cret".to_owned(), "s3cret-2".to_owned()),
            (
                "DATABASE",
                r#"{"password":"s3cret"}"#.to_owned(),
                r#"{"password":"s3cret-2"}"#.to_owned(),
            ),
            ("TASK_RUNNER", runner("?key=s3cret"), runner("")),
            ("TASK_RUNNER", runner(""), runner("?key=s3cret")),
        ] {
            let finding = compare(&resource, name, &wanted, Some(&now)).unwrap();
            let text = format!("{finding:?}");
            assert!(!text.contains("s3cret"), "{text}");
        }
        let finding = compare(&resource, "TASK_RUNNER", &runner(""), Some("{}")).unwrap();
        assert!(finding.remedy.contains(&runner("")), "{finding:?}");
    }

    #[test]
    fn own_variables_are_those_of_the_contract() {
        let contract: Value =
            serde_json::from_str(include_str!("../../../../../tests/contract.json")).unwrap();
        let queues = [
            &contract["environment"],
            &contract["agentQueue"]["environment"],
        ];
        let functions = queues
            .iter()
            .flat_map(|functions| functions.as_object().unwrap().values());
        let mut names: Vec<_> = functions
            .flat_map(|names| names.as_array().unwrap())
            .map(|name| name.as_str().unwrap())
            .collect();
        names.sort_unstable();
        names.dedup();
        let mut own = super::OWN;
        own.sort_unstable();
        assert_eq!(own.as_slice(), names);
    }
}
