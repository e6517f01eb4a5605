//! The commands of `agent-desk`, as JSON. `docs/reference/agent-desk.md` has an example of each.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use crate::agent::{IdleStatus, Ticket};
use crate::criteria::Criteria;
use crate::dimension::{AttributeError, Dimensions};
use crate::name::{AgentId, CallId};
use crate::profile::Profile;
use crate::seed::MAX_SEED;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Register(AgentId, String, Profile),
    Seed(u32),
    /// offline → available.
    Available(AgentId),
    /// available → queued, or available → attendingCall if a matching call is pending.
    Enqueue(AgentId),
    QueueAllAvailable,
    /// Removes an agent from the queues, or ends its work.
    Leave(AgentId, IdleStatus),
    Finish(AgentId, CallId, Ticket),
    /// Answers an assignment, or continues a call.
    Extend(AgentId, CallId, Ticket),
    Match(CallId, Criteria),
    Call(CallId),
    CancelCall(CallId),
    /// Reads the depths and versions of the queues, and the numbers of pending calls.
    Queues,
    Calls(u16),
    /// Lists agents: after this id, up to a limit.
    Agents(Option<AgentId>, u16),
}

const NAMES: &str = "register, seed, available, enqueue, queue-all-available, leave, finish, extend, match, call, \
                     cancel-call, queues, calls, agents";

/// The longest name of an agent, in characters.
const MAX_AGENT_NAME: usize = 200;

/// The maximum number of agents in one response.
const MAX_PAGE: u16 = 1_000;

/// The maximum number of calls in one response. A process reads as many for each of up to 1,000 criteria.
const MAX_CALLS: u16 = 100;

/// An invalid command. The message names the field and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error("{0}; send {{\"command\": \"…\", …}}, one of {NAMES}")]
    None(String),
    #[error("command {command}: {field}: {fault}")]
    Field {
        command: String,
        field: String,
        fault: String,
    },
    #[error("command {command}: {fault}")]
    Attribute {
        command: &'static str,
        #[source]
        fault: AttributeError,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Register {
    agent_id: Option<AgentId>,
    name: String,
    attributes: BTreeMap<String, Json>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Seed {
    count: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OneAgent {
    agent_id: AgentId,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Leave {
    agent_id: AgentId,
    #[serde(default)]
    to: IdleStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct InCall {
    agent_id: AgentId,
    call_id: CallId,
    ticket: Ticket,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Match {
    call_id: Option<CallId>,
    criteria: BTreeMap<String, Json>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OneCall {
    call_id: CallId,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Agents {
    after: Option<AgentId>,
    #[serde(default = "default_page")]
    limit: u16,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Calls {
    #[serde(default = "default_page")]
    limit: u16,
}

fn default_page() -> u16 {
    100
}

impl Command {
    /// The command's name, its agent and its call, for the log.
    pub fn subject(&self) -> (&'static str, Option<&AgentId>, Option<&CallId>) {
        match self {
            Self::Register(agent, ..) => ("register", Some(agent), None),
            Self::Seed(_) => ("seed", None, None),
            Self::Available(agent) => ("available", Some(agent), None),
            Self::Enqueue(agent) => ("enqueue", Some(agent), None),
            Self::QueueAllAvailable => ("queue-all-available", None, None),
            Self::Leave(agent, _) => ("leave", Some(agent), None),
            Self::Finish(agent, call, _) => ("finish", Some(agent), Some(call)),
            Self::Extend(agent, call, _) => ("extend", Some(agent), Some(call)),
            Self::Match(call, _) => ("match", None, Some(call)),
            Self::Call(call) => ("call", None, Some(call)),
            Self::CancelCall(call) => ("cancel-call", None, Some(call)),
            Self::Queues => ("queues", None, None),
            Self::Calls(_) => ("calls", None, None),
            Self::Agents(..) => ("agents", None, None),
        }
    }

    /// Parses a command.
    pub fn read(event: Json, dimensions: &Dimensions) -> Result<Self, CommandError> {
        let Json::Object(mut fields) = event else {
            return Err(CommandError::None("the event is not an object".to_owned()));
        };
        let command = match fields.remove("command") {
            Some(Json::String(command)) => command,
            Some(other) => return Err(CommandError::None(format!("field command is {other}"))),
            None => return Err(CommandError::None("field command is missing".to_owned())),
        };
        match command.as_str() {
            "register" => register(fields, dimensions),
            "seed" => seed(fields),
            "available" => one_agent("available", fields).map(Self::Available),
            "enqueue" => one_agent("enqueue", fields).map(Self::Enqueue),
            "queue-all-available" => {
                parse("queue-all-available", fields).map(|Nothing {}| Self::QueueAllAvailable)
            }
            "leave" => {
                let Leave { agent_id, to } = parse("leave", fields)?;
                Ok(Self::Leave(agent_id, to))
            }
            "finish" => {
                let (agent, call, ticket) = in_call("finish", fields)?;
                Ok(Self::Finish(agent, call, ticket))
            }
            "extend" => {
                let (agent, call, ticket) = in_call("extend", fields)?;
                Ok(Self::Extend(agent, call, ticket))
            }
            "match" => match_call(fields, dimensions),
            "call" => one_call("call", fields).map(Self::Call),
            "cancel-call" => one_call("cancel-call", fields).map(Self::CancelCall),
            "queues" => parse("queues", fields).map(|Nothing {}| Self::Queues),
            "calls" => {
                let Calls { limit } = parse("calls", fields)?;
                Ok(Self::Calls(within("calls", limit, MAX_CALLS)?))
            }
            "agents" => {
                let Agents { after, limit } = parse("agents", fields)?;
                Ok(Self::Agents(after, within("agents", limit, MAX_PAGE)?))
            }
            _ => Err(CommandError::None(format!("field command is {command:?}"))),
        }
    }
}

fn parse<T: DeserializeOwned>(
    command: &'static str,
    fields: Map<String, Json>,
) -> Result<T, CommandError> {
    serde_path_to_error::deserialize(Json::Object(fields)).map_err(|error| CommandError::Field {
        command: command.to_owned(),
        field: match error.path().to_string().as_str() {
            "." => "the command's fields".to_owned(),
            path => format!("field {path}"),
        },
        fault: error.inner().to_string(),
    })
}

fn seed(fields: Map<String, Json>) -> Result<Command, CommandError> {
    let Seed { count } = parse("seed", fields)?;
    if !(1..=MAX_SEED).contains(&count) {
        return Err(CommandError::Field {
            command: "seed".to_owned(),
            field: "field count".to_owned(),
            fault: format!("is {count}; give a whole number from 1 to {MAX_SEED}"),
        });
    }
    Ok(Command::Seed(count))
}

fn one_agent(command: &'static str, fields: Map<String, Json>) -> Result<AgentId, CommandError> {
    parse(command, fields).map(|OneAgent { agent_id }| agent_id)
}

fn in_call(
    command: &'static str,
    fields: Map<String, Json>,
) -> Result<(AgentId, CallId, Ticket), CommandError> {
    let InCall {
        agent_id,
        call_id,
        ticket,
    } = parse(command, fields)?;
    Ok((agent_id, call_id, ticket))
}

fn one_call(command: &'static str, fields: Map<String, Json>) -> Result<CallId, CommandError> {
    parse(command, fields).map(|OneCall { call_id }| call_id)
}

fn register(fields: Map<String, Json>, dimensions: &Dimensions) -> Result<Command, CommandError> {
    let command = "register";
    let Register {
        agent_id,
        name,
        attributes,
    } = parse(command, fields)?;
    if let Some(fault) = fault_of(&name) {
        return Err(CommandError::Field {
            command: command.to_owned(),
            field: "field name".to_owned(),
            fault,
        });
    }
    let profile = dimensions
        .profile(&attributes)
        .map_err(|fault| CommandError::Attribute { command, fault })?;
    let id = agent_id.unwrap_or_else(AgentId::fresh);
    Ok(Command::Register(id, name, profile))
}

/// What is wrong with an agent's name. Assignments contain it, and SNS and SQS reject the characters
/// that XML 1.0 excludes.
fn fault_of(name: &str) -> Option<String> {
    let excluded = |c: &char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    if let Some(found) = name.chars().find(excluded) {
        let code = u32::from(found);
        return Some(format!("has U+{code:04X}; give printable characters"));
    }
    let length = name.chars().count();
    (name.trim().is_empty() || length > MAX_AGENT_NAME)
        .then(|| format!("has {length} characters; give 1 to {MAX_AGENT_NAME}, not only spaces"))
}

fn match_call(fields: Map<String, Json>, dimensions: &Dimensions) -> Result<Command, CommandError> {
    let command = "match";
    let Match { call_id, criteria } = parse(command, fields)?;
    let criteria = dimensions
        .criteria(&criteria)
        .map_err(|fault| CommandError::Attribute { command, fault })?;
    Ok(Command::Match(
        call_id.unwrap_or_else(CallId::fresh),
        criteria,
    ))
}

fn within(command: &str, limit: u16, most: u16) -> Result<u16, CommandError> {
    if (1..=most).contains(&limit) {
        return Ok(limit);
    }
    Err(CommandError::Field {
        command: command.to_owned(),
        field: "field limit".to_owned(),
        fault: format!("is {limit}; give a whole number from 1 to {most}"),
    })
}

#[cfg(test)]
mod tests;
