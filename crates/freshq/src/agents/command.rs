//! The verbs of the agents' queue and the commands that they send.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Map, Value, json};

use super::{AtDesk, DeskArguments};
use crate::failure::Failure;

/// A verb with its arguments.
pub(crate) trait DeskVerb: Sync {
    /// The command that this verb sends to the desk.
    fn command(&self) -> Result<Value, Failure>;

    fn changes(&self) -> bool {
        true
    }
}

/// Lists the agents, by id.
#[derive(Debug, Args)]
pub(crate) struct Agents {
    /// Maximum number of agents to list
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
    /// Continues after this agent
    #[arg(long, value_name = "AGENT_ID")]
    pub(crate) after: Option<String>,
}

/// Shows how many agents each queue holds, and how many calls are pending.
#[derive(Debug, Args)]
pub(crate) struct Queues {}

/// Lists the oldest pending calls.
#[derive(Debug, Args)]
pub(crate) struct Calls {
    /// Maximum number of calls to list
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) limit: u32,
}

/// Requests an agent for a call.
#[derive(Debug, Args)]
pub(crate) struct Match {
    /// The id of the call; a new one by default
    #[arg(long, value_name = "CALL_ID")]
    call: Option<String>,
    /// A required attribute of the agent, as dimension=value; repeat it for several dimensions
    #[arg(long, value_name = "NAME=VALUE")]
    criteria: Vec<String>,
}

/// Shows a call, or cancels it.
#[derive(Debug, Args)]
pub(crate) struct Call {
    /// The call
    #[arg(value_name = "CALL_ID")]
    call: String,
    /// Cancels it
    #[arg(long)]
    cancel: bool,
}

/// What can be done with one agent, or with all.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentVerb {
    /// Register an agent, or change its profile
    Register(AtDesk<Register>),
    /// Create sample agents, all available; not in production
    Seed(AtDesk<Seed>),
    /// Start the agent's work
    Available(AtDesk<Available>),
    /// Let the agent join its queues
    Enqueue(AtDesk<Enqueue>),
    /// Let every available agent join its queues
    QueueAllAvailable(AtDesk<QueueAllAvailable>),
    /// Let the agent leave its queues, or end its work
    Leave(AtDesk<Leave>),
    /// End the agent's call
    Finish(AtDesk<Finish>),
    /// Answer an assignment, or continue a call
    Extend(AtDesk<Extend>),
}

/// Registers an agent, or changes its profile.
#[derive(Debug, Args)]
pub(crate) struct Register {
    /// The id of the agent; a new one by default
    #[arg(long, value_name = "AGENT_ID")]
    id: Option<String>,
    /// The name of the agent
    #[arg(long)]
    name: String,
    /// An attribute with one value, as dimension=value; repeat it for several dimensions
    #[arg(long, value_name = "NAME=VALUE")]
    attribute: Vec<String>,
    /// An attribute with several values, as dimension=value,value; repeat it for several dimensions
    #[arg(long, value_name = "NAME=VALUE,…")]
    attributes: Vec<String>,
}

/// Creates sample agents.
#[derive(Debug, Args)]
pub(crate) struct Seed {
    /// The number of agents
    count: u32,
}

/// Lets every available agent join its queues, the longest available first.
#[derive(Debug, Args)]
pub(crate) struct QueueAllAvailable {}

/// Starts the agent's work.
#[derive(Debug, Args)]
pub(crate) struct Available {
    /// The agent
    #[arg(value_name = "AGENT_ID")]
    agent: String,
}

/// Lets the agent join its queues; a pending call is assigned at once.
#[derive(Debug, Args)]
pub(crate) struct Enqueue {
    /// The agent
    #[arg(value_name = "AGENT_ID")]
    agent: String,
}

/// Where an agent goes that leaves its queues.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum IdleStatus {
    Available,
    Offline,
}

/// Lets the agent leave its queues, or ends its work.
#[derive(Debug, Args)]
pub(crate) struct Leave {
    /// The agent
    #[arg(value_name = "AGENT_ID")]
    agent: String,
    /// The new status of the agent
    #[arg(long, value_enum, default_value_t = IdleStatus::Available)]
    to: IdleStatus,
}

#[derive(Debug, Args)]
struct OfCall {
    /// The agent
    #[arg(value_name = "AGENT_ID")]
    agent: String,
    /// The call
    #[arg(long, value_name = "CALL_ID")]
    call: String,
    /// The ticket of the assignment
    #[arg(long)]
    ticket: String,
}

/// Ends the agent's call.
#[derive(Debug, Args)]
pub(crate) struct Finish {
    #[command(flatten)]
    of: OfCall,
}

/// Answers an assignment, or continues a call.
#[derive(Debug, Args)]
pub(crate) struct Extend {
    #[command(flatten)]
    of: OfCall,
}

impl AgentVerb {
    pub(crate) fn parts(&self) -> (&dyn DeskVerb, &DeskArguments) {
        match self {
            Self::Register(at) => at.parts(),
            Self::Seed(at) => at.parts(),
            Self::Available(at) => at.parts(),
            Self::Enqueue(at) => at.parts(),
            Self::QueueAllAvailable(at) => at.parts(),
            Self::Leave(at) => at.parts(),
            Self::Finish(at) => at.parts(),
            Self::Extend(at) => at.parts(),
        }
    }
}

impl DeskVerb for Agents {
    fn command(&self) -> Result<Value, Failure> {
        let mut command = json!({ "command": "agents", "limit": self.limit });
        give(&mut command, "after", self.after.as_ref());
        Ok(command)
    }

    fn changes(&self) -> bool {
        false
    }
}

impl DeskVerb for Queues {
    fn command(&self) -> Result<Value, Failure> {
        Ok(json!({ "command": "queues" }))
    }

    fn changes(&self) -> bool {
        false
    }
}

impl DeskVerb for Calls {
    fn command(&self) -> Result<Value, Failure> {
        Ok(json!({ "command": "calls", "limit": self.limit }))
    }

    fn changes(&self) -> bool {
        false
    }
}

impl DeskVerb for Match {
    fn command(&self) -> Result<Value, Failure> {
        let pairs = self.criteria.iter().map(|text| pair("--criteria", text));
        let pairs = pairs.map(|pair| pair.map(|(name, value)| (name, json!(value))));
        let criteria = pairs.collect::<Result<Map<_, _>, _>>()?;
        let mut command = json!({ "command": "match", "criteria": criteria });
        give(&mut command, "callId", self.call.as_ref());
        Ok(command)
    }
}

impl DeskVerb for Call {
    fn command(&self) -> Result<Value, Failure> {
        let command = if self.cancel { "cancel-call" } else { "call" };
        Ok(json!({ "command": command, "callId": self.call }))
    }

    fn changes(&self) -> bool {
        self.cancel
    }
}

impl DeskVerb for Register {
    fn command(&self) -> Result<Value, Failure> {
        let mut attributes = Map::new();
        for text in &self.attribute {
            let (name, value) = pair("--attribute", text)?;
            attributes.insert(name, json!(value));
        }
        for text in &self.attributes {
            let (name, values) = pair("--attributes", text)?;
            attributes.insert(name, values.split(',').collect());
        }
        let mut command =
            json!({ "command": "register", "name": self.name, "attributes": attributes });
        give(&mut command, "agentId", self.id.as_ref());
        Ok(command)
    }
}

impl DeskVerb for Seed {
    fn command(&self) -> Result<Value, Failure> {
        Ok(json!({ "command": "seed", "count": self.count }))
    }
}

impl DeskVerb for QueueAllAvailable {
    fn command(&self) -> Result<Value, Failure> {
        Ok(json!({ "command": "queue-all-available" }))
    }
}

impl DeskVerb for Available {
    fn command(&self) -> Result<Value, Failure> {
        Ok(json!({ "command": "available", "agentId": self.agent }))
    }
}

impl DeskVerb for Enqueue {
    fn command(&self) -> Result<Value, Failure> {
        Ok(json!({ "command": "enqueue", "agentId": self.agent }))
    }
}

impl DeskVerb for Leave {
    fn command(&self) -> Result<Value, Failure> {
        let to = match self.to {
            IdleStatus::Available => "available",
            IdleStatus::Offline => "offline",
        };
        Ok(json!({ "command": "leave", "agentId": self.agent, "to": to }))
    }
}

impl DeskVerb for Finish {
    fn command(&self) -> Result<Value, Failure> {
        Ok(self.of.command("finish"))
    }
}

impl DeskVerb for Extend {
    fn command(&self) -> Result<Value, Failure> {
        Ok(self.of.command("extend"))
    }
}

impl OfCall {
    fn command(&self, name: &str) -> Value {
        json!({ "command": name, "agentId": self.agent, "callId": self.call, "ticket": self.ticket })
    }
}

fn give(command: &mut Value, name: &str, value: Option<&String>) {
    if let Some(value) = value {
        command[name] = json!(value);
    }
}

fn pair(argument: &str, text: &str) -> Result<(String, String), Failure> {
    let (name, value) = text.split_once('=').ok_or_else(|| Failure::Input {
        place: argument.to_owned(),
        fault: format!("{text:?} has no =; write for example language=Spanish"),
    })?;
    Ok((name.to_owned(), value.to_owned()))
}
