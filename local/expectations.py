"""Waits for tasks of a deployed queue."""

from __future__ import annotations

from collections.abc import Iterable

from local.queue import DeployedQueue
from local.waiting import wait_until


def wait_for(
    queue: DeployedQueue, task_ids: Iterable[str], status: str = "SUCCESS", seconds: float = 120
) -> None:
    """Waits until every task is in `status`. The error lists up to five tasks that aren't, each with its status."""
    waiting = set(task_ids)

    def done() -> bool:
        waiting.difference_update({task for task in waiting if queue.status(task) == status})
        return not waiting

    try:
        wait_until(done, seconds, f"{len(waiting)} tasks in {status}")
    except TimeoutError as error:
        states = {task: queue.status(task) for task in sorted(waiting)[:5]}
        raise AssertionError(f"{error}; still: {states}") from error
