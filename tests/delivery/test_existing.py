"""The preflight finds resources outside the stack that would block or break a deployment."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from delivery import preflight
from delivery.assembly import Stack
from delivery.preflight import Finding
from tests.delivery.aws import Aws, queue, running, write_stack

NAME = "LifoQueue-existing"


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aws]:
    with running(tmp_path_factory.mktemp("aws")) as started:
        yield started


def finding(check: str, stack: Stack, aws: Aws) -> Finding:
    [found] = [each for each in preflight.of_stack(stack, aws.client) if each.check == check]
    return found


def publishing_to(bus: str) -> dict[str, Any]:
    arn = {"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, f":events:eu-west-1:1:event-bus/{bus}"]]}
    variables = {"EVENT_BUS_ARN": arn}
    return {"fn": {"Type": "AWS::Lambda::Function", "Properties": {"Environment": {"Variables": variables}}}}


def ingest_queue() -> dict[str, Any]:
    guid = {"Fn::Select": [2, {"Fn::Split": ["/", {"Ref": "AWS::StackId"}]}]}
    return queue(QueueName={"Fn::Join": ["", ["existing-ingest-", guid]]})


def test_a_missing_event_bus_is_found(aws: Aws, tmp_path: Path) -> None:
    stack = write_stack(tmp_path, NAME, publishing_to("orders"))
    missing = finding("event bus", stack, aws)
    assert "event bus orders does not exist" in missing.found
    assert (missing.remedy or "").startswith("aws events create-event-bus --name orders")
    aws.client("events").create_event_bus(Name="orders")
    assert finding("event bus", stack, aws) == Finding("event bus", "orders exists")


def test_event_bus_is_not_required_by_a_stack_without_one(aws: Aws, tmp_path: Path) -> None:
    assert finding("event bus", write_stack(tmp_path, NAME, {"q": queue()}), aws).remedy is None


def test_ingest_queue_retained_by_an_earlier_deployment_is_found(aws: Aws, tmp_path: Path) -> None:
    stack = write_stack(tmp_path, NAME, {"q": queue(), "ingest": ingest_queue()})
    assert finding("ingest queue", stack, aws).remedy is None, "the stack is not deployed yet"
    assert aws.create(NAME, {"Resources": {"q": queue()}}) == "CREATE_COMPLETE"
    assert finding("ingest queue", stack, aws).remedy is None, "no queue is left"
    stack_id = aws.client("cloudformation").describe_stacks(StackName=NAME)["Stacks"][0]["StackId"]
    name = f"existing-ingest-{stack_id.rsplit('/', 1)[-1]}"
    url = aws.client("sqs").create_queue(QueueName=name)["QueueUrl"]
    left = finding("ingest queue", stack, aws)
    assert name in left.found and "docs/how-to/operate.md" in (left.remedy or "")
    aws.client("sqs").delete_queue(QueueUrl=url)
    assert finding("ingest queue", stack, aws).remedy is None, "the queue was deleted"


def test_ingest_queue_of_the_deployed_stack_is_not_a_problem(aws: Aws, tmp_path: Path) -> None:
    name = f"{NAME}-with-ingest"
    resources = {"q": queue(), "ingest": ingest_queue()}
    assert aws.create(name, {"Resources": resources}) == "CREATE_COMPLETE"
    assert finding("ingest queue", write_stack(tmp_path, name, resources), aws).remedy is None
