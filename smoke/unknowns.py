"""Checks of behaviour on which the queues rely, which AWS does not document and no emulator proves.

Each check uses AWS itself, with the credentials in use, on the tables and topics of a smoke test's own
stacks. A check that fails on the first deployment to a new partition or region is a defect to report.
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

@dataclass
class UnknownChecks:
    """The checks, on the two stacks of a smoke test."""

    place: Place
    queue: DeployedQueue
    agents: DeployedAgents

    def run(self, report: Report) -> None:
        """Run all of them; each is skipped on the local AWS."""
        checks: list[tuple[str, Callable[[], str]]] = [
            ("aws: encrypted topics accept notifications", self.topics),
            ("aws: an update without a condition may set ReturnValuesOnConditionCheckFailure", self.old_item),
            ("aws: a cancelled transaction may be repeated with its token", self.repeated_token),
        ]
        for name, check in checks:
            report.check(name, self.on_aws(check))

    def on_aws(self, check: Callable[[], str]) -> Callable[[], str]:
        """The check on AWS; on the local AWS it raises `Skipped`."""

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
            # An extra tail call or notification does no harm. A key that SNS cannot use fails here.
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
    """Whether a transaction of this one update, with this token, is cancelled by its condition."""
    try:
        dynamodb.transact_write_items(TransactItems=[{"Update": update}], ClientRequestToken=token)
    except ClientError as error:
        if error.response["Error"]["Code"] == "TransactionCanceledException":
            return True
        raise
    return False
