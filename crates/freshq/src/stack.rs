//! Reads the outputs of a deployed stack, which name the queue's table, topic and function.

use aws_config::SdkConfig;
use aws_sdk_cloudformation::Client;
use aws_sdk_cloudformation::error::ProvideErrorMetadata;
use aws_sdk_cloudformation::types::Output;

use crate::account::Caller;
use crate::failure::{Failure, Result};

/// Prefix of a stack name; the environment's name follows.
const PREFIX: &str = "LifoQueue-";

const QUEUE_TABLE_NAME: &str = "QueueTableName";
const PROCESS_TASKS_TOPIC_ARN: &str = "ProcessTasksTopicArn";
const TRIGGER_TOPIC_ARN: &str = "TriggerTopicArn";
const CREATE_TASKS_FUNCTION_NAME: &str = "CreateTasksFunctionName";

/// The resources of a queue that `freshq` uses.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The display name of the queue.
    pub(crate) name: String,
    pub(crate) table: String,
    pub(crate) process_tasks_topic: String,
    /// The topic of tail calls, if an output names it.
    pub(crate) trigger_topic: Option<String>,
    /// The name of the stack; `None` if the command line names a table.
    pub(crate) stack: Option<String>,
    /// The name of the function that creates tasks, if an output names it.
    pub(crate) create_tasks: Option<String>,
}

/// Returns the stack name of an environment's task queue.
pub(crate) fn name_of(env: &str) -> String {
    format!("{PREFIX}{env}")
}

/// Reads the resources of a queue from the outputs of its stack
/// (<https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStacks.html>).
pub(crate) async fn find(stack: String, aws: &SdkConfig) -> Result<Place> {
    let outputs = outputs(&stack, aws).await?;
    place(stack, &outputs)
}

/// Reads the outputs of a stack.
pub(crate) async fn outputs(stack: &str, aws: &SdkConfig) -> Result<Vec<Output>> {
    let described = Client::new(aws)
        .describe_stacks()
        .stack_name(stack)
        .send()
        .await;
    let stacks = match described {
        Ok(described) => described.stacks.unwrap_or_default(),
        // DescribeStacks does not have a specific error code for a missing stack.
        Err(error)
            if error.code() == Some("ValidationError")
                && error
                    .message()
                    .is_some_and(|m| m.contains("does not exist")) =>
        {
            return Err(missing(stack, aws).await);
        }
        Err(error) => {
            return Err(Failure::Stack {
                stack: stack.to_owned(),
                region: aws.region().map(ToString::to_string).unwrap_or_default(),
                source: Box::new(error),
            });
        }
    };
    match stacks.into_iter().next() {
        Some(found) => Ok(found.outputs.unwrap_or_default()),
        None => Err(missing(stack, aws).await),
    }
}

async fn missing(stack: &str, aws: &SdkConfig) -> Failure {
    Failure::NoStack {
        stack: stack.to_owned(),
        account: Caller::new(aws).account().await.clone(),
    }
}

/// Returns the value of an output.
pub(crate) fn value(stack: &str, outputs: &[Output], output: &'static str) -> Result<String> {
    outputs
        .iter()
        .find(|there| there.output_key() == Some(output))
        .and_then(Output::output_value)
        .map(str::to_owned)
        .ok_or_else(|| Failure::NoOutput {
            stack: stack.to_owned(),
            output,
        })
}

fn place(stack: String, outputs: &[Output]) -> Result<Place> {
    let value = |output| value(&stack, outputs, output);
    Ok(Place {
        table: value(QUEUE_TABLE_NAME)?,
        process_tasks_topic: value(PROCESS_TASKS_TOPIC_ARN)?,
        trigger_topic: value(TRIGGER_TOPIC_ARN).ok(),
        create_tasks: value(CREATE_TASKS_FUNCTION_NAME).ok(),
        stack: Some(stack.clone()),
        name: stack,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(key: &str, value: &str) -> Output {
        Output::builder()
            .output_key(key)
            .output_value(value)
            .build()
    }

    #[test]
    fn queue_location_comes_from_stack_outputs() {
        let outputs = [
            output(CREATE_TASKS_FUNCTION_NAME, "create"),
            output(QUEUE_TABLE_NAME, "table"),
            output(PROCESS_TASKS_TOPIC_ARN, "arn:2"),
        ];
        let expected = Place {
            name: "LifoQueue-dev".to_owned(),
            table: "table".to_owned(),
            process_tasks_topic: "arn:2".to_owned(),
            trigger_topic: None,
            stack: Some("LifoQueue-dev".to_owned()),
            create_tasks: Some("create".to_owned()),
        };
        assert_eq!(
            place("LifoQueue-dev".to_owned(), &outputs).unwrap(),
            expected
        );
        let without = place("LifoQueue-dev".to_owned(), &outputs[1..]).unwrap();
        assert_eq!(without.create_tasks, None);
        let missing = place("LifoQueue-dev".to_owned(), &outputs[..2]).unwrap_err();
        assert!(matches!(
            missing,
            Failure::NoOutput {
                output: PROCESS_TASKS_TOPIC_ARN,
                ..
            }
        ));
    }

    #[test]
    fn queue_outputs_match_the_stack_contract() {
        let contract = include_str!("../../../tests/contract.json");
        let contract: serde_json::Value = serde_json::from_str(contract).unwrap();
        let promised = contract["outputs"].as_array().unwrap();
        for output in [
            QUEUE_TABLE_NAME,
            PROCESS_TASKS_TOPIC_ARN,
            TRIGGER_TOPIC_ARN,
            CREATE_TASKS_FUNCTION_NAME,
        ] {
            assert!(promised.contains(&output.into()), "{output}");
        }
    }
}
