//! A fake of a small deployed stack.

use std::collections::BTreeMap;

use super::*;

const SETTINGS: &str = r#"{"concurrency":10}"#;
const BUS: &str = "arn:aws:events:y:1:event-bus/orders";
const RUNNER: &str = r#"{"kind":"http","url":"https://orders.example/run","auth":{"kind":"header","secretArn":"the-secret"}}"#;

/// Returns a template with at least one resource of each kind and the settings of a queue.
fn template() -> Value {
    let failures = json!({ "Fn::GetAtt": ["failures", "Arn"] });
    let function = json!({ "Ref": "process" });
    let resource =
        |kind: &str, properties: Value| json!({ "Type": kind, "Properties": properties });
    json!({ "Resources": {
        "table": resource("AWS::DynamoDB::Table", json!({
            "GlobalSecondaryIndexes": [{ "IndexName": "by-age" }],
            "StreamSpecification": { "StreamViewType": "NEW_AND_OLD_IMAGES" },
            "TimeToLiveSpecification": { "Enabled": true, "AttributeName": "ttl" },
            "PointInTimeRecoverySpecification": { "PointInTimeRecoveryEnabled": true },
            "DeletionProtectionEnabled": true,
            "SSESpecification": { "SSEEnabled": true },
        })),
        "process": resource("AWS::Lambda::Function", json!({
            "Timeout": 120, "MemorySize": 256, "ReservedConcurrentExecutions": 2, "RecursiveLoop": "Allow",
            "Environment": { "Variables": {
                "SETTINGS_PROCESS_TASKS": SETTINGS, "TABLE": { "Ref": "table" }, "EVENT_BUS_ARN": BUS, "TASK_RUNNER": RUNNER, "TOKEN": "{{resolve:ssm:token}}",
            }},
        })),
        "stream": resource("AWS::Lambda::EventSourceMapping", json!({
            "BatchSize": 10, "MaximumBatchingWindowInSeconds": 0, "BisectBatchOnFunctionError": true,
            "MaximumRetryAttempts": 3, "MaximumRecordAgeInSeconds": 60, "ParallelizationFactor": 2,
            "FunctionResponseTypes": ["ReportBatchItemFailures"],
            "FilterCriteria": { "Filters": [{ "Pattern": "{}" }] },
            "ScalingConfig": { "MaximumConcurrency": 10 },
            "EventSourceArn": { "Fn::GetAtt": ["intake", "Arn"] }, "FunctionName": function,
            "DestinationConfig": { "OnFailure": { "Destination": failures } },
        })),
        "invocation": resource("AWS::Lambda::EventInvokeConfig", json!({
            "FunctionName": function, "MaximumRetryAttempts": 1, "MaximumEventAgeInSeconds": 300,
            "DestinationConfig": { "OnFailure": { "Destination": failures } },
        })),
        "topic": resource("AWS::SNS::Topic", json!({ "KmsMasterKeyId": "alias/aws/sns" })),
        "subscription": resource("AWS::SNS::Subscription", json!({
            "Endpoint": { "Fn::GetAtt": ["process", "Arn"] },
            "RedrivePolicy": { "deadLetterTargetArn": failures },
        })),
        "intake": resource("AWS::SQS::Queue", json!({
            "VisibilityTimeout": 720, "MessageRetentionPeriod": 86_400, "SqsManagedSseEnabled": true,
            "RedrivePolicy": { "deadLetterTargetArn": failures, "maxReceiveCount": 10 },
        })),
        "failures": resource("AWS::SQS::Queue", json!({})),
        "schedule": resource("AWS::Scheduler::Schedule", json!({ "ScheduleExpression": "rate(1 minute)" })),
        "policy": resource("AWS::IAM::Policy", json!({
            "PolicyName": "allow", "Roles": [{ "Ref": "role" }], "PolicyDocument": { "Statement": [
                { "Action": ["dynamodb:UpdateItem", "dynamodb:GetItem"], "Effect": "Allow", "Resource": { "Fn::GetAtt": ["table", "Arn"] } },
                { "Action": "sns:Publish", "Effect": "Allow", "Resource": [{ "Ref": "topic" }] },
            ]},
        })),
        "logs": resource("AWS::Logs::LogGroup", json!({ "RetentionInDays": 7 })),
        "alarm": resource("AWS::CloudWatch::Alarm", json!({
            "AlarmActions": ["arn:aws:sns:x:1:alarms"], "Threshold": 0, "MetricName": "QueuePaused", "EvaluationPeriods": 1,
        })),
    }})
}

/// A fake stack with the settings of its template, except those that a test breaks.
#[derive(Clone)]
pub(crate) struct Fake {
    pub(crate) stack: Stack,
    pub(super) now: BTreeMap<String, Option<Value>>,
    /// The messages of the failure queue; `None` if IAM denies reading them.
    pub(crate) messages: Option<Vec<Message>>,
    /// Whether a cancelled transaction can be repeated.
    pub(crate) repeats: bool,
    /// The alarms that fire.
    pub(crate) firing: Vec<String>,
}

impl Fake {
    pub(crate) fn healthy() -> Self {
        let names = [
            "table",
            "process",
            "stream",
            "topic",
            "subscription",
            "intake",
            "failures",
            "schedule",
            "logs",
            "alarm",
            "invocation",
            "role",
        ];
        let ids = names.map(|name| (name.to_owned(), format!("the-{name}")));
        let stack = Stack::new("UPDATE_COMPLETE".to_owned(), &template(), ids.into());
        let stack = stack.at("arn:aws:cloudformation:y:1:stack/LifoQueue-dev".to_owned());
        let now = stack.resources.iter().map(|resource| {
            (
                resource.logical.clone(),
                Some(evaluated(&resource.wanted, &stack.ids)),
            )
        });
        let now = now.collect();
        Self {
            stack,
            now,
            messages: Some(vec![]),
            repeats: true,
            firing: vec![],
        }
    }

    pub(crate) fn set(&mut self, logical: &str, path: &str, value: Value) {
        let resource = self.now.get_mut(logical).unwrap().as_mut().unwrap();
        let (parents, last) = path.rsplit_once('/').unwrap();
        resource.pointer_mut(parents).unwrap()[last] = value;
    }
}

#[async_trait]
impl Deployed for Fake {
    async fn stack(&self) -> Result<Stack> {
        Ok(self.stack.clone())
    }

    async fn now(&self, kind: Kind, id: &str) -> Result<Option<Value>> {
        let is_it = |there: &&Resource| there.kind == kind && there.id == id;
        let resource = self.stack.resources.iter().find(is_it).unwrap();
        Ok(self.now[&resource.logical].clone())
    }

    async fn message(&self, _: &str, _: &str) -> Result<Option<Message>> {
        panic!("doctor receives no message")
    }

    async fn delete_message(&self, _: &str, _: &Message) -> Result<()> {
        panic!("doctor changes nothing")
    }

    async fn send_message(&self, _: &str, _: &Message) -> Result<()> {
        panic!("doctor changes nothing")
    }

    async fn invoke(&self, _: &str, _: &str) -> Result<()> {
        panic!("doctor changes nothing")
    }

    async fn firing(&self, _: &[&str]) -> Result<Vec<String>> {
        Ok(self.firing.clone())
    }

    async fn repeats_cancelled_transaction(&self, _: &str) -> Result<bool> {
        Ok(self.repeats)
    }

    async fn messages(&self, queue: &str) -> Result<Vec<Message>> {
        assert_eq!(queue, "the-failures", "only failure queues are read");
        self.messages.clone().ok_or(Failure::NoRegion)
    }
}

/// Returns the value that AWS would return for a setting.
fn evaluated(wanted: &Value, ids: &BTreeMap<String, String>) -> Value {
    match wanted {
        Value::Object(fields) if fields.contains_key("Fn::GetAtt") => {
            let logical = fields["Fn::GetAtt"][0].as_str().unwrap();
            json!(format!("arn:aws:x:y:1:{}", ids[logical]))
        }
        Value::Object(fields) if fields.contains_key("Ref") => {
            json!(ids[fields["Ref"].as_str().unwrap()])
        }
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| (name.clone(), evaluated(value, ids)));
            Value::Object(fields.collect())
        }
        Value::Array(values) => values.iter().map(|value| evaluated(value, ids)).collect(),
        // AWS returns the attributes of queues and topics as text.
        Value::Number(number) => json!(number.to_string()),
        other => other.clone(),
    }
}
