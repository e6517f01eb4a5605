"""Waits for tasks, and reads their outcomes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from local import order
from local.agents import DeployedAgents
from local.assembly import Assembly
from local.expectations import wait_for
from local.history import History
from local.queue import DeployedQueue
from local.stack import DeployedStack
from local.waiting import wait_until

__all__ = [
    "NO_TABLE", "PROCESSES", "SHORT_LEASES", "TRYING", "create", "failure_queue", "number", "processes_of", "put",
    "runs_on", "sweep_until", "takes", "wait_for",
]

#: Folder with this machine's processes, on Linux.
PROCESSES = Path("/proc")
#: The name of a table that does not exist, for functions that must fail. No role can write to it.
NO_TABLE = "no-such-table"
#: The session name for tests that use a function's role for actions that must be denied.
TRYING = "a-test"
#: Settings with which the leases of a killed processor expire within seconds.
SHORT_LEASES = {
    "taskTimeoutMs": 10_000,
    "deadlineMarginMs": 1000,
    "clockSkewMs": 500,
    "processorLeaseMs": 4000,
    "heartbeatMs": 1000,
}


def sweep_until(stack: DeployedStack, condition: Callable[[], bool], what: str, seconds: float = 120) -> None:
    """Invokes the stack's sweep until `condition` holds, because no schedule invokes it here."""
    sweep = "sweep-agents" if isinstance(stack, DeployedAgents) else "sweep-tasks"

    def swept() -> bool:
        stack.invoke(sweep, {})
        return condition()

    wait_until(swept, seconds, what, every=0.5)


def failure_queue(stack: DeployedStack, template: Assembly, name: str) -> str:
    """The URL of the only queue with `name` in its logical id."""
    queues = template.resources("AWS::SQS::Queue")
    [found] = [queue.logical_id for queue in queues if name in queue.logical_id.lower()]
    return stack.physical_id(found)


def takes(history: History, task_ids: Iterable[str]) -> Counter[str]:
    """The number of times each of these tasks was taken and started, according to the table's stream."""
    wanted = set(task_ids)
    counted = Counter(s.task_id for s in order.starts(history.changes()) if s.task_id in wanted)
    return counted


def put(queue: DeployedQueue, item: dict[str, Any]) -> None:
    """Writes an item directly, without create-tasks, as any program can."""
    queue.client("dynamodb").put_item(
        TableName=queue.table, Item=item, ConditionExpression="attribute_not_exists(taskId)"
    )


def create(queue: DeployedQueue, count: int, **payload: Any) -> list[str]:
    """Creates tasks with numbered payloads and returns their ids."""
    response = queue.create([{"payload": {"number": n, **payload}} for n in range(count)])
    assert response["failed"] == []
    return [created["taskId"] for created in response["created"]]


def runs_on(queue: DeployedQueue, url: str, settings: dict[str, Any] | None = None) -> None:
    """Makes the queue send its tasks to this endpoint, with these settings if given."""
    queue.set_environment("process-tasks", {"TASK_RUNNER": json.dumps({"kind": "http", "url": url})}, settings)


def number(item: dict[str, Any], attribute: str) -> int:
    return int(item[attribute]["N"])


def processes_of(queue: DeployedQueue, binary: str) -> list[int]:
    """The ids of a function's processes on this local AWS. Other local AWSs use the same function names."""
    wanted = {
        f"AWS_LAMBDA_FUNCTION_NAME={queue.function(binary)}".encode(),
        f"AWS_ENDPOINT_URL={queue.local_endpoint}".encode(),
    }
    found = []
    for process in PROCESSES.iterdir():
        if not process.name.isdigit():
            continue
        try:
            variables = set((process / "environ").read_bytes().split(b"\0"))
        except (PermissionError, FileNotFoundError, ProcessLookupError):
            continue  # The process belongs to another user, or has ended.
        if wanted <= variables:
            found.append(int(process.name))
    return found
