//! The verbs of the agents' queue. Each sends a command to the function `agent-desk`, the desk.

mod answer;
mod command;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

pub(crate) use self::answer::Answer;
pub(crate) use self::command::{AgentVerb, Agents, Call, DeskVerb, Match, Queues};
use crate::aws::{self, AwsArguments};
use crate::failure::Failure;
use crate::function::{Function, LambdaFunction};
use crate::report::Format;
use crate::stack;

/// The name of a stack is this prefix and the environment.
const PREFIX: &str = "AgentQueue-";

/// The stack's output with the name of the desk.
pub(crate) const AGENT_DESK_FUNCTION_NAME: &str = "AgentDeskFunctionName";

/// The name of an environment's stack.
pub(crate) fn stack_of(env: &str) -> String {
    format!("{PREFIX}{env}")
}

/// Which agents' queue, and how its answer is printed.
#[derive(Debug, Args)]
pub(crate) struct DeskArguments {
    /// The queue of the stack AgentQueue-<ENV>
    #[arg(long, required_unless_present = "stack", conflicts_with = "stack", value_parser = NonEmptyStringValueParser::new(), help_heading = "Which queue")]
    pub(crate) env: Option<String>,
    /// The queue of this stack
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), help_heading = "Which queue")]
    pub(crate) stack: Option<String>,
    #[command(flatten)]
    pub(crate) aws: AwsArguments,
    /// How the answer is printed
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

impl<V: Args + DeskVerb> AtDesk<V> {
    /// The verb, and the arguments that all verbs of the desk have.
    pub(crate) fn parts(&self) -> (&dyn DeskVerb, &DeskArguments) {
        (&self.verb, &self.desk)
    }
}

/// Sends the command of a verb to the desk.
///
/// # Errors
/// [`Failure`]: no region, no such stack, a malformed argument, or no answer.
pub(crate) async fn run(verb: &dyn DeskVerb, on: &DeskArguments) -> Result<Answer, Failure> {
    let name = on.env.as_deref().map(stack_of);
    let name = on.stack.clone().or(name).ok_or(Failure::NoQueue)?;
    send(verb, &desk(&name, &on.aws).await?).await
}

/// The desk of a stack.
///
/// # Errors
/// [`Failure`]: no region, no such stack, or the stack lacks the output.
pub(crate) async fn desk(stack: &str, aws: &AwsArguments) -> Result<LambdaFunction, Failure> {
    let aws = aws::sdk_config(aws).await;
    if aws.region().is_none() {
        return Err(Failure::NoRegion);
    }
    let outputs = stack::outputs(stack, &aws).await?;
    let desk = stack::value(stack, &outputs, AGENT_DESK_FUNCTION_NAME)?;
    Ok(LambdaFunction::new(&aws, desk))
}

/// Sends the command of a verb to this function.
pub(crate) async fn send(verb: &dyn DeskVerb, desk: &dyn Function) -> Result<Answer, Failure> {
    let answer = desk.send(&verb.command()?).await?;
    Ok(Answer(answer))
}
