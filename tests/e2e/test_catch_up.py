"""New tasks behind a burst in the ingest queue, with the deployed settings and without a throttled write."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from local import order
from local.agents import fresh
from local.history import History
from local.queue import DeployedQueue, chunks
from local.waiting import now_ms, wait_until

BURST, SENDERS = 3_000, 4
FRESH = 30
#: The default `ingest.batchSize`. A larger round was received by the function itself.
BATCH = 10
#: Minimum number of fresh tasks that start within two seconds, and the maximum age of a task that starts in time.
LEAST, IN_TIME_MS = 28, 2_000


@pytest.fixture
def burst(queue: DeployedQueue) -> Iterator[int]:
    """Sends the burst. Returns the time before it. After the test, deletes the remaining messages and tasks.

    Otherwise, the processor would be active for minutes, and the next tests wait until it isn't.
    """
    began = now_ms()
    with ThreadPoolExecutor(SENDERS) as senders:
        list(senders.map(queue.send, chunks([{"payload": {}}] * BURST, BURST // SENDERS)))
    yield began
    queue.empty_queues()
    # An invocation can still create tasks from the messages that it has received.
    wait_until(lambda: queue.delete_pending() == 0 and queue.is_idle(), 120, "no task pending and no processor active", every=1)


def test_function_receives_messages_itself_behind_a_burst(queue: DeployedQueue, burst: int) -> None:
    def rounds() -> list[int]:
        return [line["messages"] for line in queue.log_messages("ingest-tasks", burst) if line.get("messages", 0) > BATCH]

    wait_until(lambda: bool(rounds()), 60, "a round with more messages than a batch of Lambda", every=1)


@pytest.mark.skipif("FRESHQ_QUIET" not in os.environ, reason="measures ages, for which the machine must be idle")
def test_tasks_sent_after_a_burst_start_within_two_seconds(queue: DeployedQueue, history: History, burst: int) -> None:
    ids = [fresh("late") for _ in range(FRESH)]
    for task_id in ids:
        queue.send([{"taskId": task_id}])
        time.sleep(1)
    wait_until(lambda: len(ages(history, ids)) == FRESH, 60, "the start of every fresh task", every=1)
    started = ages(history, ids)
    in_time = [age for age in started if age <= IN_TIME_MS]
    load = os.getloadavg()[0]
    print(f"{len(in_time)} of {FRESH} fresh tasks started in time, the slowest after {max(started)} ms, load {load:.1f}")
    assert len(in_time) >= LEAST, sorted(started)


def ages(history: History, ids: list[str]) -> list[int]:
    """The ages at their first start of those of these tasks that have started, in milliseconds."""
    first = dict[str, int]()
    for start in order.starts(history.changes()):
        if start.task_id in ids:
            first.setdefault(start.task_id, start.age)
    return list(first.values())
