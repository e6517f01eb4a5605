//! Configuration of the functions of an agents' queue.

use std::time::Duration;

use agent_queue::dimension::Dimensions;
use agent_queue::queue::Settings;
use agent_queue::store::Order;
use lifo_queue::settings::{optional_ms, positive, positive_ms};
use serde::Deserialize;

use super::variable::{self as var, Variable};
use super::{ConfigError, Reader};

/// Configuration that `agent-desk`, `match-calls` and `sweep-agents` all read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentQueue {
    pub table: String,
    pub assignment_topic: String,
    /// URL of the dead-letter queue, a FIFO queue.
    pub dead_letters: String,
    pub settings: Settings,
    /// Whether the `seed` command can create agents. True only in `agent-desk` outside production.
    pub seed: bool,
}

/// Settings parsed from `SETTINGS_AGENT_DESK`, `SETTINGS_MATCH_CALLS` or `SETTINGS_SWEEP_AGENTS`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentSettings {
    dimensions: Dimensions,
    order: AgentOrder,
    #[serde(rename = "maxWaitMs", deserialize_with = "positive_ms")]
    max_wait: Duration,
    #[serde(rename = "callLeaseMs", default, deserialize_with = "optional_ms")]
    call_lease: Option<Duration>,
    #[serde(rename = "answerWithinMs", default, deserialize_with = "optional_ms")]
    answer_within: Option<Duration>,
    #[serde(deserialize_with = "positive")]
    contention_window: u16,
    #[serde(default)]
    seed: bool,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum AgentOrder {
    Fifo,
    Lifo,
}

impl AgentQueue {
    /// Reads the configuration through `lookup`, with the settings from `variable`.
    pub fn read(
        variable: Variable,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let mut env = Reader::new(lookup);
        let config = Self::of(variable, &mut env);
        env.finish(|| config)
    }

    fn of(variable: Variable, env: &mut Reader<'_>) -> Option<Self> {
        let table = env.text(var::AGENT_TABLE_NAME);
        let assignment_topic = env.arn(var::ASSIGNMENT_TOPIC_ARN);
        let dead_letters = env.text(var::CALL_DEAD_LETTER_QUEUE_URL);
        let settings = env.json::<AgentSettings>(variable)?;
        Some(Self {
            table: table?,
            assignment_topic: assignment_topic?,
            dead_letters: dead_letters?,
            seed: settings.seed,
            settings: settings.into(),
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchCalls {
    pub queue: AgentQueue,
    /// URL of the FIFO queue that contains the calls.
    pub call_queue: String,
}

impl MatchCalls {
    /// Reads the configuration through `lookup`.
    pub fn read(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let mut env = Reader::new(lookup);
        let queue = AgentQueue::of(var::SETTINGS_MATCH_CALLS, &mut env);
        let call_queue = env.text(var::CALL_QUEUE_URL);
        env.finish(|| {
            Some(Self {
                queue: queue?,
                call_queue: call_queue?,
            })
        })
    }
}

impl From<AgentSettings> for Settings {
    fn from(settings: AgentSettings) -> Self {
        Self {
            dimensions: settings.dimensions,
            order: match settings.order {
                AgentOrder::Fifo => Order::Fifo,
                AgentOrder::Lifo => Order::Lifo,
            },
            max_wait: settings.max_wait,
            call_lease: settings.call_lease,
            answer_within: settings.answer_within,
            contention_window: settings.contention_window,
            ..Self::default()
        }
    }
}
