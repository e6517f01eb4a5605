//! The settings that doctor checks, each with the effect of a different value and a fix.

use crate::deployed::Kind;

/// A setting: its JSON pointer in the resource, the effect of another value, and the fix. In the
/// fix, `{id}` stands for the physical id of the resource, and `{wanted}` for the template's value.
pub(super) struct Setting(
    pub(super) &'static str,
    pub(super) &'static str,
    pub(super) &'static str,
);

const TABLE: [Setting; 8] = [
    Setting(
        "/TableStatus",
        "no task can be read or written",
        "wait until the table is ACTIVE, or check it in the AWS console",
    ),
    Setting(
        "/Indexes",
        "without the index, the processor finds no task",
        "wait until the index is ACTIVE; if it is missing, deploy the queue under a new stack name",
    ),
    Setting(
        "/StreamSpecification/StreamViewType",
        "without both images, new tasks start at the next sweep, and shed tasks are not counted",
        "aws dynamodb update-table --table-name {id} --stream-specification StreamEnabled=true,StreamViewType={wanted}, then deploy: the new stream has a new ARN",
    ),
    Setting(
        "/TimeToLiveSpecification/Enabled",
        "expired and settled tasks remain in the table and increase read costs",
        "aws dynamodb update-time-to-live --table-name {id} --time-to-live-specification Enabled=true,AttributeName=ttl",
    ),
    Setting(
        "/TimeToLiveSpecification/AttributeName",
        "with another TTL attribute, expired tasks stay in the table, or other tasks are deleted early",
        "aws dynamodb update-time-to-live --table-name {id} --time-to-live-specification Enabled=true,AttributeName={wanted}",
    ),
    Setting(
        "/PointInTimeRecoverySpecification/PointInTimeRecoveryEnabled",
        "without it, the table cannot be restored to an earlier time",
        "aws dynamodb update-continuous-backups --table-name {id} --point-in-time-recovery-specification PointInTimeRecoveryEnabled={wanted}",
    ),
    Setting(
        "/DeletionProtectionEnabled",
        "without it, one DeleteTable request deletes all tasks",
        "aws dynamodb update-table --table-name {id} --deletion-protection-enabled",
    ),
    Setting(
        "/SSESpecification/SSEEnabled",
        "payloads are not encrypted with the key of the template",
        "aws dynamodb update-table --table-name {id} --sse-specification Enabled={wanted}",
    ),
];

const FUNCTION: [Setting; 5] = [
    Setting(
        "/State",
        "the function cannot be invoked",
        "aws lambda get-function --function-name {id} names the reason; deploy again",
    ),
    Setting(
        "/ReservedConcurrentExecutions",
        "with a lower value, Lambda throttles the function; with a higher one, less concurrency is left for other functions",
        "aws lambda put-function-concurrency --function-name {id} --reserved-concurrent-executions {wanted}; for null: aws lambda delete-function-concurrency --function-name {id}",
    ),
    Setting(
        "/RecursiveLoop",
        "with Terminate, Lambda stops the tail calls after about 16 rounds",
        "aws lambda put-function-recursion-config --function-name {id} --recursive-loop {wanted}",
    ),
    Setting(
        "/Timeout",
        "if it is shorter, Lambda ends turns early and running tasks crash; if it is longer, a hung turn blocks the queue for longer",
        "aws lambda update-function-configuration --function-name {id} --timeout {wanted}",
    ),
    Setting(
        "/MemorySize",
        "with less memory, turns are slow or crash, because all concurrent tasks share it; more costs more",
        "aws lambda update-function-configuration --function-name {id} --memory-size {wanted}",
    ),
];

const EVENT_SOURCE: [Setting; 11] = [
    Setting(
        "/State",
        "if it is disabled, new tasks start at the next sweep, messages are not read, and shed tasks are not counted",
        "aws lambda update-event-source-mapping --uuid {id} --enabled",
    ),
    Setting(
        "/BatchSize",
        "a larger batch may exceed the timeout of the function; a smaller one costs invocations",
        "aws lambda update-event-source-mapping --uuid {id} --batch-size {wanted}",
    ),
    Setting(
        "/MaximumBatchingWindowInSeconds",
        "a window delays the start of new tasks",
        "aws lambda update-event-source-mapping --uuid {id} --maximum-batching-window-in-seconds {wanted}",
    ),
    Setting(
        "/BisectBatchOnFunctionError",
        "without it, one bad record blocks the other records of its batch",
        "aws lambda update-event-source-mapping --uuid {id} --bisect-batch-on-function-error",
    ),
    Setting(
        "/MaximumRetryAttempts",
        "a record that is retried indefinitely blocks its shard",
        "aws lambda update-event-source-mapping --uuid {id} --maximum-retry-attempts {wanted}",
    ),
    Setting(
        "/MaximumRecordAgeInSeconds",
        "old records delay new ones",
        "aws lambda update-event-source-mapping --uuid {id} --maximum-record-age-in-seconds {wanted}",
    ),
    Setting(
        "/ParallelizationFactor",
        "with fewer concurrent batches of a shard, wake-ups are late; with more, the function is throttled",
        "aws lambda update-event-source-mapping --uuid {id} --parallelization-factor {wanted}",
    ),
    Setting(
        "/FunctionResponseTypes",
        "without it, one failed message fails its whole batch",
        "aws lambda update-event-source-mapping --uuid {id} --function-response-types ReportBatchItemFailures",
    ),
    Setting(
        "/FilterCriteria",
        "another filter drops wake-ups or costs invocations",
        "aws lambda update-event-source-mapping --uuid {id} --filter-criteria '{wanted}'",
    ),
    Setting(
        "/ScalingConfig/MaximumConcurrency",
        "more writers than this throttle one partition of the index",
        "aws lambda update-event-source-mapping --uuid {id} --scaling-config MaximumConcurrency={wanted}",
    ),
    Setting(
        "/DestinationConfig",
        "without it, failed batches are lost",
        "set the on-failure destination of mapping {id} in the AWS console, as in the template: {wanted}",
    ),
];

const INVOCATION: [Setting; 3] = [
    Setting(
        "/MaximumRetryAttempts",
        "with fewer retries, more wake-ups wait for the next sweep; with more, late ones start needless turns",
        "aws lambda update-function-event-invoke-config --function-name {id} --maximum-retry-attempts {wanted}",
    ),
    Setting(
        "/MaximumEventAgeInSeconds",
        "with a longer time, old events start needless turns; with a shorter one, wake-ups are lost until the next sweep",
        "aws lambda update-function-event-invoke-config --function-name {id} --maximum-event-age-in-seconds {wanted}",
    ),
    Setting(
        "/DestinationConfig",
        "without it, failed events are lost",
        "set the on-failure destination of {id} in the AWS console, as in the template: {wanted}",
    ),
];

const TOPIC: [Setting; 1] = [Setting(
    "/KmsMasterKeyId",
    "messages are not encrypted with the key of the template",
    "aws sns set-topic-attributes --topic-arn {id} --attribute-name KmsMasterKeyId --attribute-value {wanted}",
)];

const SUBSCRIPTION: [Setting; 3] = [
    Setting(
        "/PendingConfirmation",
        "no notification arrives before the confirmation",
        "aws sns unsubscribe --subscription-arn {id}, then delete and deploy the stack's subscription again",
    ),
    Setting(
        "/Endpoint",
        "notifications go to another function, so this one is not invoked",
        "subscribe the function of the template: {wanted}",
    ),
    Setting(
        "/RedrivePolicy",
        "notifications that SNS cannot deliver are lost without a trace",
        "aws sns set-subscription-attributes --subscription-arn {id} --attribute-name RedrivePolicy --attribute-value '{\"deadLetterTargetArn\": …}', as in the template: {wanted}",
    ),
];

const QUEUE: [Setting; 4] = [
    Setting(
        "/VisibilityTimeout",
        "if it is shorter than the attempts of its function, SQS delivers a message twice concurrently",
        "aws sqs set-queue-attributes --queue-url {id} --attributes VisibilityTimeout={wanted}",
    ),
    Setting(
        "/MessageRetentionPeriod",
        "with a shorter time, SQS deletes messages before they are read",
        "aws sqs set-queue-attributes --queue-url {id} --attributes MessageRetentionPeriod={wanted}",
    ),
    Setting(
        "/SqsManagedSseEnabled",
        "messages are not encrypted at rest",
        "aws sqs set-queue-attributes --queue-url {id} --attributes SqsManagedSseEnabled={wanted}",
    ),
    Setting(
        "/RedrivePolicy",
        "without it, SQS redelivers an unreadable message indefinitely",
        "aws sqs set-queue-attributes --queue-url {id} --attributes with the RedrivePolicy of the template: {wanted}",
    ),
];

const SCHEDULE: [Setting; 2] = [
    Setting(
        "/State",
        "without sweeps, tasks of crashed processes stay TAKEN, and lost wake-ups stay lost",
        "aws scheduler get-schedule --name {id} | jq 'del(.Arn,.CreationDate,.LastModificationDate) | .State=\"{wanted}\"' | xargs -0 aws scheduler update-schedule --cli-input-json",
    ),
    Setting(
        "/ScheduleExpression",
        "with a longer interval, lost wake-ups and crashed tasks wait longer for the sweep",
        "aws scheduler update-schedule --name {id} with --schedule-expression '{wanted}'",
    ),
];

const LOG_GROUP: [Setting; 1] = [Setting(
    "/RetentionInDays",
    "with a shorter time, CloudWatch deletes logs that an investigation needs; a longer one costs more",
    "aws logs put-retention-policy --log-group-name {id} --retention-in-days {wanted}",
)];

const ALARM: [Setting; 5] = [
    Setting(
        "/ActionsEnabled",
        "no notification is sent when the alarm fires",
        "aws cloudwatch enable-alarm-actions --alarm-names {id}",
    ),
    Setting(
        "/AlarmActions",
        "no notification is sent when the alarm fires",
        "aws cloudwatch put-metric-alarm for {id} with the actions of the template: {wanted}",
    ),
    Setting(
        "/Threshold",
        "the alarm fires at another value, so too late, too often or never",
        "aws cloudwatch put-metric-alarm for {id} with --threshold {wanted}",
    ),
    Setting(
        "/MetricName",
        "the alarm monitors a different metric, so it misses the intended problem",
        "aws cloudwatch put-metric-alarm for {id} with --metric-name {wanted}",
    ),
    Setting(
        "/EvaluationPeriods",
        "the alarm fires too late, or after a single outlier",
        "aws cloudwatch put-metric-alarm for {id} with --evaluation-periods {wanted}",
    ),
];

/// Returns the settings to check for a resource kind.
pub(super) fn settings(kind: Kind) -> &'static [Setting] {
    match kind {
        Kind::Table => &TABLE,
        Kind::Function => &FUNCTION,
        Kind::EventSource => &EVENT_SOURCE,
        Kind::Invocation => &INVOCATION,
        Kind::Topic => &TOPIC,
        Kind::Subscription => &SUBSCRIPTION,
        Kind::Queue => &QUEUE,
        Kind::Schedule => &SCHEDULE,
        Kind::LogGroup => &LOG_GROUP,
        Kind::Alarm => &ALARM,
        Kind::Policy | Kind::EventBus => &[],
    }
}
