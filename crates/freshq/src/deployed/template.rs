//! Parses the template of a deployed stack.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// The kinds of resources that `freshq doctor` checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Table,
    Function,
    EventSource,
    Invocation,
    Topic,
    Subscription,
    Queue,
    Schedule,
    LogGroup,
    Alarm,
    Policy,
    EventBus,
}

impl Kind {
    /// Returns the kind of a CloudFormation type; `None` for a type that is not checked.
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "AWS::DynamoDB::Table" | "AWS::DynamoDB::GlobalTable" => Self::Table,
            "AWS::Lambda::Function" => Self::Function,
            "AWS::Lambda::EventSourceMapping" => Self::EventSource,
            "AWS::Lambda::EventInvokeConfig" => Self::Invocation,
            "AWS::SNS::Topic" => Self::Topic,
            "AWS::SNS::Subscription" => Self::Subscription,
            "AWS::SQS::Queue" => Self::Queue,
            "AWS::Scheduler::Schedule" => Self::Schedule,
            "AWS::Logs::LogGroup" => Self::LogGroup,
            "AWS::CloudWatch::Alarm" => Self::Alarm,
            "AWS::IAM::Policy" => Self::Policy,
            "AWS::Events::EventBus" => Self::EventBus,
            _ => return None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Function => "function",
            Self::EventSource => "event source mapping",
            Self::Invocation => "asynchronous invocation of function",
            Self::Topic => "topic",
            Self::Subscription => "subscription",
            Self::Queue => "queue",
            Self::Schedule => "schedule",
            Self::LogGroup => "log group",
            Self::Alarm => "alarm",
            Self::Policy => "policy",
            Self::EventBus => "event bus",
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Resource {
    pub(crate) kind: Kind,
    pub(crate) logical: String,
    /// The physical id by which the service knows the resource; empty if it was never created.
    pub(crate) id: String,
    /// The settings in the template, completed with defaults.
    pub(crate) wanted: Value,
}

impl Resource {
    /// Returns the kind and the ids as text.
    pub(crate) fn place(&self) -> String {
        let (kind, logical) = (self.kind.name(), &self.logical);
        match self.id.as_str() {
            "" => format!("{kind} {logical}"),
            id => format!("{kind} {} ({logical})", id.replace('|', " of role ")),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Stack {
    /// The CloudFormation status, for example UPDATE_COMPLETE.
    pub(crate) status: String,
    pub(crate) resources: Vec<Resource>,
    /// The physical ids of the resources, by logical id.
    pub(crate) ids: BTreeMap<String, String>,
    /// The ARN of the stack; empty if it is unknown.
    pub(super) arn: String,
    /// Whether the stack is on a local AWS, which drops some settings.
    pub(crate) is_local: bool,
}

impl Stack {
    /// Creates a stack with the resources of its template that have a [`Kind`].
    pub(crate) fn new(status: String, template: &Value, ids: BTreeMap<String, String>) -> Self {
        let nothing = Map::new();
        let resources = template["Resources"].as_object().unwrap_or(&nothing);
        let resources = resources.iter().filter_map(|(logical, resource)| {
            let kind = Kind::of(resource["Type"].as_str()?)?;
            let wanted = completed(kind, resource["Properties"].clone());
            let id = match kind {
                // Lambda identifies this configuration by its function, not by CloudFormation's id.
                Kind::Invocation => ids.get(wanted["FunctionName"]["Ref"].as_str()?).cloned(),
                // The identifier that the Cloud Control API requires for AWS::IAM::RolePolicy.
                Kind::Policy => {
                    let role = ids.get(wanted["Roles"][0]["Ref"].as_str()?)?;
                    Some(format!("{}|{role}", wanted["PolicyName"].as_str()?))
                }
                _ => ids.get(logical).cloned(),
            };
            Some(Resource {
                kind,
                logical: logical.clone(),
                id: id.unwrap_or_default(),
                wanted,
            })
        });
        Self {
            status,
            resources: resources.collect(),
            ids,
            arn: String::new(),
            is_local: false,
        }
    }

    /// Sets the stack's ARN, from which the ARNs of its resources are derived. Also adds the custom
    /// event buses in its account and region to which its functions publish.
    pub(crate) fn at(mut self, arn: String) -> Self {
        self.arn = arn;
        let path = "/Environment/Variables/EVENT_BUS_ARN";
        let functions = self.resources.iter();
        let buses = functions.filter_map(|there| self.value(there.wanted.pointer(path)?));
        let buses = buses.filter_map(|bus| {
            let name = bus.as_str()?.strip_prefix(&self.prefix("events")?)?;
            Some(name.strip_prefix("event-bus/")?.to_owned())
        });
        let foreign: Vec<_> = buses
            .filter(|name| name != "default" && !self.ids.values().any(|id| id == name))
            .collect();
        self.resources
            .extend(foreign.into_iter().map(|id| Resource {
                kind: Kind::EventBus,
                logical: "of count-shed".to_owned(),
                id,
                wanted: json!({}),
            }));
        self
    }

    /// Returns whether another resource sends its failed events or messages to this queue.
    pub(crate) fn takes_failures(&self, queue: &str) -> bool {
        let targets = [
            "/DestinationConfig/OnFailure/Destination",
            "/RedrivePolicy/deadLetterTargetArn",
            "/Target/DeadLetterConfig/Arn",
        ];
        self.resources.iter().any(|resource| {
            let named = targets
                .iter()
                .filter_map(|path| resource.wanted.pointer(path));
            named
                .into_iter()
                .any(|target| target["Fn::GetAtt"][0] == queue)
        })
    }

    /// Returns the settings of `process-tasks`; `None` if the stack is not a task queue.
    fn processing(&self) -> Option<Value> {
        let path = "/Environment/Variables/SETTINGS_PROCESS_TASKS";
        let functions = self.resources.iter();
        let mut settings = functions.filter_map(|there| there.wanted.pointer(path)?.as_str());
        serde_json::from_str(settings.next()?).ok()
    }

    /// Returns the maximum number of running tasks; `None` if the stack is not a task queue.
    pub(crate) fn concurrency(&self) -> Option<usize> {
        usize::try_from(self.processing()?["concurrency"].as_u64()?).ok()
    }

    /// Returns whether the queue starts the newest task first, not the oldest key.
    pub(crate) fn is_newest_first(&self) -> bool {
        let processing = self.processing().unwrap_or_default();
        processing["order"] != "oldest-key-first"
    }

    /// Returns the runner setting.
    fn runner(&self) -> Option<Value> {
        let path = "/Environment/Variables/TASK_RUNNER";
        let functions = self.resources.iter();
        let runner = functions
            .filter_map(|there| self.value(there.wanted.pointer(path)?))
            .next()?;
        serde_json::from_str(runner.as_str()?).ok()
    }

    /// Returns the ARN of the secret that the runner sends to the downstream.
    pub(crate) fn secret(&self) -> Option<String> {
        Some(self.runner()?["auth"]["secretArn"].as_str()?.to_owned())
    }

    /// Returns the name of the function that runs the tasks, or a URL without its query.
    pub(crate) fn downstream(&self) -> Option<String> {
        let runner = self.runner()?;
        let name = match runner["url"].as_str() {
            Some(url) => url.split('?').next()?,
            None => runner["functionArn"].as_str()?.split(':').nth(6)?,
        };
        Some(name.to_owned())
    }

    /// Returns the queue whose dead-letter queue is `queue`.
    pub(crate) fn source(&self, queue: &str) -> Option<&Resource> {
        self.resources.iter().find(|resource| {
            let target = resource
                .wanted
                .pointer("/RedrivePolicy/deadLetterTargetArn");
            resource.kind == Kind::Queue
                && target.is_some_and(|target| target["Fn::GetAtt"][0] == queue)
        })
    }

    /// Returns the timeout, in seconds, of the function that reads this queue.
    pub(crate) fn reader_timeout(&self, queue: &str) -> Option<u64> {
        let reads = |resource: &&Resource| {
            resource.kind == Kind::EventSource
                && resource.wanted["EventSourceArn"]["Fn::GetAtt"][0] == queue
        };
        let mapping = self.resources.iter().find(reads)?;
        let function = mapping.wanted["FunctionName"]["Ref"].as_str()?;
        let function = self
            .resources
            .iter()
            .find(|there| there.logical == function)?;
        function.wanted["Timeout"].as_u64()
    }
}

/// Completes the template's settings with the AWS defaults and the states of a healthy resource.
/// Settings of a global table's first replica count as settings of the table.
fn completed(kind: Kind, mut wanted: Value) -> Value {
    if let Some(replica) = wanted["Replicas"].get(0).cloned() {
        merge(&mut wanted, replica);
    }
    let defaults = match kind {
        Kind::Table => {
            let indexes = wanted["GlobalSecondaryIndexes"].as_array().cloned();
            let names = indexes.unwrap_or_default().into_iter();
            let active = names.filter_map(|index| {
                Some((index["IndexName"].as_str()?.to_owned(), json!("ACTIVE")))
            });
            json!({
                "TableStatus": "ACTIVE",
                "Indexes": active.collect::<Map<_, _>>(),
                "DeletionProtectionEnabled": false,
                "PointInTimeRecoverySpecification": { "PointInTimeRecoveryEnabled": false },
            })
        }
        Kind::Function => json!({
            "ReservedConcurrentExecutions": null,
            "RecursiveLoop": "Terminate",
            "State": "Active",
        }),
        Kind::EventSource => json!({ "State": "Enabled" }),
        Kind::Queue => json!({ "VisibilityTimeout": 30 }),
        Kind::Subscription => json!({ "PendingConfirmation": false }),
        Kind::Schedule => json!({ "State": "ENABLED" }),
        Kind::LogGroup => json!({ "RetentionInDays": null }),
        Kind::Alarm => json!({ "ActionsEnabled": true }),
        Kind::Invocation | Kind::Topic | Kind::Policy | Kind::EventBus => json!({}),
    };
    let mut complete = defaults;
    merge(&mut complete, wanted);
    complete
}

fn merge(into: &mut Value, from: Value) {
    if let (Some(into), Value::Object(from)) = (into.as_object_mut(), from) {
        into.extend(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack() -> Stack {
        let template = json!({ "Resources": {
            "queue1": { "Type": "AWS::SQS::Queue", "Properties": {} },
            "fn1": { "Type": "AWS::Lambda::Function", "Properties": { "Timeout": 3 } },
            "role": { "Type": "AWS::IAM::Role" },
            "async1": { "Type": "AWS::Lambda::EventInvokeConfig", "Properties": { "FunctionName": { "Ref": "fn1" } } },
        }});
        let ids = [
            ("queue1", "https://sqs.eu.amazonaws.com/1/failures"),
            ("fn1", "the-function"),
        ];
        let ids = ids.map(|(logical, id)| (logical.to_owned(), id.to_owned()));
        Stack::new("CREATE_COMPLETE".to_owned(), &template, ids.into())
    }

    #[test]
    fn a_template_is_read_with_its_defaults() {
        let resources = stack().resources;
        let found: Vec<_> = resources
            .iter()
            .map(|there| (there.kind, there.id.as_str()))
            .collect();
        let url = "https://sqs.eu.amazonaws.com/1/failures";
        let expected = [
            (Kind::Invocation, "the-function"),
            (Kind::Function, "the-function"),
            (Kind::Queue, url),
        ];
        assert_eq!(found, expected);
        assert_eq!(resources[1].wanted["Timeout"], json!(3));
        assert_eq!(resources[1].wanted["RecursiveLoop"], json!("Terminate"));
        assert_eq!(resources[2].wanted["VisibilityTimeout"], json!(30));
    }

    #[test]
    fn concurrency_and_downstream_are_read_from_the_settings_of_process_tasks() {
        let arn = "arn:aws:lambda:eu-west-1:111122223333:function:work:live";
        for (runner, downstream) in [
            (json!({ "kind": "lambda", "functionArn": arn }), "work"),
            (
                json!({ "kind": "http", "url": "https://a.example/b?c=d" }),
                "https://a.example/b",
            ),
        ] {
            let variables = json!({ "SETTINGS_PROCESS_TASKS": "{\"concurrency\":12}", "TASK_RUNNER": runner.to_string() });
            let function = json!({ "Type": "AWS::Lambda::Function", "Properties": { "Environment": { "Variables": variables } } });
            let template = json!({ "Resources": { "process": function } });
            let queue = Stack::new(String::new(), &template, BTreeMap::new());
            assert_eq!(queue.concurrency(), Some(12));
            assert_eq!(queue.downstream().as_deref(), Some(downstream));
        }
        assert_eq!(stack().concurrency(), None, "no task queue");
    }
}
