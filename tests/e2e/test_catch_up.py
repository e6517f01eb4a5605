"""New tasks behind a burst in the ingest queue, with the deployed settings and without a throttled write."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from local import order
from local.agents import fresh
from local.history import History
from local.queue import DeployedQueue, chunks
from local.waiting import wait_until

BURST, SENDERS = 3_000, 4
FRESH = 30
#: Minimum number of fresh tasks that start within two seconds, and the maximum age of a task that starts in time.
LEAST, IN_TIME_MS = 28, 2_000


@pytest.fixture
def storm(queue: DeployedQueue, history: History) -> History:
    """The changes. After the test, deletes the messages of the burst."""
    yield history
    queue.empty_queues()


def test_tasks_sent_after_a_burst_start_within_two_seconds(queue: DeployedQueue, storm: History) -> None:
    with ThreadPoolExecutor(SENDERS) as senders:
        list(senders.map(queue.send, chunks([{"payload": {}}] * BURST, BURST // SENDERS)))
    ids = [fresh("late") for _ in range(FRESH)]
    for task_id in ids:
        queue.send([{"taskId": task_id}])
        time.sleep(1)
    wait_until(lambda: len(ages(storm, ids)) == FRESH, 60, "the start of every fresh task", every=1)
    started = ages(storm, ids)
    in_time = [age for age in started if age <= IN_TIME_MS]
    print(f"{len(in_time)} of {FRESH} fresh tasks started in time, the slowest after {max(started)} ms, load {os.getloadavg()[0]:.1f}")
    assert len(in_time) >= LEAST


def ages(history: History, ids: list[str]) -> list[int]:
    """The ages at their first start of those of these tasks that have started, in milliseconds."""
    first = dict[str, int]()
    for start in order.starts(history.changes()):
        if start.task_id in ids:
            first.setdefault(start.task_id, start.age)
    return list(first.values())
