//! `freshq logs`: shows the log of a function, with the AWS CLI.

use std::process::Command;
use std::time::Duration;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use lifo_queue::task::TaskId;

use super::task_id;
use crate::agents;
use crate::aws::AwsArguments;
use crate::deployed::{Deployed, Kind, Stack};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::queue::QueueArguments;
use crate::time_format::parse_duration;

/// Shows the log of a function of the stack. Finds the log group, and runs aws logs tail, so version
/// 2 of the AWS CLI must be installed. Without it, prints the command.
#[derive(Debug, Args)]
pub(crate) struct Logs {
    /// The function, for example process-tasks
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) function: String,
    /// Only lines with this task, or with another id, for example of a request
    #[arg(long, value_name = "TASK_ID", value_parser = task_id)]
    pub(crate) task: Option<TaskId>,
    /// Only lines newer than this
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = parse_duration)]
    pub(crate) since: Duration,
    /// Shows new lines until Ctrl-C
    #[arg(long)]
    pub(crate) follow: bool,
    /// The function is one of the agents' queue of the environment, or of the one in --stack
    #[arg(long)]
    pub(crate) agents: bool,
}

impl Logs {
    /// Runs the AWS CLI on the log group of the function.
    ///
    /// # Errors
    /// [`Failure`]: no such log group, the AWS CLI is not installed, or a service did not respond.
    pub(crate) async fn show(&self, queue: &QueueArguments, aws: &AwsArguments) -> Result<Exit> {
        let of = agents::naming(self.agents);
        let (name, deployed) = queue.deployed(aws, of).await?;
        let group = group(&deployed.stack().await?, &self.function).ok_or_else(|| {
            let fault = format!("the stack {name} has no log group of a function with this name");
            Failure::input(&self.function, fault)
        })?;
        let arguments = self.arguments(&group, aws);
        match Command::new("aws").args(&arguments).status() {
            Ok(status) if status.success() => Ok(Exit::Done),
            // Version 1 of the AWS CLI exits with 2 for an unknown command, and version 2 with 252.
            Ok(status) if status.code() == Some(2) => Err(Failure::input(
                "aws logs tail",
                "it needs version 2 of the AWS CLI; aws --version shows yours",
            )),
            Ok(_) => Ok(Exit::Failed),
            Err(source) => Err(Failure::NoAwsCli {
                command: format!("aws {}", arguments.join(" ")),
                source,
            }),
        }
    }

    fn arguments(&self, group: &str, aws: &AwsArguments) -> Vec<String> {
        let since = format!("{}s", self.since.as_secs());
        let mut arguments = vec!["logs".to_owned(), "tail".to_owned(), group.to_owned()];
        let mut option = |name: &str, value: &str| {
            arguments.extend([format!("--{name}"), value.to_owned()]);
        };
        option("since", &since);
        option("format", "short");
        if let Some(task) = &self.task {
            option(
                "filter-pattern",
                &format!("\"{}\"", task.as_str().replace('"', "\\\"")),
            );
        }
        arguments.extend(aws.of_cli());
        if self.follow {
            arguments.push("--follow".to_owned());
        }
        arguments
    }
}

/// Returns a function's log group, which the CDK names after the function.
fn group(stack: &Stack, function: &str) -> Option<String> {
    let name = format!("{}logs", function.replace('-', "").to_lowercase());
    let groups = stack.resources.iter();
    let mut groups = groups.filter(|resource| resource.kind == Kind::LogGroup);
    let is_it = |logical: &str| logical.to_lowercase().contains(&name);
    let found = groups.find(|group| is_it(&group.logical))?;
    Some(found.id.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_log_group_of_a_function_is_tailed() {
        let template = json!({ "Resources": {
            "queueprocesstaskslogs4C25": { "Type": "AWS::Logs::LogGroup", "Properties": {} },
            "queuetriggerlogsB676": { "Type": "AWS::Logs::LogGroup", "Properties": {} },
        }});
        let ids = ["queueprocesstaskslogs4C25", "queuetriggerlogsB676"];
        let ids = ids.map(|id| (id.to_owned(), format!("the-{id}")));
        let stack = Stack::new(String::new(), &template, ids.into());
        let of = |function| group(&stack, function);
        assert_eq!(of("trigger").as_deref(), Some("the-queuetriggerlogsB676"));
        let process = of("process-tasks").unwrap();
        assert_eq!(process, "the-queueprocesstaskslogs4C25");
        assert_eq!(of("sweep-tasks"), None);

        let logs = Logs {
            function: "process-tasks".to_owned(),
            task: Some(TaskId::from_stored("a \"b\"")),
            since: Duration::from_secs(900),
            follow: true,
            agents: false,
        };
        let aws = AwsArguments {
            profile: Some("prod".to_owned()),
            ..AwsArguments::default()
        };
        let expected = [
            "logs",
            "tail",
            "g",
            "--since",
            "900s",
            "--format",
            "short",
            "--filter-pattern",
            r#""a \"b\"""#,
            "--profile",
            "prod",
            "--follow",
        ];
        assert_eq!(logs.arguments("g", &aws), expected);
    }
}
