//! Configuration of the functions of an agents' queue.

use agent_queue::dimension::Dimensions;
use agent_queue::queue::Settings;
use agent_queue::store::Order;

use super::variable as var;
use super::{ConfigError, Reader};

/// What `agent-desk`, `match-calls` and `sweep-agents` all read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentQueue {
    /// The agents' table.
    pub table: String,
    /// ARN of the topic for assignments.
    pub assignment_topic: String,
    /// URL of the dead-letter queue, a FIFO queue.
    pub dead_letters: String,
    /// How the queue behaves.
    pub settings: Settings,
}

impl AgentQueue {
    /// Reads it through `lookup`.
    ///
    /// # Errors
    /// [`ConfigError`] names every variable that is missing or wrong.
    pub fn read(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let mut env = Reader::new(lookup);
        let config = Self::of(&mut env);
        env.finish(config)
    }

    fn of(env: &mut Reader<'_>) -> Self {
        let config = Self {
            table: env.text(var::AGENT_TABLE_NAME),
            assignment_topic: env.arn(var::ASSIGNMENT_TOPIC_ARN),
            dead_letters: env.text(var::CALL_DEAD_LETTER_QUEUE_URL),
            settings: Settings {
                dimensions: env.json(var::DIMENSIONS, Dimensions::default()),
                order: env.choice(
                    var::QUEUE_ORDER,
                    &[("fifo", Order::Fifo), ("lifo", Order::Lifo)],
                    Order::Fifo,
                ),
                max_wait: env.seconds(var::MAX_WAIT_SECONDS, 1),
                call_lease: env.optional_seconds(var::CALL_LEASE_SECONDS, 1),
                answer_within: env.optional_seconds(var::ANSWER_WITHIN_SECONDS, 1),
                contention_window: env
                    .optional_number(var::CONTENTION_WINDOW, 1)
                    .unwrap_or(Settings::default().contention_window),
                ..Settings::default()
            },
        };
        // The dead-letter queue of a FIFO queue is one, and each message there has a group
        // (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html).
        env.check(
            config.dead_letters.ends_with(".fifo"),
            var::CALL_DEAD_LETTER_QUEUE_URL,
            "names a standard queue; name the FIFO dead-letter queue of the call queue, ….fifo",
        );
        config
    }
}

/// Configuration of `match-calls`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchCalls {
    /// The queue.
    pub queue: AgentQueue,
    /// URL of the FIFO queue that calls come from; `None`, as in environments of earlier releases:
    /// what fails is redelivered after the queue's visibility timeout.
    pub call_queue: Option<String>,
}

impl MatchCalls {
    /// Reads it through `lookup`.
    ///
    /// # Errors
    /// [`ConfigError`] names every variable that is missing or wrong.
    pub fn read(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let mut env = Reader::new(lookup);
        let config = Self {
            queue: AgentQueue::of(&mut env),
            call_queue: env.optional_text(var::CALL_QUEUE_URL),
        };
        env.finish(config)
    }
}

/// Configuration of `agent-desk`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentDesk {
    /// The queue.
    pub queue: AgentQueue,
    /// Whether command `seed` makes up agents: outside production only.
    pub seed_enabled: bool,
}

impl AgentDesk {
    /// Reads it through `lookup`.
    ///
    /// # Errors
    /// [`ConfigError`] names every variable that is missing or wrong.
    pub fn read(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let mut env = Reader::new(lookup);
        let config = Self {
            queue: AgentQueue::of(&mut env),
            seed_enabled: env.flag(var::SEED_ENABLED),
        };
        env.finish(config)
    }
}
