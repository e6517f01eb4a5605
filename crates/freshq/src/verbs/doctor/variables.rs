//! Compares the environment variables of functions with the template.

use serde_json::Value;

use super::Finding;
use crate::deployed::{Resource, Stack};

/// Maximum number of differing settings of a variable that a finding names.
const NAMED: usize = 5;

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
        what: format!("the variable {name} {}", difference(wanted, now)),
        why: "the function runs with settings that were not deployed; a higher rate or concurrency may overload the downstream".to_owned(),
        remedy: format!(
            "aws lambda get-function-configuration --function-name {id} --query Environment --output json | jq -c --arg v '{}' '.Variables.{name}=$v' | xargs -0 aws lambda update-function-configuration --function-name {id} --environment",
            wanted.replace('\'', r"'\''"),
            id = resource.id,
        ),
    })
}

/// Describes the settings that differ if the variable contains JSON. Omits other values, because
/// they may be secrets.
fn difference(wanted: &str, now: Option<&str>) -> String {
    let Some(now) = now else {
        return "is not set, but the template sets it".to_owned();
    };
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
    use super::difference;

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
            assert_eq!(difference(wanted, now), text);
        }
        assert_eq!(
            difference("a secret", Some("another")),
            "differs from the template"
        );
        let many =
            |n: i32| format!(r#"{{"a":{n},"b":{n},"c":{n},"d":{n},"e":{n},"f":{n},"g":{n}}}"#);
        let many = difference(&many(1), Some(&many(2)));
        assert!(
            many.ends_with("; e is 2, and 1 in the template; 2 more settings differ"),
            "{many}"
        );
    }
}
