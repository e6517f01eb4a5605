//! Parses the command line.

use clap::{Args, Parser, Subcommand};
use serde_json::Value;

use crate::agents::{self, AgentVerb, AtDesk, Call, Calls, DeskArguments, Match, Queues};
use crate::aws::AwsArguments;
use crate::console::Console;
use crate::cost::Cost;
use crate::dev::Dev;
use crate::queue::QueueArguments;
use crate::report::Format;
use crate::shell::{Completions, Man};
use crate::verbs::{
    Cancel, Close, Create, Doctor, Errors, Export, Groups, Limit, List, Logs, Messages, Open,
    Pause, Purge, Redrive, Resume, Show, Smoke, Status, VerbOnQueue, Wake, Watch,
};

/// Operates a newest-first task queue and an agents' queue.
///
/// Region and credentials come from the sources that the AWS CLI uses: --region and --profile,
/// AWS_REGION and AWS_PROFILE, keys in the environment, or single sign-on. The queue is that of
/// --env, --stack or --dev, or of the environment variables FRESHQ_DEV, FRESHQ_STACK or FRESHQ_ENV.
///
/// Exit codes. 0: done. 1: some work was not done; the output says why. 2: the command line or the
/// configuration is wrong. 3: AWS, a file or the terminal failed. 4: the operator declined.
#[derive(Debug, Parser)]
#[command(name = "freshq", version, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// A command of `freshq`.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Show pending, running and failed tasks, the processor, a pause, a limit and the circuit breaker
    Status(On<Status>),
    /// Watch a queue: depth, rates, ages, processor, pause, limit and circuit breaker
    Watch(On<Watch>),
    /// Serve a web page on 127.0.0.1 for a queue and the agents' queue
    Console(On<Console>),
    /// Run a task queue on this machine, for development
    Dev(Dev),
    /// Estimate the cost of a workload at AWS list prices
    Cost(Cost),
    /// Check the settings and the state of a deployed queue
    Doctor(On<Doctor>),
    /// Check a deployed queue with test tasks, which it deletes
    Smoke(On<Smoke>),
    /// Show the messages in the failure and dead-letter queues
    Messages(On<Messages>),
    /// Show a function's log with the AWS CLI
    Logs(On<Logs>),
    /// List tasks by status, newest first
    List(On<List>),
    /// Group tasks by their last error
    Errors(On<Errors>),
    /// Show a queue's groups (for example, tenants): tasks, ages, limits, pauses
    Groups(On<Groups>),
    /// Show a task: attributes, payload, last error, timeline
    Show(On<Show>),
    /// Create tasks from arguments or a JSON Lines file, or create simulated tasks
    Create(On<Create>),
    /// Pause the queue or one group; running tasks finish
    Pause(On<Pause>),
    /// Resume the queue or one group, and wake the queue
    Resume(On<Resume>),
    /// Limit the rate and the concurrency of starts temporarily
    Limit(On<Limit>),
    /// Open the circuit breaker temporarily, or close it and wake the queue
    #[command(subcommand)]
    Breaker(BreakerVerb),
    /// Retry failed tasks: attempts from 0, a new expiry, the original age
    Redrive(On<Redrive>),
    /// Delete pending tasks by id, group, age, error or payload
    Cancel(On<Cancel>),
    /// Wake a processor, unless one is active or the queue is paused
    Wake(On<Wake>),
    /// Print tasks as JSON lines
    Export(On<Export>),
    /// Pause the queue, then delete all pending and settled tasks
    Purge(On<Purge>),
    /// List the agents of the agents' queue
    Agents(AtDesk<agents::Agents>),
    /// Show the depths of the agents' queues and the pending calls
    Queues(AtDesk<Queues>),
    /// List the oldest pending calls of the agents' queue
    Calls(AtDesk<Calls>),
    /// Request an agent for a call
    Match(AtDesk<Match>),
    /// Show a call, or cancel it
    Call(AtDesk<Call>),
    /// Register an agent, change its status or end its call
    #[command(subcommand)]
    Agent(AgentVerb),
    /// Generate shell completions
    Completions(Completions),
    /// Write the manual pages
    Man(Man),
}

/// A command for the circuit breaker.
#[derive(Debug, Subcommand)]
pub(crate) enum BreakerVerb {
    /// Open the circuit breaker temporarily: only probes start
    Open(On<Open>),
    /// Close the circuit breaker and wake the queue
    Close(On<Close>),
}

/// A verb's own arguments, and those that all verbs have.
#[derive(Debug, Args)]
pub(crate) struct On<V: Args> {
    #[command(flatten)]
    verb: V,
    #[command(flatten)]
    common: Common,
}

/// Options of all verbs.
#[derive(Debug, Args)]
pub(crate) struct Common {
    #[command(flatten)]
    pub(crate) queue: QueueArguments,
    #[command(flatten)]
    pub(crate) aws: AwsArguments,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Common options")]
    pub(crate) output: Format,
}

impl Verb {
    /// Returns the job that the command line requests.
    pub(crate) fn job(&self) -> Job<'_> {
        match self {
            Self::Completions(completions) => Job::Completions(completions),
            Self::Man(man) => Job::Man(man),
            Self::Dev(dev) => Job::Dev(dev),
            Self::Cost(cost) => Job::Cost(cost),
            Self::Agents(at) => Job::at_desk(at.parts()),
            Self::Queues(at) => Job::at_desk(at.parts()),
            Self::Calls(at) => Job::at_desk(at.parts()),
            Self::Match(at) => Job::at_desk(at.parts()),
            Self::Call(at) => Job::at_desk(at.parts()),
            Self::Agent(verb) => Job::at_desk(verb.parts()),
            Self::Console(on) => Job::Console(&on.verb, &on.common),
            Self::Messages(on) => Job::Messages(&on.verb, &on.common),
            Self::Logs(on) => Job::Logs(&on.verb, &on.common),
            Self::Doctor(on) if on.verb.agents => Job::CheckAgents(&on.common),
            Self::Doctor(on) => on.read(),
            Self::Status(on) => on.read(),
            Self::Watch(on) => on.read(),
            Self::List(on) => on.read(),
            Self::Errors(on) => on.read(),
            Self::Groups(on) => on.read(),
            Self::Show(on) => on.read(),
            Self::Export(on) => on.read(),
            Self::Redrive(on) if on.verb.dry_run => on.read(),
            Self::Cancel(on) if on.verb.dry_run => on.read(),
            Self::Redrive(on) => on.change(),
            Self::Cancel(on) => on.change(),
            Self::Create(on) => on.change(),
            Self::Purge(on) => on.change(),
            Self::Smoke(on) => on.change(),
            Self::Pause(on) => on.change(),
            Self::Resume(on) => on.change(),
            Self::Limit(on) => on.change(),
            Self::Breaker(BreakerVerb::Open(on)) => on.change(),
            Self::Breaker(BreakerVerb::Close(on)) => on.change(),
            Self::Wake(on) => on.change(),
        }
    }
}

pub(crate) enum Job<'a> {
    /// A verb that changes nothing.
    Read(&'a dyn VerbOnQueue, &'a Common),
    /// A verb that changes the queue. Its report includes the account and the region.
    Change(&'a dyn VerbOnQueue, &'a Common),
    /// A command to the agents' queue, and the arguments common to all its verbs.
    Desk(Value, &'a DeskArguments),
    /// `freshq doctor --agents`: checks an agents' queue.
    CheckAgents(&'a Common),
    /// The messages in the failure and dead-letter queues of a stack.
    Messages(&'a Messages, &'a Common),
    Logs(&'a Logs, &'a Common),
    /// The console of a queue.
    Console(&'a Console, &'a Common),
    /// A queue on this machine.
    Dev(&'a Dev),
    Cost(&'a Cost),
    Completions(&'a Completions),
    Man(&'a Man),
}

impl<'a> Job<'a> {
    fn at_desk((command, desk): (Value, &'a DeskArguments)) -> Self {
        Self::Desk(command, desk)
    }
}

impl<V: Args + VerbOnQueue> On<V> {
    fn read(&self) -> Job<'_> {
        Job::Read(&self.verb, &self.common)
    }

    fn change(&self) -> Job<'_> {
        Job::Change(&self.verb, &self.common)
    }
}

#[cfg(test)]
mod desk_tests;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod tests;
