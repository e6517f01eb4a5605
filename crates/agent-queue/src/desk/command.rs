//! The commands of `agent-desk`, as JSON. `docs/reference/agent-desk.md` shows an example of each.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

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
    /// Makes an offline agent available.
    Available(AgentId),
    /// Queues an available agent, or assigns it a matching pending call.
    Enqueue(AgentId),
    QueueAllAvailable,
    /// Removes an agent from the queues, or ends its work.
    Leave(AgentId, IdleStatus),
    Finish(AgentId, CallId, Ticket),
    /// Answers an assignment, or extends a call.
    Extend(AgentId, CallId, Ticket),
    Match(CallId, Criteria),
    Call(CallId),
    CancelCall(CallId),
    /// Reads the depths and versions of the queues, and the numbers of pending calls.
    Queues,
    Calls(u16),
    /// Lists agents with ids after this id, up to a limit.
    Agents(Option<AgentId>, u16),
}

const NAMES: &str = "register, seed, available, enqueue, queue-all-available, leave, finish, extend, match, call, \
                     cancel-call, queues, calls, agents";

/// Maximum length of an agent's name, in characters.
const MAX_AGENT_NAME: usize = 200;

/// Maximum number of agents in one response.
const MAX_PAGE: u16 = 1_000;

/// Maximum number of calls in one response. A process reads up to this number from each line.
const MAX_CALLS: u16 = 100;

/// An invalid command. The message names the field and the fix.
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

/// The JSON fields of each command.
#[derive(Deserialize)]
#[serde(
    rename_all = "kebab-case",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
enum Fields {
    Register {
        agent_id: Option<AgentId>,
        name: String,
        attributes: BTreeMap<String, Json>,
    },
    Seed {
        count: u32,
    },
    Available {
        agent_id: AgentId,
    },
    Enqueue {
        agent_id: AgentId,
    },
    QueueAllAvailable {},
    Leave {
        agent_id: AgentId,
        #[serde(default)]
        to: IdleStatus,
    },
    Finish(InCall),
    Extend(InCall),
    Match {
        call_id: Option<CallId>,
        criteria: BTreeMap<String, Json>,
    },
    Call {
        call_id: CallId,
    },
    CancelCall {
        call_id: CallId,
    },
    Queues {},
    Calls {
        #[serde(default = "default_page")]
        limit: u16,
    },
    Agents {
        after: Option<AgentId>,
        #[serde(default = "default_page")]
        limit: u16,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct InCall {
    agent_id: AgentId,
    call_id: CallId,
    ticket: Ticket,
}

fn default_page() -> u16 {
    100
}

impl Command {
    /// Returns the command's name, agent and call for the log.
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
        if !NAMES.split(", ").any(|name| name == command) {
            return Err(CommandError::None(format!("field command is {command:?}")));
        }
        Self::checked(parse(&command, &fields)?, dimensions, |field, fault| {
            CommandError::Field {
                command: command.clone(),
                field: format!("field {field}"),
                fault,
            }
        })
    }

    fn checked(
        fields: Fields,
        dimensions: &Dimensions,
        wrong: impl Fn(&str, String) -> CommandError,
    ) -> Result<Self, CommandError> {
        let within = |field, number: u32, most| match (1..=most).contains(&number) {
            true => Ok(()),
            false => {
                let fault = format!("is {number}; give a whole number from 1 to {most}");
                Err(wrong(field, fault))
            }
        };
        let attribute = |command| move |fault| CommandError::Attribute { command, fault };
        Ok(match fields {
            Fields::Register {
                agent_id,
                name,
                attributes,
            } => {
                if let Some(fault) = fault_of(&name) {
                    return Err(wrong("name", fault));
                }
                let profile = dimensions.profile(&attributes);
                let profile = profile.map_err(attribute("register"))?;
                Self::Register(agent_id.unwrap_or_else(AgentId::fresh), name, profile)
            }
            Fields::Seed { count } => {
                within("count", count, MAX_SEED)?;
                Self::Seed(count)
            }
            Fields::Available { agent_id } => Self::Available(agent_id),
            Fields::Enqueue { agent_id } => Self::Enqueue(agent_id),
            Fields::QueueAllAvailable {} => Self::QueueAllAvailable,
            Fields::Leave { agent_id, to } => Self::Leave(agent_id, to),
            Fields::Finish(of) => Self::Finish(of.agent_id, of.call_id, of.ticket),
            Fields::Extend(of) => Self::Extend(of.agent_id, of.call_id, of.ticket),
            Fields::Match { call_id, criteria } => {
                let criteria = dimensions.criteria(&criteria);
                let criteria = criteria.map_err(attribute("match"))?;
                Self::Match(call_id.unwrap_or_else(CallId::fresh), criteria)
            }
            Fields::Call { call_id } => Self::Call(call_id),
            Fields::CancelCall { call_id } => Self::CancelCall(call_id),
            Fields::Queues {} => Self::Queues,
            Fields::Calls { limit } => {
                within("limit", limit.into(), MAX_CALLS.into())?;
                Self::Calls(limit)
            }
            Fields::Agents { after, limit } => {
                within("limit", limit.into(), MAX_PAGE.into())?;
                Self::Agents(after, limit)
            }
        })
    }
}

fn parse(command: &str, fields: &Map<String, Json>) -> Result<Fields, CommandError> {
    serde_path_to_error::deserialize(json!({ command: fields })).map_err(|error| {
        let path = error.path().to_string();
        let field = path.strip_prefix(command).unwrap_or_default();
        CommandError::Field {
            command: command.to_owned(),
            field: match field.strip_prefix('.') {
                None => "the command's fields".to_owned(),
                Some(field) => format!("field {field}"),
            },
            fault: error.inner().to_string(),
        }
    })
}

/// Returns the reason why an agent's name is invalid, or `None` if it is valid. Assignments contain
/// the name, and SNS and SQS reject the characters that XML 1.0 excludes.
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

#[cfg(test)]
mod tests;
