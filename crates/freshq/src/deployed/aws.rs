//! Reads a deployed stack with the clients of its services.

use std::collections::BTreeMap;
use std::process::Command;

use async_trait::async_trait;
use aws_config::SdkConfig;
use aws_sdk_cloudformation::error::ProvideErrorMetadata;
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_lambda::types::InvocationType;
use lifo_queue::store::Source;
use serde_json::Value;

use super::{Deployed, Kind, Message, Stack};
use crate::failure::{Failure, Result};

/// Error codes with which the services report that a resource does not exist.
const MISSING: [&str; 5] = [
    "ResourceNotFoundException",
    "NotFound",
    "NotFoundException",
    "AWS.SimpleQueueService.NonExistentQueue",
    "QueueDoesNotExist",
];

/// Error code of the Cloud Control API for a resource type that it does not support.
const UNKNOWN_TYPE: &str = "TypeNotFoundException";

pub(crate) struct AwsStack {
    name: String,
    /// The options of the AWS CLI that select the region, the profile and the address.
    cli: Vec<String>,
    /// Whether the stack is on a local AWS, which drops some settings and whose Cloud Control API
    /// supports few of the deployed resources.
    pub(super) is_local: bool,
    cloudformation: aws_sdk_cloudformation::Client,
    pub(super) cloudcontrol: aws_sdk_cloudcontrol::Client,
    pub(super) dynamodb: aws_sdk_dynamodb::Client,
    pub(super) lambda: aws_sdk_lambda::Client,
    pub(super) sns: aws_sdk_sns::Client,
    pub(super) sqs: aws_sdk_sqs::Client,
}

impl AwsStack {
    pub(crate) fn new(name: String, aws: &SdkConfig) -> Self {
        Self {
            name,
            cli: Vec::new(),
            is_local: aws.endpoint_url().is_some(),
            cloudformation: aws_sdk_cloudformation::Client::new(aws),
            cloudcontrol: aws_sdk_cloudcontrol::Client::new(aws),
            dynamodb: aws_sdk_dynamodb::Client::new(aws),
            lambda: aws_sdk_lambda::Client::new(aws),
            sns: aws_sdk_sns::Client::new(aws),
            sqs: aws_sdk_sqs::Client::new(aws),
        }
    }

    /// Sets the options for the AWS CLI.
    pub(crate) fn with_cli(self, cli: Vec<String>) -> Self {
        Self { cli, ..self }
    }

    /// Reads the physical ids of the resources, by logical id.
    async fn ids(&self) -> Result<BTreeMap<String, String>> {
        let resources = self.cloudformation.list_stack_resources();
        let mut pages = resources.stack_name(&self.name).into_paginator().send();
        let mut ids = BTreeMap::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| failed("ListStackResources", error))?;
            for resource in page.stack_resource_summaries() {
                let logical = resource.logical_resource_id().unwrap_or_default();
                let id = resource.physical_resource_id().unwrap_or_default();
                ids.insert(logical.to_owned(), id.to_owned());
            }
        }
        Ok(ids)
    }

    async fn template(&self) -> Result<Value> {
        let read = self.cloudformation.get_template().stack_name(&self.name);
        let read = read
            .send()
            .await
            .map_err(|error| failed("GetTemplate", error))?;
        let body = read.template_body().unwrap_or_default();
        serde_json::from_str(body).map_err(|error| failed("GetTemplate", error))
    }

    /// Reads the status and the ARN of the stack.
    async fn status(&self) -> Result<(String, String)> {
        let read = self.cloudformation.describe_stacks().stack_name(&self.name);
        let read = read
            .send()
            .await
            .map_err(|error| failed("DescribeStacks", error))?;
        let stack = read.stacks().first();
        let status = stack.and_then(|stack| stack.stack_status());
        let status = status.map(ToString::to_string).unwrap_or_default();
        let arn = stack.and_then(|stack| stack.stack_id());
        Ok((status, arn.unwrap_or_default().to_owned()))
    }

    /// Reads settings with the Cloud Control API, which names them as templates do. This API
    /// replaces the clients of three services, which would add minutes to the compile time.
    async fn by_cloud_control(&self, kind: &str, id: &str) -> Result<Option<Value>> {
        let read = self
            .cloudcontrol
            .get_resource()
            .type_name(kind)
            .identifier(id);
        let read = match read.send().await {
            Err(error) if self.is_local && error.code() == Some(UNKNOWN_TYPE) => {
                return Err(Failure::NotLocal);
            }
            read => read,
        };
        let Some(read) = found("GetResource", read)? else {
            return Ok(None);
        };
        let properties = read
            .resource_description()
            .and_then(|there| there.properties());
        let properties = serde_json::from_str(properties.unwrap_or("null"));
        properties
            .map(Some)
            .map_err(|error| failed("GetResource", error))
    }
}

#[async_trait]
impl Deployed for AwsStack {
    async fn stack(&self) -> Result<Stack> {
        let template = self.template().await?;
        let (status, arn) = self.status().await?;
        let stack = Stack::new(status, &template, self.ids().await?).at(arn);
        Ok(Stack {
            is_local: self.is_local,
            ..stack
        })
    }

    async fn now(&self, kind: Kind, id: &str) -> Result<Option<Value>> {
        match kind {
            Kind::Table => self.table(id).await,
            Kind::Function => self.function(id).await,
            Kind::EventSource => self.event_source(id).await,
            Kind::Invocation => self.invocation(id).await,
            Kind::Topic => self.topic(id).await,
            Kind::Subscription => self.subscription(id).await,
            Kind::Queue => self.queue(id).await,
            Kind::Schedule => self.by_cloud_control("AWS::Scheduler::Schedule", id).await,
            Kind::LogGroup => self.by_cloud_control("AWS::Logs::LogGroup", id).await,
            Kind::Alarm => self.by_cloud_control("AWS::CloudWatch::Alarm", id).await,
            // The Cloud Control API cannot read AWS::IAM::Policy.
            Kind::Policy => self.by_cloud_control("AWS::IAM::RolePolicy", id).await,
            Kind::EventBus => self.by_cloud_control("AWS::Events::EventBus", id).await,
        }
    }

    async fn messages(&self, queue: &str) -> Result<Vec<Message>> {
        self.receive(queue, 0).await
    }

    async fn message(&self, queue: &str, id: &str) -> Result<Option<Message>> {
        self.one(queue, id).await
    }

    async fn delete_message(&self, queue: &str, message: &Message) -> Result<()> {
        let delete = self.sqs.delete_message().queue_url(queue);
        let deleted = delete.receipt_handle(&message.receipt).send().await;
        deleted.map_err(|error| failed("DeleteMessage", error))?;
        Ok(())
    }

    async fn send_message(&self, queue: &str, message: &Message) -> Result<()> {
        self.send(queue, message).await
    }

    async fn invoke(&self, function: &str, event: &str) -> Result<()> {
        let invoke = self.lambda.invoke().function_name(function);
        let invoke = invoke.invocation_type(InvocationType::Event);
        let invoked = invoke.payload(Blob::new(event)).send().await;
        invoked.map_err(|error| failed("Invoke", error))?;
        Ok(())
    }

    async fn firing(&self, alarms: &[&str]) -> Result<Vec<String>> {
        if self.is_local {
            return Err(Failure::NotLocal);
        }
        let query = "MetricAlarms[?StateValue=='ALARM'].AlarmName";
        let mut line = vec![
            "cloudwatch",
            "describe-alarms",
            "--query",
            query,
            "--output",
            "json",
        ];
        line.extend(self.cli.iter().map(String::as_str));
        line.push("--alarm-names");
        line.extend(alarms);
        let ran = Command::new("aws").args(&line).output();
        let ran = ran.map_err(|source| Failure::NoAwsCli {
            command: format!("aws {}", line.join(" ")),
            source,
        })?;
        if !ran.status.success() {
            let error = String::from_utf8_lossy(&ran.stderr).into_owned();
            return Err(failed("DescribeAlarms", error));
        }
        serde_json::from_slice(&ran.stdout).map_err(|error| failed("DescribeAlarms", error))
    }

    async fn repeats_cancelled_transaction(&self, table: &str) -> Result<bool> {
        self.repeats_cancelled(table).await
    }
}

/// Returns the response, or `None` if the service reports that the resource does not exist.
pub(super) fn found<T, E>(operation: &'static str, result: Result<T, E>) -> Result<Option<T>>
where
    E: ProvideErrorMetadata + Into<Source>,
{
    match result {
        Ok(response) => Ok(Some(response)),
        Err(error) if error.code().is_some_and(|code| MISSING.contains(&code)) => Ok(None),
        Err(error) => Err(failed(operation, error)),
    }
}

pub(super) fn failed(operation: &'static str, error: impl Into<Source>) -> Failure {
    Failure::Service {
        operation,
        source: error.into(),
    }
}
