//! Behavior that the queue relies on and that no test on a local AWS can show.

use super::checks::Check;

/// Behavior that a check shows on AWS.
pub(super) const SHOWN: [(&str, Check); 12] = [
    ("Lambda: arm64", Check::Created),
    (
        "DynamoDB streams: a new task starts a processor",
        Check::WakeUp,
    ),
    ("DynamoDB: the lag of the index", Check::Index),
    (
        "DynamoDB: ReturnValuesOnConditionCheckFailure without condition",
        Check::Writes,
    ),
    (
        "DynamoDB: the token of a cancelled transaction",
        Check::Writes,
    ),
    ("SNS: encrypted topics", Check::Topics),
    ("IAM: permissions of the functions", Check::Settled),
    ("Lambda: recursive loops, by alarm", Check::Alarms),
    ("EventBridge Scheduler, by alarm", Check::Alarms),
    ("CloudWatch: metrics from logs, by alarm", Check::Alarms),
    ("CloudWatch: alarms", Check::Alarms),
    ("Cloud Control: formats", Check::Doctor),
];

/// Behavior that no check can show, each with the reason.
pub(super) const NOT_SHOWN: [&str; 19] = [
    "throughput of 200 to 500 tasks/s: the downstream limits it; make smoke in a clone measures it",
    "DynamoDB: throttling, and the partitions of the index: needs load, as make smoke has",
    "DynamoDB: the stream records of expired items: DynamoDB deletes these within days",
    "DynamoDB: TransactionConflict: only the agents' queue uses transactions",
    "DynamoDB streams: retries and bisection: needs a function that fails",
    "Lambda: the processor time and memory of a function: needs load, as make smoke has",
    "Lambda: functions that stop between invocations: needs hours",
    "Lambda: an update lets a running invocation end: needs a deployment",
    "Lambda: system errors, and asynchronous events that arrive twice: occur at random",
    "Lambda: the concurrency of the account: needs the load of the whole account",
    "SQS: batches of more than ten messages, parallel groups: needs messages under load",
    "SQS: fair queues: needs several tenants under load",
    "SQS: encryption, and the permissions for its keys: needs an event that fails",
    "EventBridge Scheduler: events that it cannot deliver: needs a function that cannot start",
    "IoT Core: the statement of the rule, its integer sequence, its error action: needs a device",
    "CloudFormation: rollback on an alarm, protection from deletion: needs a deployment",
    "X-Ray: traces: needs tracing",
    "IAM: permissions for rare events: needs these events",
    "IAM: the claim job_workflow_ref of GitHub's tokens: needs a workflow",
];
