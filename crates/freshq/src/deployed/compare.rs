//! Compares the values of a template with those of a deployed resource.

use serde_json::{Map, Value};

use super::{Kind, Stack};

impl Stack {
    /// Returns whether a setting has the template's value. Also returns true if only CloudFormation
    /// can evaluate the template's value.
    pub(crate) fn agrees(&self, wanted: &Value, now: &Value) -> bool {
        let id_of = |logical: &Value| self.ids.get(logical.as_str().unwrap_or_default());
        match wanted {
            Value::Object(fields) if fields.len() == 1 => {
                if let Some(logical) = fields.get("Ref") {
                    return id_of(logical).is_none_or(|id| now.as_str() == Some(id));
                }
                if let Some(attribute) = fields.get("Fn::GetAtt") {
                    // An ARN contains the name, the last part of the id, even if the id is a URL.
                    let is_arn = attribute[1]
                        .as_str()
                        .is_some_and(|name| name.ends_with("Arn"));
                    let name = id_of(&attribute[0]).map(|id| last_part(id));
                    return name
                        .filter(|_| is_arn)
                        .is_none_or(|name| now.as_str().is_some_and(|arn| arn.contains(name)));
                }
                if fields.keys().all(|name| name.starts_with("Fn::")) {
                    return self.value(wanted).is_none_or(|value| value == *now);
                }
                self.fields_agree(fields, now)
            }
            Value::Object(fields) => self.fields_agree(fields, now),
            Value::Array(values) => now.as_array().is_some_and(|there| {
                there.len() == values.len()
                    && values
                        .iter()
                        .zip(there)
                        .all(|(wanted, now)| self.agrees(wanted, now))
            }),
            _ => plain(wanted) == plain(now),
        }
    }

    /// Returns the value that CloudFormation gives to a setting; `None` if part of it is unknown.
    pub(crate) fn value(&self, wanted: &Value) -> Option<Value> {
        match wanted {
            Value::Object(fields) if fields.len() == 1 => {
                if let Some(name) = fields.get("Ref") {
                    return self.reference(name.as_str()?).map(Value::String);
                }
                if let Some(attribute) = fields.get("Fn::GetAtt") {
                    return self.attribute(attribute).map(Value::String);
                }
                if let Some(parts) = fields.get("Fn::Join") {
                    let joined = self.value(&parts[1])?;
                    let joined = joined.as_array()?.iter().map(Value::as_str);
                    let joined: Option<Vec<_>> = joined.collect();
                    return Some(joined?.join(parts[0].as_str()?).into());
                }
                match fields.keys().any(|name| name.starts_with("Fn::")) {
                    true => None,
                    false => self.values(fields),
                }
            }
            Value::Object(fields) => self.values(fields),
            Value::Array(values) => values.iter().map(|value| self.value(value)).collect(),
            other => Some(other.clone()),
        }
    }

    fn values(&self, fields: &Map<String, Value>) -> Option<Value> {
        let values = fields
            .iter()
            .map(|(name, value)| Some((name.clone(), self.value(value)?)));
        values.collect::<Option<Map<_, _>>>().map(Value::Object)
    }

    fn reference(&self, name: &str) -> Option<String> {
        let place = match name {
            "AWS::Partition" => 1,
            "AWS::Region" => 3,
            "AWS::AccountId" => 4,
            _ => return self.ids.get(name).cloned(),
        };
        self.arn.split(':').nth(place).map(str::to_owned)
    }

    /// Returns the ARN of a resource or of a table's stream.
    fn attribute(&self, attribute: &Value) -> Option<String> {
        let named = |there: &&super::Resource| attribute[0] == there.logical.as_str();
        let resource = self.resources.iter().find(named)?;
        let id = &resource.id;
        let (service, rest) = match resource.kind {
            Kind::Table => ("dynamodb", format!("table/{id}")),
            Kind::Function => ("lambda", format!("function:{id}")),
            Kind::Queue => ("sqs", last_part(id).to_owned()),
            Kind::LogGroup => ("logs", format!("log-group:{id}:*")),
            Kind::EventBus => ("events", format!("event-bus/{id}")),
            _ => return None,
        };
        match attribute[1].as_str()? {
            "Arn" => Some(self.prefix(service)? + &rest),
            "StreamArn" => Some(self.prefix(service)? + &rest + "/stream/*"),
            _ => None,
        }
    }

    /// Returns the prefix of a service's ARNs in the stack's account and region.
    pub(super) fn prefix(&self, service: &str) -> Option<String> {
        let parts: Vec<_> = self.arn.split(':').collect();
        let [_, partition, _, region, account, ..] = parts[..] else {
            return None;
        };
        Some(format!("arn:{partition}:{service}:{region}:{account}:"))
    }

    fn fields_agree(&self, fields: &Map<String, Value>, now: &Value) -> bool {
        fields
            .iter()
            .all(|(name, wanted)| self.agrees(wanted, &now[name]))
    }
}

/// Returns a value as text, because templates and services write numbers and booleans differently.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        // CloudWatch returns 0 as 0.0.
        Value::Number(number) => number
            .as_f64()
            .map_or_else(|| number.to_string(), |number| number.to_string()),
        other => other.to_string(),
    }
}

fn last_part(id: &str) -> &str {
    id.rsplit(['/', ':']).next().unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stack() -> Stack {
        let template = json!({ "Resources": {
            "queue1": { "Type": "AWS::SQS::Queue", "Properties": {} },
            "fn1": { "Type": "AWS::Lambda::Function", "Properties": { "Timeout": 3 } },
            "table1": { "Type": "AWS::DynamoDB::Table", "Properties": {} },
        }});
        let ids = [
            ("queue1", "https://sqs.eu.amazonaws.com/1/failures"),
            ("fn1", "the-function"),
            ("table1", "tasks"),
        ];
        let ids = ids.map(|(logical, id)| (logical.to_owned(), id.to_owned()));
        Stack::new("CREATE_COMPLETE".to_owned(), &template, ids.into())
    }

    fn attribute(of: &str, name: &str) -> Value {
        json!({ "Fn::GetAtt": [of, name] })
    }

    #[test]
    fn values_are_evaluated_with_the_account_and_the_region_of_the_stack() {
        let at = "arn:aws:cloudformation:eu-west-1:111122223333:stack/LifoQueue-dev/1";
        let (unknown, stack) = (stack(), stack().at(at.to_owned()));
        let arn = attribute("table1", "Arn");
        let index = json!({ "Fn::Join": ["", [arn, "/index/by-age"]] });
        let table = "arn:aws:dynamodb:eu-west-1:111122223333:table/tasks";
        let resource = format!("{table}/index/by-age");
        let stream = format!("{table}/stream/*");
        let queue = "arn:aws:sqs:eu-west-1:111122223333:failures";
        for (wanted, value) in [
            (&arn, table),
            (&index, resource.as_str()),
            (&attribute("table1", "StreamArn"), stream.as_str()),
            (&attribute("queue1", "Arn"), queue),
            (&json!({ "Ref": "fn1" }), "the-function"),
            (&json!({ "Ref": "AWS::Region" }), "eu-west-1"),
        ] {
            assert_eq!(stack.value(wanted), Some(json!(value)), "{wanted}");
        }
        let statement = json!({ "Action": "dynamodb:Query", "Resource": index });
        let evaluated = json!({ "Action": "dynamodb:Query", "Resource": resource });
        assert_eq!(stack.value(&statement), Some(evaluated.clone()));
        assert!(stack.agrees(&statement, &evaluated));
        let other = json!({ "Action": "dynamodb:Query", "Resource": "*" });
        assert!(!stack.agrees(&statement, &other));
        assert_eq!(unknown.value(&index), None, "the account is not known");
        assert_eq!(stack.value(&json!({ "Fn::ImportValue": "x" })), None);
    }

    #[test]
    fn setting_comparison_ignores_representation() {
        let stack = stack();
        let arn = || attribute("queue1", "Arn");
        let ends_with = |end: &str| json!({ "Fn::Join": ["", ["a", { "Ref": end }]] });
        for (wanted, now, agree) in [
            (json!(30), json!("30"), true),
            (json!(0), json!(0.0), true),
            (json!("30"), json!(30.0), true),
            (json!(0.5), json!(0), false),
            (json!(86_400), json!(86_401.0), false),
            (json!(true), json!("true"), true),
            (json!(30), json!(31), false),
            (json!(null), json!(null), true),
            (json!(null), json!(5), false),
            (json!({ "Ref": "fn1" }), json!("the-function"), true),
            (json!({ "Ref": "fn1" }), json!("another"), false),
            (arn(), json!("arn:aws:sqs:eu:1:failures"), true),
            (arn(), json!(null), false),
            (ends_with("another"), json!("anything"), true),
            (ends_with("fn1"), json!("athe-function"), true),
            (ends_with("fn1"), json!("another"), false),
            (
                json!({ "a": 1, "b": { "c": "x" } }),
                json!({ "a": "1", "b": { "c": "x" }, "d": 1 }),
                true,
            ),
            (json!({ "a": 1 }), json!({}), false),
            (json!(["x"]), json!(["x", "y"]), false),
        ] {
            assert_eq!(stack.agrees(&wanted, &now), agree, "{wanted} and {now}");
        }
    }
}
