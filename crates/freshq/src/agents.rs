//! The verbs of the agents' queue. Each sends a command to the `agent-desk` function (the desk).

mod command;
mod response;

use std::sync::Arc;

use aws_config::SdkConfig;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use serde::Serialize;
use serde_json::{Value, json};

pub(crate) use self::command::{AgentVerb, Agents, Call, Calls, Match, Queues};
pub(crate) use self::response::{PENDING, agent, call, pending_calls, readable, report};
use crate::account::Caller;
use crate::aws::{self, AwsArguments};
use crate::deployed::{AwsStack, Deployed};
use crate::failure::Result;
use crate::function::{Function, LambdaFunction};
use crate::queue::StackName;
use crate::report::{Format, Report};
use crate::stack;

/// Prefix of a stack name; the environment's name follows.
const PREFIX: &str = "AgentQueue-";

/// The stack output that contains the name of the desk function.
pub(crate) const AGENT_DESK_FUNCTION_NAME: &str = "AgentDeskFunctionName";

/// The names of the read-only commands.
const READS: [&str; 4] = ["agents", "queues", "calls", "call"];

/// Returns the stack name of an environment's agents' queue.
pub(crate) fn stack_of(env: &str) -> String {
    format!("{PREFIX}{env}")
}

/// Returns the function that builds the stack name of an agents' queue or of a task queue.
pub(crate) fn naming(agents: bool) -> fn(&str) -> String {
    match agents {
        true => stack_of,
        false => stack::name_of,
    }
}

/// Which agents' queue, and the output format.
#[derive(Debug, Args)]
pub(crate) struct DeskArguments {
    /// The queue of the stack AgentQueue-<ENV>; by default FRESHQ_ENV
    #[arg(long, conflicts_with = "stack", value_parser = NonEmptyStringValueParser::new(), help_heading = "Which queue")]
    pub(crate) env: Option<String>,
    /// The queue of this stack; by default FRESHQ_STACK
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), help_heading = "Which queue")]
    pub(crate) stack: Option<String>,
    #[command(flatten)]
    pub(crate) aws: AwsArguments,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Common options")]
    pub(crate) output: Format,
}

/// A verb's own arguments, and those that all verbs of the desk have.
#[derive(Debug, Args)]
pub(crate) struct AtDesk<V: Args> {
    #[command(flatten)]
    verb: V,
    #[command(flatten)]
    desk: DeskArguments,
}

impl<V: Args + Serialize> AtDesk<V> {
    /// Returns the command to the desk, and the desk to send it to.
    pub(crate) fn parts(&self) -> (Value, &DeskArguments) {
        (json!(self.verb), &self.desk)
    }
}

/// Sends a command to the desk.
pub(crate) async fn run(command: &Value, on: &DeskArguments) -> Result<Report> {
    let stack = StackName::of(on.env.as_ref(), on.stack.as_ref())?.in_full(stack_of);
    let aws = aws::sdk_config(&on.aws).await?;
    let desk = desk(&stack, &aws).await?;
    if READS.iter().any(|read| command["command"] == *read) {
        return Ok(report(desk.send(&command.to_string()).await?));
    }
    let caller = Caller::new(&aws);
    let command_text = command.to_string();
    let (response, account) = tokio::join!(desk.send(&command_text), caller.account());
    let mut response = response?;
    account.add_to(&mut response);
    Ok(report(response))
}

/// A deployed agents' queue.
pub(crate) struct AgentsQueue {
    /// The name of its stack.
    pub(crate) name: String,
    pub(crate) desk: Arc<dyn Function>,
    pub(crate) deployed: Arc<dyn Deployed>,
}

/// Returns the agents' queue of a stack.
pub(crate) async fn connect(stack: String, aws: &SdkConfig) -> Result<AgentsQueue> {
    Ok(AgentsQueue {
        desk: Arc::new(desk(&stack, aws).await?),
        deployed: Arc::new(AwsStack::new(stack.clone(), aws)),
        name: stack,
    })
}

/// Returns the desk function that a stack's output names.
async fn desk(stack: &str, aws: &SdkConfig) -> Result<LambdaFunction> {
    let outputs = stack::outputs(stack, aws).await?;
    let desk = stack::value(stack, &outputs, AGENT_DESK_FUNCTION_NAME)?;
    Ok(LambdaFunction::new(aws, desk))
}
