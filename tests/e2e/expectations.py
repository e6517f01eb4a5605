"""Waits for tasks, and reads their outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from local import order
from local.expectations import wait_for
from local.history import History
from local.queue import DeployedQueue

__all__ = ["NO_TABLE", "TRYING", "number", "put", "takes", "wait_for"]

#: The name of a table that does not exist, for functions that must fail. No role may write it.
NO_TABLE = "no-such-table"
#: The session name with which tests use a function's role for actions that must be denied.
TRYING = "a-test"


def takes(history: History, task_ids: Iterable[str]) -> Counter[str]:
    """How often each of these tasks was taken, according to the table's stream."""
    wanted = set(task_ids)
    counted = Counter(s.task_id for s in order.starts(history.changes()) if s.task_id in wanted)
    return counted


def put(queue: DeployedQueue, item: dict[str, Any]) -> None:
    """Write an item directly, without create-tasks, as any program may."""
    queue.client("dynamodb").put_item(
        TableName=queue.table, Item=item, ConditionExpression="attribute_not_exists(taskId)"
    )


def number(item: dict[str, Any], attribute: str) -> int:
    """A numeric attribute of an item."""
    return int(item[attribute]["N"])
