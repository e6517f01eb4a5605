//! Compares the settings of resources with the template.

use serde_json::Value;

use super::Finding;
use super::known::{Setting, settings};
use crate::deployed::{Kind, Message, Resource, Stack};

/// Compares a resource with the template. Returns the number of compared settings and the findings.
/// `now` is `None` if the resource does not exist. `messages` is a sample of a failure queue.
pub(super) fn check(
    stack: &Stack,
    resource: &Resource,
    now: Option<&Value>,
    messages: &[Message],
) -> (usize, Vec<Finding>) {
    if resource.kind == Kind::Policy {
        let finding = super::policies::check(stack, resource, now);
        return (1, finding.into_iter().collect());
    }
    let Some(now) = now else {
        return (1, vec![missing(resource)]);
    };
    let compared = settings(resource.kind).iter().filter_map(|setting| {
        let wanted = resource.wanted.pointer(setting.0)?;
        Some(compare(stack, resource, setting, wanted, now))
    });
    let compared: Vec<Option<Finding>> = compared.collect();
    let mut findings: Vec<Finding> = compared.iter().flatten().cloned().collect();
    let (variables, changed) = super::variables::check(stack, resource, now);
    findings.extend(changed);
    findings.extend(super::state::messages(stack, resource, now, messages));
    findings.extend(super::state::misspelled(resource, now));
    let exists = usize::from(resource.kind == Kind::EventBus);
    (compared.len() + variables + exists, findings)
}

fn missing(resource: &Resource) -> Finding {
    let (why, remedy) = match resource.kind {
        Kind::EventBus => (
            "the events of ended tasks are not published, and the count of shed tasks is late",
            format!(
                "aws events create-event-bus --name {}; then restore the rules of the bus. Lambda repeats what could not be published in the last 6 hours",
                resource.id
            ),
        ),
        _ => (
            "the template defines it, and the queue needs it",
            "it was deleted manually: remove it from the template, deploy, add it again, and deploy"
                .to_owned(),
        ),
    };
    Finding {
        place: resource.place(),
        what: "it does not exist".to_owned(),
        why: why.to_owned(),
        remedy,
    }
}

fn compare(
    stack: &Stack,
    resource: &Resource,
    setting: &Setting,
    wanted: &Value,
    now: &Value,
) -> Option<Finding> {
    let Setting(path, why, remedy) = setting;
    let now = now.pointer(path).unwrap_or(&Value::Null);
    let dropped = stack.is_local && now.is_null();
    (!dropped && !stack.agrees(wanted, now)).then(|| Finding {
        place: resource.place(),
        what: format!(
            "{} is {}, and {} in the template",
            &path[1..],
            without_query(now),
            without_query(wanted)
        ),
        why: (*why).to_owned(),
        remedy: remedy
            .replace("{id}", &resource.id)
            .replace("{wanted}", &text(&without_query(wanted))),
    })
}

/// Removes the query from a URL, because it may contain a secret.
fn without_query(value: &Value) -> Value {
    match value {
        Value::String(url) if url.contains("://") => match url.split_once('?') {
            Some((place, _)) => format!("{place}?…").into(),
            None => value.clone(),
        },
        other => other.clone(),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
