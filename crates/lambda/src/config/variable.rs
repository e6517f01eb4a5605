//! The environment variables, each once: its name and what belongs in it.

/// An environment variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What belongs in it: the remedy, when it is missing or wrong.
    pub meaning: &'static str,
}

macro_rules! variables {
    ($($name:ident: $meaning:literal,)*) => {
        $(
            #[doc = concat!($meaning, ".")]
            pub const $name: Variable = Variable { name: stringify!($name), meaning: $meaning };
        )*
    };
}

variables! {
    TASK_TABLE_NAME: "The name of the task table (the stack's output QueueTableName)",
    PROCESS_TASKS_TOPIC_ARN: "The ARN of the topic that wakes process-tasks (output ProcessTasksTopicArn)",
    TRIGGER_TOPIC_ARN: "The ARN of the topic that tail calls go to (output TriggerTopicArn)",
    DEFAULT_TTL_SECONDS: "The expiry of a task that names none, in seconds from its creation",
    MAX_TTL_SECONDS: "The longest expiry a task may name, in seconds",
    KEY_TTL_SECONDS: "The longest expiry of a task with a key, in seconds: how long settled tasks are kept",
    TASK_ORDER: "newest-first, or oldest-key-first: the key that has waited longest; default: newest-first",
    EXPIRY_BOUND_SECONDS: "The longest expiry of any task in the table, in seconds from its creation, if every writer keeps to it",
    SIMULATION_ENABLED: "Whether create-tasks makes tasks of its own for trying the queue out: true or false",
    NOTIFICATION_MARKER_MS: "How long one notification holds others back, in milliseconds",
    TASK_RUNNER: "The task runner, as JSON",
    TASK_SLOTS: "How many tasks run at once",
    RATE_PER_SECOND: "How many tasks may start a second in the long run, as a decimal number",
    RATE_BURST: "How many tasks may start at once after a rest",
    TASK_TIMEOUT_MS: "How long one task may run, in milliseconds",
    TURN_MS: "How long one turn takes tasks, in milliseconds",
    DEADLINE_MARGIN_MS: "How long before the function's deadline all work must have ended, in milliseconds",
    PROCESSOR_LEASE_MS: "How long the processor's lease lasts without a heartbeat, in milliseconds",
    HEARTBEAT_MS: "How often the processor's lease is renewed, in milliseconds",
    CLOCK_SKEW_MS: "By how much the clocks of two functions may differ, in milliseconds",
    INDEX_LAG_MS: "How long an empty queue is watched because its index lags, in milliseconds",
    MAX_ATTEMPTS: "How many attempts a task has",
    MAX_BUSY_RETURNS: "How often a busy downstream may return a task without using up an attempt",
    MAX_UNAVAILABLE_RETURNS: "How many times an open circuit breaker may return a task without using up an attempt, beside MAX_BUSY_RETURNS",
    BREAKER_PAUSE_AFTER_SECONDS: "How long the circuit breaker may be open before the queue pauses, in seconds; left out: there is no circuit breaker",
    CODEL_TARGET_MS: "Half the age at which a task is too old to start while the queue is overloaded, in milliseconds; left out: age is not bounded",
    CODEL_INTERVAL_MS: "For how long new tasks must have been waiting before the queue is overloaded, in milliseconds",
    TARGET_LATENCY_MS: "How long a run takes at most while the downstream is well, in milliseconds; left out: the time of a run changes no concurrency",
    MAX_IDLE_TURNS: "How many turns in a row may settle nothing before the queue waits for the sweep",
    PAUSE_MS: "How long the queue pauses when the downstream rejects us, in milliseconds",
    RETRY_BASE_MS: "The first attempt's backoff, in milliseconds",
    RETRY_MAX_MS: "The longest backoff, in milliseconds",
    SUCCESS_RETENTION_SECONDS: "How long a SUCCESS is kept, in seconds",
    FAILURE_RETENTION_SECONDS: "How long a FAILURE is kept, in seconds",
    SHED_QUEUE_URL: "The URL of an SQS standard queue that shed tasks go to; left out: they are counted only",
    INGEST_QUEUE_URL: "The URL of the SQS standard queue that tasks come from (output IngestQueueUrl)",
    INGEST_DEAD_LETTER_QUEUE_URL: "The URL of the SQS standard queue for messages that are no tasks (output IngestDeadLetterQueueUrl)",
    WRITE_PARALLELISM: "How many writes are under way at once",
    VISIBILITY_BASE_SECONDS: "After how long a message that could not be written becomes visible again the first time, in seconds; it doubles with each receive",
    VISIBILITY_MAX_SECONDS: "After how long such a message becomes visible again at the latest, in seconds",
    AGENT_TABLE_NAME: "The name of the agents' table (the stack's output AgentTableName)",
    ASSIGNMENT_TOPIC_ARN: "The ARN of the topic that assignments go to (output AssignmentTopicArn)",
    CALL_QUEUE_URL: "The URL of the SQS FIFO queue that calls come from (output CallQueueUrl); left out: what fails is redelivered after its visibility timeout",
    CALL_DEAD_LETTER_QUEUE_URL: "The URL of the SQS FIFO queue for calls that waited too long and messages that are no calls (output CallDeadLetterQueueUrl)",
    DIMENSIONS: "What agents are chosen by, as JSON: [{\"name\", \"attribute\", \"multiValued\"}, …]",
    QUEUE_ORDER: "Who comes first: fifo or lifo",
    MAX_WAIT_SECONDS: "How long a call waits for an agent, in seconds",
    ANSWER_WITHIN_SECONDS: "How long an agent has to answer before the call returns to its line, in seconds; left out: an assignment needs no answer",
    CALL_LEASE_SECONDS: "How long a call may last after its assignment or its last extension before its agent is available again, in seconds; left out: without limit",
    CONTENTION_WINDOW: "Among how many of the first agents of a queue a call chooses at most, while transactions conflict; left out: 8",
    SEED_ENABLED: "Whether agent-desk makes up agents for trying the queue out: true or false",
}
