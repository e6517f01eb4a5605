//! The verbs of the agents' queue. Each is serialized as the command that it sends.

use clap::{Args, Subcommand, ValueEnum};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::{AtDesk, DeskArguments};

/// Lists the agents, by id.
#[derive(Debug, Args, Serialize)]
#[serde(tag = "command", rename = "agents")]
pub(crate) struct Agents {
    /// Maximum number of agents to list
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
    /// Continues after this agent
    #[arg(long, value_name = "AGENT_ID")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
}

/// Shows how many agents each queue holds, and how many calls are pending.
#[derive(Debug, Args, Serialize)]
#[serde(tag = "command", rename = "queues")]
pub(crate) struct Queues {}

/// Lists the oldest pending calls.
#[derive(Debug, Args, Serialize)]
#[serde(tag = "command", rename = "calls")]
pub(crate) struct Calls {
    /// Maximum number of calls to list
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) limit: u32,
}

/// Requests an agent for a call.
#[derive(Debug, Args, Serialize)]
#[serde(tag = "command", rename = "match", rename_all = "camelCase")]
pub(crate) struct Match {
    /// The id of the call; a new one by default
    #[arg(long = "call")]
    #[serde(skip_serializing_if = "Option::is_none")]
    call_id: Option<String>,
    /// A required attribute of the agent, as dimension=value; repeat the option for multiple
    /// dimensions
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    #[serde(serialize_with = "object")]
    criteria: Vec<(String, String)>,
}

/// Shows a call, or cancels it.
#[derive(Debug, Args)]
pub(crate) struct Call {
    /// The call
    call_id: String,
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
    Available(AtDesk<OfAgent>),
    /// Add the agent to its queues
    Enqueue(AtDesk<OfAgent>),
    /// Add every available agent to its queues
    QueueAllAvailable(AtDesk<QueueAllAvailable>),
    /// Remove the agent from its queues, or end its work
    Leave(AtDesk<Leave>),
    /// End the agent's call
    Finish(AtDesk<OfCall>),
    /// Answer an assignment, or extend a call
    Extend(AtDesk<OfCall>),
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
    /// An attribute with one value, as dimension=value; repeat the option for multiple dimensions
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    attribute: Vec<(String, String)>,
    /// An attribute with several values, as dimension=value,value; repeat the option for multiple
    /// dimensions
    #[arg(long, value_name = "NAME=VALUE,…", value_parser = pair)]
    attributes: Vec<(String, String)>,
}

/// Creates sample agents.
#[derive(Debug, Args, Serialize)]
pub(crate) struct Seed {
    /// The number of agents
    count: u32,
}

/// Lets every available agent join its queues, the longest available first.
#[derive(Debug, Args, Serialize)]
pub(crate) struct QueueAllAvailable {}

/// One agent.
#[derive(Debug, Args, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OfAgent {
    /// The agent
    agent_id: String,
}

/// Status of an agent after it leaves its queues.
#[derive(Clone, Copy, Debug, Serialize, ValueEnum)]
#[serde(rename_all = "camelCase")]
enum IdleStatus {
    Available,
    Offline,
}

/// Lets the agent leave its queues, or ends its work.
#[derive(Debug, Args, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Leave {
    /// The agent
    agent_id: String,
    /// The new status of the agent
    #[arg(long, value_enum, default_value_t = IdleStatus::Available)]
    to: IdleStatus,
}

/// The call that an agent attends.
#[derive(Debug, Args, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OfCall {
    /// The agent
    agent_id: String,
    /// The call
    #[arg(long = "call")]
    call_id: String,
    /// The ticket of the assignment
    #[arg(long)]
    ticket: String,
}

impl AgentVerb {
    /// Returns the command to the desk, and the desk to send it to.
    pub(crate) fn parts(&self) -> (Value, &DeskArguments) {
        let (name, (mut command, desk)) = match self {
            Self::Register(at) => ("register", at.parts()),
            Self::Seed(at) => ("seed", at.parts()),
            Self::Available(at) => ("available", at.parts()),
            Self::Enqueue(at) => ("enqueue", at.parts()),
            Self::QueueAllAvailable(at) => ("queue-all-available", at.parts()),
            Self::Leave(at) => ("leave", at.parts()),
            Self::Finish(at) => ("finish", at.parts()),
            Self::Extend(at) => ("extend", at.parts()),
        };
        command["command"] = json!(name);
        (command, desk)
    }
}

impl Serialize for Call {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let command = if self.cancel { "cancel-call" } else { "call" };
        json!({ "command": command, "callId": self.call_id }).serialize(serializer)
    }
}

impl Serialize for Register {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let one = self.attribute.iter();
        let one = one.map(|(name, value)| (name.clone(), json!(value)));
        let several = self.attributes.iter();
        let several = several.map(|(name, values)| (name.clone(), values.split(',').collect()));
        let attributes: Map<String, Value> = one.chain(several).collect();
        let mut command = json!({ "name": self.name, "attributes": attributes });
        if let Some(id) = &self.id {
            command["agentId"] = json!(id);
        }
        command.serialize(serializer)
    }
}

fn object<S: Serializer>(pairs: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

fn pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=');
    let (name, value) = pair.ok_or("it has no =; write for example language=Spanish")?;
    Ok((name.to_owned(), value.to_owned()))
}
