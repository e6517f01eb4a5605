//! The environment variables, with the name and meaning of each.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: &'static str,
    /// Contents of the variable. The error for a missing or invalid one shows this text as the fix.
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
    TASK_TABLE_NAME: "The name of the task table (stack output QueueTableName)",
    PROCESS_TASKS_TOPIC_ARN: "The ARN of the topic that wakes process-tasks (output ProcessTasksTopicArn)",
    TRIGGER_TOPIC_ARN: "The ARN of the topic that tail calls go to (output TriggerTopicArn)",
    TASK_RUNNER: "The task runner, as JSON",
    SHED_QUEUE_URL: "The URL of an SQS standard queue that shed tasks go to; if absent, they are only counted",
    EVENT_BUS_ARN: "The ARN of the EventBridge bus that events of ended tasks go to; if absent, there are no events",
    INGEST_QUEUE_URL: "The URL of the SQS standard queue that tasks come from (output IngestQueueUrl)",
    INGEST_DEAD_LETTER_QUEUE_URL: "The URL of the SQS standard queue for invalid messages (output IngestDeadLetterQueueUrl)",
    AGENT_TABLE_NAME: "The name of the agents' table (stack output AgentTableName)",
    ASSIGNMENT_TOPIC_ARN: "The ARN of the topic that assignments go to (output AssignmentTopicArn)",
    CALL_QUEUE_URL: "The URL of the SQS FIFO queue that calls come from (output CallQueueUrl)",
    CALL_DEAD_LETTER_QUEUE_URL: "The URL of the SQS FIFO queue for expired calls and invalid messages (output CallDeadLetterQueueUrl)",
    SETTINGS_CREATE_TASKS: "The settings of create-tasks, as JSON",
    SETTINGS_INGEST_TASKS: "The settings of ingest-tasks, as JSON",
    SETTINGS_TRIGGER: "The settings of trigger, as JSON",
    SETTINGS_PROCESS_TASKS: "The settings of process-tasks, as JSON",
    SETTINGS_SWEEP_TASKS: "The settings of sweep-tasks, as JSON",
    SETTINGS_AGENT_DESK: "The settings of agent-desk, as JSON",
    SETTINGS_MATCH_CALLS: "The settings of match-calls, as JSON",
    SETTINGS_SWEEP_AGENTS: "The settings of sweep-agents, as JSON",
}
