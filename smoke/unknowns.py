"""Lists behavior that only AWS can show, not the local AWS, and checks some of this behavior on AWS.

``python -m smoke unknowns`` prints the list. Each check runs on AWS with the current credentials, on the tables and
topics of a smoke test's own stacks. A check that fails on the first deployment to a new partition or region indicates a
defect, which you should report.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from local.contract import AGENT_PK, AGENT_SK, KEY
from local.agents import DeployedAgents
from local.queue import DeployedQueue
from smoke.place import Place
from smoke.report import Report, Skipped, expect


@dataclass(frozen=True)
class Unknown:
    """Behavior that the queues rely on and that no test on the local AWS can show."""

    what: str
    #: The behavior of the local AWS.
    locally: str
    #: The `make smoke` check that shows the behavior on AWS; None if only production use can show it.
    check: str | None = None


_RATE = "tasks: the rate over a minute"
_TOPICS = "aws: encrypted topics accept notifications"
_FUNCTIONS = "functions have their concurrency, time, memory and loop settings"
_ALARMS = "alarms are on, and none fires"

UNKNOWNS = (
    Unknown("throughput: 200 to 500 tasks/s per queue", "its speed is not that of AWS", _RATE),
    Unknown("DynamoDB: throttling; the partitions of the index", "it throttles nothing but the inserts of one test", _RATE),
    Unknown(
        "DynamoDB: the lag of the index",
        "the index is always current",
        "tasks: a pause holds tasks back, and a burst drains newest first",
    ),
    Unknown("DynamoDB: the stream records of expired items", "it deletes expired items without a record"),
    Unknown("DynamoDB: TransactionConflict", "no transaction is rejected because of another"),
    Unknown(
        "DynamoDB: ReturnValuesOnConditionCheckFailure in an update without a condition",
        "it accepts this",
        "aws: an update without a condition may set ReturnValuesOnConditionCheckFailure",
    ),
    Unknown(
        "DynamoDB: a retry of a cancelled transaction with the same token",
        "it accepts this",
        "aws: a cancelled transaction may be repeated with its token",
    ),
    Unknown("DynamoDB streams: batch window, retries, bisection", "a batch that fails blocks its shard"),
    Unknown("Lambda: the processor time and memory of a function", "functions are processes without limits", _RATE),
    Unknown("Lambda: cold starts; functions stop between invocations", "a process runs on after its invocation"),
    Unknown("Lambda: a running invocation ends normally if its function is updated", "its process is ended"),
    Unknown("Lambda: system errors; asynchronous events delivered twice", "neither occurs"),
    Unknown("Lambda: detection of recursive loops through SNS", "only loops through Invoke are detected", _FUNCTIONS),
    Unknown("Lambda: the concurrency of the account", "only reserved concurrency is limited"),
    Unknown("Lambda: arm64", "the functions are built for this machine", "tasks: an insert after idleness wakes the queue"),
    Unknown("SQS: batches of more than ten messages; parallel groups", "ten messages, one FIFO batch at a time"),
    Unknown("SQS: fair queues; a quiet tenant whose returned messages are in flight", "it has no fair queues"),
    Unknown("SNS, SQS: encryption and the permissions for its keys", "nothing is encrypted", _TOPICS),
    Unknown("EventBridge Scheduler: its role; events that it cannot deliver", "it invokes any function"),
    Unknown("IoT Core: the statement of the rule; its error action", "local/iot_presence.py builds the messages"),
    Unknown("IoT Core: the sequence of the rule is an integer, so 4711 and not 4711.0", "local/iot_presence.py writes an integer"),
    Unknown(
        "CloudWatch: metrics from log lines, which arrive late",
        "the log lines appear, but the metrics do not",
        "tasks: the metric of failed tasks appears",
    ),
    Unknown("CloudWatch: alarms; missing data; metric math", "alarms are stored, but have no data", _ALARMS),
    Unknown(
        "Cloud Control: the format of numbers and policies, which freshq doctor compares",
        "local/cloud_control.py describes schedules, inline policies and event buses",
    ),
    Unknown(
        "CloudFormation: rollback on an alarm; protection from deletion",
        "both are accepted and ignored",
        "the stack is complete and protected as configured",
    ),
    Unknown("X-Ray: traces", "only tests receive segments"),
    Unknown("IAM: the evaluation of policies", "its own evaluation"),
    Unknown("IAM: the claim job_workflow_ref of GitHub's tokens", "no role is assumed with a token"),
)


def listing() -> str:
    lines = ["What the local AWS cannot show. `make smoke` checks some of it on AWS.", ""]
    for unknown in UNKNOWNS:
        on_aws = f"make smoke checks {unknown.check}" if unknown.check else "no check"
        lines += [unknown.what, f"  locally: {unknown.locally}", f"  on AWS:  {on_aws}"]
    return "\n".join(lines)


@dataclass
class UnknownChecks:
    place: Place
    queue: DeployedQueue
    agents: DeployedAgents

    def run(self, report: Report) -> None:
        """Runs all checks; each is skipped on the local AWS."""
        checks: list[tuple[str, Callable[[], str]]] = [
            ("aws: encrypted topics accept notifications", self.topics),
            ("aws: an update without a condition may set ReturnValuesOnConditionCheckFailure", self.old_item),
            ("aws: a cancelled transaction may be repeated with its token", self.repeated_token),
        ]
        for name, check in checks:
            report.check(name, self.on_aws(check))

    def on_aws(self, check: Callable[[], str]) -> Callable[[], str]:
        """Wraps a check so that it raises `Skipped` on the local AWS."""

        def run() -> str:
            if self.place.is_local:
                raise Skipped("skipped locally: only AWS itself can answer")
            return check()

        return run

    def topics(self) -> str:
        sns, keys = self.queue.client("sns"), set()
        for output in ("TriggerTopicArn", "ProcessTasksTopicArn"):
            arn = self.queue.outputs[output]
            attributes = sns.get_topic_attributes(TopicArn=arn)["Attributes"]
            expect(bool(attributes.get("KmsMasterKeyId")), f"{arn} is not encrypted")
            keys.add(attributes["KmsMasterKeyId"])
            # An extra tail call or notification is harmless. The request fails if SNS can't use the topic's key.
            sns.publish(TopicArn=arn, Message="{}")
        return f"by {', '.join(sorted(keys))}"

    def old_item(self) -> str:
        dynamodb, key = self.queue.client("dynamodb"), {KEY: {"S": f"smoke-{uuid.uuid4()}"}}
        named = {"TableName": self.queue.table, "Key": key}
        try:
            dynamodb.update_item(
                **named,
                UpdateExpression="SET smoke = :one",
                ExpressionAttributeValues={":one": {"N": "1"}},
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        finally:
            dynamodb.delete_item(**named)
        return "accepted"

    def repeated_token(self) -> str:
        dynamodb, token = self.agents.client("dynamodb"), str(uuid.uuid4())
        key = {AGENT_PK: {"S": f"smoke#{token}"}, AGENT_SK: {"S": "smoke"}}
        named = {"TableName": self.agents.table, "Key": key}
        update = {
            **named,
            "UpdateExpression": "SET smoke = :two",
            "ConditionExpression": "smoke = :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}, ":two": {"N": "2"}},
        }
        expect(cancelled(dynamodb, update, token), "a transaction succeeded although its condition was false")
        try:
            dynamodb.put_item(TableName=self.agents.table, Item=key | {"smoke": {"N": "1"}})
            repeated = cancelled(dynamodb, update, token)
            expect(not repeated, "a transaction with a true condition and the token of a cancelled one was cancelled")
            return "the repetition succeeds if its condition is true by then"
        finally:
            dynamodb.delete_item(**named)


def cancelled(dynamodb: Any, update: dict[str, Any], token: str) -> bool:
    """Whether the update's condition cancels a transaction with only this update and this token."""
    try:
        dynamodb.transact_write_items(TransactItems=[{"Update": update}], ClientRequestToken=token)
    except ClientError as error:
        if error.response["Error"]["Code"] == "TransactionCanceledException":
            return True
        raise
    return False
