//! Compares the inline policies of roles with the template.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Finding;
use crate::deployed::{Resource, Stack};

/// Finds permissions of the template that a policy lacks, and permissions that only the policy has.
/// `now` is `None` if the policy does not exist.
pub(super) fn check(stack: &Stack, resource: &Resource, now: Option<&Value>) -> Option<Finding> {
    let wanted = permissions(&resource.wanted["PolicyDocument"]);
    let has = permissions(now.map_or(&Value::Null, |now| &now["PolicyDocument"]));
    let lacking = wanted
        .iter()
        .filter(|wanted| !has.iter().any(|has| stack.agrees(wanted, has)));
    let added = has
        .iter()
        .filter(|has| !wanted.iter().any(|wanted| stack.agrees(wanted, has)));
    let (lacking, added) = (actions(lacking), actions(added));
    let what = match (now, lacking.as_str(), added.as_str()) {
        (None, ..) => "it does not exist".to_owned(),
        (_, "", "") => return None,
        (_, lacking, "") => format!("it lacks {lacking}, which the template allows"),
        (_, "", added) => format!("it allows {added}, which the template does not"),
        (_, lacking, added) => {
            format!("it lacks {lacking}, which the template allows, and allows {added} differently")
        }
    };
    let why = match lacking.is_empty() {
        false => "AWS denies these requests of the function, so its invocations fail",
        true => "the function has more permissions than the template allows",
    };
    Some(Finding {
        place: resource.place(),
        what,
        why: why.to_owned(),
        remedy: remedy(stack, resource),
    })
}

fn actions<'a>(permissions: impl Iterator<Item = &'a Value>) -> String {
    let names = permissions.filter_map(|there| there["Action"].as_str());
    let names: BTreeSet<_> = names.collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// Splits a policy into one statement per action and resource.
fn permissions(document: &Value) -> Vec<Value> {
    let statements = document["Statement"].as_array().into_iter().flatten();
    let permissions = statements.flat_map(|statement| {
        listed(&statement["Action"]).iter().flat_map(move |action| {
            listed(&statement["Resource"]).iter().map(move |resource| {
                json!({
                    "Action": action,
                    "Resource": resource,
                    "Effect": statement["Effect"],
                    "Condition": statement["Condition"],
                })
            })
        })
    });
    permissions.collect()
}

fn listed(value: &Value) -> &[Value] {
    match value {
        Value::Array(values) => values,
        value => std::slice::from_ref(value),
    }
}

/// Returns the command that writes the template's policy.
fn remedy(stack: &Stack, resource: &Resource) -> String {
    let (policy, role) = resource.id.split_once('|').unwrap_or_default();
    let document = &resource.wanted["PolicyDocument"];
    let command = format!(
        "aws iam put-role-policy --role-name {role} --policy-name {policy} --policy-document"
    );
    match stack.value(document) {
        Some(document) => format!("{command} '{document}'"),
        None => format!("{command} with the statements of the template: {document}"),
    }
}
