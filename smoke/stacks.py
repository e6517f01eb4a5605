"""Deploys the two stacks of a smoke test, and always removes them."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from delivery import assembly as delivered
from delivery import deploy
from local import assembly, deployment
from local.stack import S, exists
from smoke.place import Place
from smoke.report import expect

#: Per service: the list operation, the response field with the list, and the element field with the physical id.
_LISTS = {
    "lambda": ("list_functions", "Functions", "FunctionName"),
    "dynamodb": ("list_tables", "TableNames", None),
    "sqs": ("list_queues", "QueueUrls", None),
    "sns": ("list_topics", "Topics", "TopicArn"),
    "logs": ("describe_log_groups", "logGroups", "logGroupName"),
    "scheduler": ("list_schedules", "Schedules", "Name"),
}


_QUIET_SECONDS = 3
_MOST_LOOKS = 30


class StackExists(RuntimeError):
    """Raised if a stack with this name already exists. The message contains the remedy."""


def reject_existing(place: Place, stacks: list[str]) -> None:
    """Raises `StackExists` if one of the stacks exists, because the smoke test would remove it."""
    for name in stacks:
        if exists(place.client("cloudformation"), name):
            raise StackExists(
                f"the stack {name} exists: another smoke test is running, or was killed before it removed the stack."
                " Wait for its end, or remove the stack with `make destroy` and its ENV, NAME and QUEUE."
            )


def deploy_stack(place: Place, directory: Path, name: str, environment: str, kind: type[S]) -> S:
    if place.emulator is not None:
        return deployment.deploy(place.emulator, assembly.read(directory, name), kind)
    (stack,) = delivered.stacks(directory, name)
    deploy.run(deploy.Request(stack, environment, yes=True, local=False))
    return find(place, name, kind)


def find(place: Place, name: str, kind: type[S]) -> S:
    return kind.find(place.session, place.endpoint, name)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignores SIGINT (Ctrl+C), SIGTERM and SIGHUP while the block runs."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, signal.SIG_IGN) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def remove(place: Place, stacks: list[str]) -> str:
    """Deletes the stacks, including partly created ones, and checks that none of their resources are left."""
    cloudformation = place.client("cloudformation")
    present = [name for name in stacks if exists(cloudformation, name)]
    # Lists the resources by stack, because a name prefix also matches a stack such as LifoQueue-dev-smoketest.
    owned = {resource for name in present for resource in resources(place, name)}
    for name in present:
        cloudformation.delete_stack(StackName=name)
    waiter = cloudformation.get_waiter("stack_delete_complete")
    for name in present:
        # Waits up to 20 minutes on AWS, because an event source mapping or a custom resource can take several minutes.
        waiter.wait(StackName=name, WaiterConfig={"Delay": 1 if place.is_local else 10, "MaxAttempts": 120})
    _delete_late_logs(place, owned)
    left = leftovers(place, owned)
    expect(not left, f"left behind: {', '.join(left)}")
    return f"removed {', '.join(present) or 'nothing, because nothing was deployed'}"


def resources(place: Place, stack: str) -> set[str]:
    """The physical ids of a stack's resources, and the log groups that Lambda creates for its functions."""
    pages = place.client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=stack)
    found = [summary for page in pages for summary in page["StackResourceSummaries"]]
    ids = {each["PhysicalResourceId"] for each in found if each.get("PhysicalResourceId")}
    functions = {
        each.get("PhysicalResourceId") for each in found if each["ResourceType"] == "AWS::Lambda::Function"
    }
    return ids | {f"/aws/lambda/{name}" for name in functions if name}


def _delete_late_logs(place: Place, owned: set[str]) -> None:
    """Deletes log groups that were recreated because a function wrote to them after the deletion.

    The emulator recreates a log group in this case. AWS does so only if the role can create log groups. An ending
    function keeps writing for a few seconds, so this repeats until no log group has appeared for `_QUIET_SECONDS`.
    """
    logs = place.client("logs")
    quiet = 0
    for _ in range(_MOST_LOOKS):
        groups = _left(place, "logs", owned)
        for group in groups:
            logs.delete_log_group(logGroupName=group)
        quiet = 0 if groups else quiet + 1
        if quiet == _QUIET_SECONDS:
            return
        time.sleep(1)


def leftovers(place: Place, owned: set[str]) -> list[str]:
    return [f"{service}: {name}" for service in _LISTS for name in _left(place, service, owned)]


def _left(place: Place, service: str, owned: set[str]) -> list[str]:
    """The resources in `owned` that belong to one service and still exist."""
    call, member, attribute = _LISTS[service]
    pages = place.client(service).get_paginator(call).paginate()
    listed = [each for page in pages for each in page.get(member, [])]
    names = [each if attribute is None else each[attribute] for each in listed]
    return [name for name in names if name in owned]
