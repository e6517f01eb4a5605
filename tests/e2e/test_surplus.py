"""A surplus notification that a sweep publishes while a tail call is in progress leaves no failed event."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from botocore.config import Config

from expectations import runs_on

from local.http_endpoint import http_endpoint
from local.queue_reader import QueueReader
from local.queue import DeployedQueue, chunks, left_at_once
from local.waiting import now_ms, wait_until

#: Maximum event age. Because it is shorter than a turn, an event throttled for a whole turn is discarded.
EVENT_AGE_SECONDS = 4
TURN_MS = 8000
RUN_SECONDS = 0.5
#: Number of tasks, which is enough to keep ten slots busy for many turns.
TASKS = 2000
SECONDS = 180


@contextmanager
def brief_events(queue: DeployedQueue) -> Iterator[QueueReader]:
    """While the block runs, discards process-tasks notifications at a lower maximum age than Lambda accepts."""
    name, url = queue.function("process-tasks"), queue.failure_queue("process-tasks")
    unchecked = queue.session.client(
        "lambda", endpoint_url=queue.endpoint, config=Config(parameter_validation=False)
    )
    before = unchecked.get_function_event_invoke_config(FunctionName=name, Qualifier="$LATEST")
    kept = {key: before[key] for key in ("MaximumRetryAttempts", "MaximumEventAgeInSeconds", "DestinationConfig")}
    named = {"FunctionName": name, "Qualifier": "$LATEST"}
    unchecked.put_function_event_invoke_config(**named, **kept | {"MaximumEventAgeInSeconds": EVENT_AGE_SECONDS})
    try:
        yield QueueReader(queue.client("sqs"), url)
    finally:
        unchecked.put_function_event_invoke_config(**named, **kept)


@pytest.fixture
def busy(queue: DeployedQueue) -> Iterator[DeployedQueue]:
    """A queue with tasks for many turns of `TURN_MS`. After the test, the remaining tasks are cancelled."""
    queue.wait_until_idle()
    queue.empty_queues()

    def respond(*_: object) -> tuple[int, dict[str, str]]:
        time.sleep(RUN_SECONDS)
        return 200, {}

    with http_endpoint(respond) as url:
        runs_on(queue, url, {"turnMs": TURN_MS})
        ids = []
        for batch in chunks([{}] * TASKS, 250):
            ids += [task["taskId"] for task in queue.create(batch)["created"]]
        yield queue
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(lambda task: delete(queue, task), ids))
        queue.wait_until_idle()


def delete(queue: DeployedQueue, task_id: str) -> None:
    queue.client("dynamodb").delete_item(TableName=queue.table, Key={"taskId": {"S": task_id}})


@contextmanager
def sweeping(queue: DeployedQueue) -> Iterator[None]:
    """Invokes the sweep continuously while the block runs. Some sweeps publish a notification during a tail call."""
    over = threading.Event()

    def sweep() -> None:
        while not over.is_set():
            queue.invoke("sweep-tasks", {})

    with ThreadPoolExecutor(2) as threads:
        sweeps = [threads.submit(sweep) for _ in range(2)]
        try:
            yield
        finally:
            over.set()
            for ended in sweeps:
                ended.result()


def test_second_invocation_handles_a_surplus_notification(busy: DeployedQueue) -> None:
    allow(busy, 2)
    with brief_events(busy) as failures:
        began = now_ms()
        with sweeping(busy):
            wait_until(lambda: any(map(left_at_once, busy.turns(began))), SECONDS, "the end of a surplus invocation")
        time.sleep(EVENT_AGE_SECONDS + 1)
        assert failures.messages() == []


def test_without_a_second_invocation_a_surplus_notification_fails(busy: DeployedQueue) -> None:
    """Shows that the other test can fail: the local AWS retries and discards throttled events."""
    allow(busy, 1)
    with brief_events(busy) as failures:
        with sweeping(busy):
            (failed, *_) = failures.wait_for(lambda _: True, SECONDS, "the discarded notification")
    assert failed.json()["requestContext"]["condition"] == "EventAgeExceeded"


def allow(queue: DeployedQueue, invocations: int) -> None:
    queue.client("lambda").put_function_concurrency(
        FunctionName=queue.function("process-tasks"), ReservedConcurrentExecutions=invocations
    )
