"""Waiting for tasks, and reading their outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from local import order
from local.expectations import wait_for
from local.history import History
from local.queue import DeployedQueue

__all__ = ["NO_TABLE", "TRYING", "number", "put", "takes", "wait_for"]

#: The name of a table that is not there, for a function that is to have none; no role may write it.
NO_TABLE = "no-such-table"
#: Who tries with a function's role what it may not do.
TRYING = "a-test"


def takes(history: History, task_ids: Iterable[str]) -> Counter[str]:
    """How often each of these tasks was taken, by the table's stream."""
    wanted = set(task_ids)
    counted = Counter(s.task_id for s in order.starts(history.changes()) if s.task_id in wanted)
    return counted


def put(queue: DeployedQueue, item: dict[str, Any]) -> None:
    """Write an item as any program may, past create-tasks."""
    queue.client("dynamodb").put_item(
        TableName=queue.table, Item=item, ConditionExpression="attribute_not_exists(taskId)"
    )


def number(item: dict[str, Any], attribute: str) -> int:
    """A numeric attribute of an item."""
    return int(item[attribute]["N"])
