"""The items that the functions' roles can access under the conditions of their policies."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from expectations import TRYING

from local.contract import CONTROL_ITEM, KEY
from local.emulator import ACCOUNT, REGION
from local.queue import DeployedQueue

pytestmark = pytest.mark.skipif(
    os.environ.get("FRESHQ_IAM") == "0", reason="FRESHQ_IAM=0 disables IAM"
)

_ROOT_TOO = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"},
            "Action": "sts:AssumeRole",
        }
    ],
}


@contextmanager
def acting_as(queue: DeployedQueue, function: str) -> Iterator[Any]:
    """A DynamoDB client that uses the role of a function. While the block runs, the role trusts the account."""
    configuration = queue.client("lambda").get_function_configuration(
        FunctionName=queue.function(function)
    )
    iam, name = queue.client("iam"), configuration["Role"].rsplit("/", 1)[-1]
    trust = iam.get_role(RoleName=name)["Role"]["AssumeRolePolicyDocument"]
    iam.update_assume_role_policy(RoleName=name, PolicyDocument=json.dumps(_ROOT_TOO))
    try:
        given = queue.client("sts").assume_role(
            RoleArn=configuration["Role"], RoleSessionName=TRYING
        )["Credentials"]
        session = boto3.Session(
            given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"], REGION
        )
        yield session.client("dynamodb", endpoint_url=queue.endpoint)
    finally:
        iam.update_assume_role_policy(RoleName=name, PolicyDocument=json.dumps(trust))


def touch(dynamodb: Any, queue: DeployedQueue, action: str, item: str) -> str:
    """Tries to read or change an item and returns the error code or `allowed`. The change's condition is never met."""
    asked: dict[str, Any] = {"TableName": queue.table, "Key": {KEY: {"S": item}}}
    try:
        if action == "GetItem":
            dynamodb.get_item(**asked)
        else:
            dynamodb.update_item(
                **asked,
                UpdateExpression="SET touched = :true",
                ConditionExpression="attribute_exists(neverThere)",
                ExpressionAttributeValues={":true": {"BOOL": True}},
            )
    except ClientError as error:
        return str(error.response["Error"]["Code"])
    return "allowed"


@pytest.mark.parametrize(
    ("function", "action", "allowed"),
    [
        ("trigger", "UpdateItem", "ConditionalCheckFailedException"),
        ("process-tasks", "GetItem", "allowed"),
        ("sweep-tasks", "GetItem", "allowed"),
    ],
)
def test_role_for_the_control_item_cannot_access_tasks(
    queue: DeployedQueue, function: str, action: str, allowed: str
) -> None:
    with acting_as(queue, function) as dynamodb:
        assert touch(dynamodb, queue, action, CONTROL_ITEM) == allowed
        assert touch(dynamodb, queue, action, "a-task") == "AccessDeniedException"
