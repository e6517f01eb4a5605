"""freshq doctor on the deployed template: a healthy queue has no findings, and every broken setting is found."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import commands
import pytest

from local.emulator import local_environment
from local.queue import DeployedQueue
from local.waiting import now_ms, wait_until

Report = dict[str, Any]
CONTROL = {"taskId": {"S": "#processor"}}


@pytest.fixture
def doctor(queue: DeployedQueue, command: str) -> Callable[[int], Report]:
    """Runs doctor, checks the exit code, and returns the report."""

    def run(code: int) -> Report:
        environment = local_environment(queue.local_endpoint)
        finished = commands.run(command, environment, "doctor", "--output", "json")
        assert finished.stdout, finished.stderr
        report = json.loads(finished.stdout)
        assert finished.returncode == code, "\n".join(finding["what"] for finding in report["findings"])
        return report

    return run


Breakage = Callable[[DeployedQueue], Iterator[str]]


def concurrency(queue: DeployedQueue) -> Iterator[str]:
    client, name = queue.client("lambda"), queue.function("process-tasks")
    client.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=3)
    yield "ReservedConcurrentExecutions is 3, and 2"
    client.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=2)


def recursion(queue: DeployedQueue) -> Iterator[str]:
    client, name = queue.client("lambda"), queue.function("trigger")
    client.put_function_recursion_config(FunctionName=name, RecursiveLoop="Terminate")
    yield 'RecursiveLoop is "Terminate", and "Allow"'
    client.put_function_recursion_config(FunctionName=name, RecursiveLoop="Allow")


def function_setting(binary: str, setting: str, broken: int) -> Breakage:
    def change(queue: DeployedQueue) -> Iterator[str]:
        client, name = queue.client("lambda"), queue.function(binary)
        before = client.get_function_configuration(FunctionName=name)[setting]
        client.update_function_configuration(FunctionName=name, **{setting: broken})
        yield f"{setting} is {broken}, and {before}"
        client.update_function_configuration(FunctionName=name, **{setting: before})

    return change


def mapping_setting(logical: str, finding: str, broken: dict[str, Any], before: dict[str, Any]) -> Breakage:
    def change(queue: DeployedQueue) -> Iterator[str]:
        client, mapping = queue.client("lambda"), queue.physical_id(logical)
        client.update_event_source_mapping(UUID=mapping, **broken)
        yield finding
        client.update_event_source_mapping(UUID=mapping, **before)

    return change


def expiry(queue: DeployedQueue) -> Iterator[str]:
    client, table = queue.client("dynamodb"), queue.outputs["QueueTableName"]
    setting = {"Enabled": False, "AttributeName": "ttl"}
    client.update_time_to_live(TableName=table, TimeToLiveSpecification=setting)
    yield "TimeToLiveSpecification/Enabled is false"
    client.update_time_to_live(TableName=table, TimeToLiveSpecification=setting | {"Enabled": True})


def recovery(queue: DeployedQueue) -> Iterator[str]:
    client, table = queue.client("dynamodb"), queue.outputs["QueueTableName"]

    def switch(on: bool) -> None:
        client.update_continuous_backups(
            TableName=table, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": on}
        )

    switch(True)
    yield "PointInTimeRecoveryEnabled is true, and false"
    switch(False)


def protection(queue: DeployedQueue) -> Iterator[str]:
    client, table = queue.client("dynamodb"), queue.outputs["QueueTableName"]
    client.update_table(TableName=table, DeletionProtectionEnabled=True)
    yield "DeletionProtectionEnabled is true, and false"
    client.update_table(TableName=table, DeletionProtectionEnabled=False)


def queue_setting(output: str, setting: str, broken: str, finding: str) -> Breakage:
    def change(queue: DeployedQueue) -> Iterator[str]:
        client, url = queue.client("sqs"), queue.outputs[output]
        before = client.get_queue_attributes(QueueUrl=url, AttributeNames=[setting])["Attributes"][setting]
        client.set_queue_attributes(QueueUrl=url, Attributes={setting: broken})
        yield finding
        client.set_queue_attributes(QueueUrl=url, Attributes={setting: before})

    return change


def receives(queue: DeployedQueue) -> Iterator[str]:
    client, url = queue.client("sqs"), queue.outputs["IngestQueueUrl"]
    before = client.get_queue_attributes(QueueUrl=url, AttributeNames=["RedrivePolicy"])["Attributes"]["RedrivePolicy"]
    policy = json.loads(before) | {"maxReceiveCount": 3}
    client.set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": json.dumps(policy)})
    yield '"maxReceiveCount":3'
    client.set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": before})


def misspelled(queue: DeployedQueue) -> Iterator[str]:
    client, key = queue.client("dynamodb"), {"taskId": {"S": "a misspelled task"}}
    item = key | {"taskStatus": {"S": "pending"}, "taskCreated": {"N": str(now_ms())}}
    client.put_item(TableName=queue.table, Item=item)
    yield 'the status "pending" instead of "PENDING": a misspelled task'
    client.delete_item(TableName=queue.table, Key=key)


def dead_letter(queue: DeployedQueue) -> Iterator[str]:
    client, url = queue.client("sqs"), queue.outputs["IngestDeadLetterQueueUrl"]
    reason = {"reason": {"DataType": "String", "StringValue": "ttl: it is 0"}}
    client.send_message(QueueUrl=url, MessageBody="{}", MessageAttributes=reason)
    yield "ttl: it is 0"
    client.purge_queue(QueueUrl=url)


def control(changes: str, values: dict[str, Any], removes: str, finding: str) -> Breakage:
    def change(queue: DeployedQueue) -> Iterator[str]:
        client, table = queue.client("dynamodb"), queue.outputs["QueueTableName"]
        # `owner` is a reserved word in DynamoDB expressions.
        names = {"ExpressionAttributeNames": {"#owner": "owner"}} if "#owner" in changes else {}
        client.update_item(
            TableName=table, Key=CONTROL, UpdateExpression=f"SET {changes}", ExpressionAttributeValues=values, **names
        )
        yield finding
        client.update_item(TableName=table, Key=CONTROL, UpdateExpression=f"REMOVE {removes}", **names)

    return change


STREAM = "queuetriggerstream905750A6"
INGEST = "queueingesttasksmessages0AA61018"
LATER = {":at": {"N": str(now_ms() + 7_200_000)}, ":why": {"S": "maintenance"}}
BREAKAGES: list[Breakage] = [
    concurrency,
    recursion,
    function_setting("create-tasks", "Timeout", 5),
    function_setting("sweep-tasks", "MemorySize", 128),
    function_setting("process-tasks", "Timeout", 60),
    mapping_setting(STREAM, 'State is "Disabled"', {"Enabled": False}, {"Enabled": True}),
    mapping_setting(INGEST, "BatchSize is 3, and 10", {"BatchSize": 3}, {"BatchSize": 10}),
    mapping_setting(
        INGEST,
        "ScalingConfig/MaximumConcurrency is 2, and 10",
        {"ScalingConfig": {"MaximumConcurrency": 2}},
        {"ScalingConfig": {"MaximumConcurrency": 10}},
    ),
    expiry,
    recovery,
    protection,
    queue_setting("IngestQueueUrl", "VisibilityTimeout", "60", "VisibilityTimeout is 60 s, less than 6 times the 30 s"),
    queue_setting("IngestQueueUrl", "MessageRetentionPeriod", "3600", 'MessageRetentionPeriod is "3600", and 86400'),
    receives,
    misspelled,
    dead_letter,
    control("pausedUntil = :at, pauseReason = :why", LATER, "pausedUntil, pauseReason", "it is paused until"),
    control(
        "breakerHeldUntil = :at, breakerReason = :why",
        LATER,
        "breakerHeldUntil, breakerReason",
        "an operator holds it open until",
    ),
    control(
        "#owner = :owner, leaseUntil = :past",
        {":owner": {"S": "00000000-0000-0000-0000-000000000007"}, ":past": {"N": str(now_ms() - 600_000)}},
        "#owner, leaseUntil",
        "the processor lease of 00000000-0000-0000-0000-000000000007 expired",
    ),
]


def test_doctor_finds_each_of_many_broken_settings_and_none_in_a_healthy_queue(
    queue: DeployedQueue, unchanged: None, doctor: Callable[[int], Report]
) -> None:
    queue.wait_until_idle()
    queue.empty_queues()
    healthy = doctor(0)
    assert healthy["findings"] == []
    assert healthy["checked"] >= 100
    places = {unchecked["place"].split()[0] for unchecked in healthy["notChecked"]}
    assert places == {"alarm", "asynchronous", "log"}, "what the local AWS does not support"

    with ExitStack() as restored:
        wanted = [restored.enter_context(contextmanager(breakage)(queue)) for breakage in BREAKAGES]
        findings = [finding["what"] for finding in doctor(1)["findings"]]
    missed = [text for text in wanted if not any(text in found for found in findings)]
    assert missed == [], findings
    assert len(wanted) >= 15

    wait_until(lambda: not doctor_findings(doctor), 30, "a healthy queue again")


def doctor_findings(doctor: Callable[[int], Report]) -> list[Any]:
    """The findings of doctor, or the message of the failed assertion if the exit code is not 0."""
    try:
        return doctor(0)["findings"]
    except AssertionError as error:
        return [str(error)]
