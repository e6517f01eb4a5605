"""Waiting for tasks, and reading what became of them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

from local import order
from local.history import History
from local.queue import DeployedQueue
from local.waiting import wait_until

#: The name of a table that is not there, for a function that is to have none; no role may write it.
NO_TABLE = "no-such-table"
#: Who tries with a function's role what it may not do.
TRYING = "a-test"


def wait_for(
    queue: DeployedQueue, task_ids: Iterable[str], status: str = "SUCCESS", seconds: float = 30
) -> None:
    """Wait until every task is in `status`; the failure names those that are not."""
    waiting = set(task_ids)

    def done() -> bool:
        waiting.difference_update({task for task in waiting if queue.status(task) == status})
        return not waiting

    try:
        wait_until(done, seconds, f"{len(waiting)} tasks in {status}")
    except TimeoutError as error:
        states = {task: queue.status(task) for task in sorted(waiting)[:5]}
        raise AssertionError(f"{error}; still: {states}") from error


def wait_until_idle(queue: DeployedQueue, seconds: float = 90) -> None:
    """Wait until nobody processes, twice in a row: between a release and its tail call too."""
    calm = 0
    deadline = time.monotonic() + seconds
    while calm < 5:
        assert time.monotonic() < deadline, "a processor is still active"
        calm = calm + 1 if queue.is_idle() else 0
        time.sleep(0.2)


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
