"""Waiting for tasks of a deployed queue."""

from __future__ import annotations

import time
from collections.abc import Iterable

from local.queue import DeployedQueue
from local.waiting import wait_until


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
    """Wait until no processor is active, five looks in a row: also between a release and its tail call."""
    calm = 0
    deadline = time.monotonic() + seconds
    while calm < 5:
        assert time.monotonic() < deadline, "a processor is still active"
        calm = calm + 1 if queue.is_idle() else 0
        time.sleep(0.2)
