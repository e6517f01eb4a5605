"""A burst of messages: many more than the table takes.

The local AWS throttles the inserts of this stack, as DynamoDB does at the limit of a partition: see `local.throttling`.
"""

from __future__ import annotations

import functools
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import apps
import commands
import pytest

from local import order
from local.emulator import Emulator, local_environment
from local.history import History
from local.queue import DeployedQueue, chunks
from local.waiting import wait_until

STACK = "Storm"
APP = """
import { App, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { LifoQueue, TaskRunner } from 'freshq';

const stack = new Stack(new App(), 'Storm');
const removalPolicy = RemovalPolicy.DESTROY;
const queue = new LifoQueue(stack, 'queue', {
  runner: TaskRunner.simulated({ capacity: 10, duration: Duration.millis(100) }),
  processing: { concurrency: 10, ratePerSecond: 20 },
  ingest: {},
  deletionProtection: false,
  removalPolicy,
});
queue.exportOutputs();
"""
#: The burst is of this many messages. Twenty a second can run.
BURST = 5_000
#: Messages that are sent after the burst.
LATE = 10


@pytest.fixture(scope="module")
def storm(local_aws: Emulator) -> DeployedQueue:
    """The queue of the app."""
    return apps.deployed(local_aws, STACK, APP)


@pytest.fixture
def queue(storm: DeployedQueue, command: str) -> Iterator[DeployedQueue]:
    """The queue; after the test, it is paused, and its messages are deleted."""
    freshq = functools.partial(commands.run, command, local_environment(storm.local_endpoint))
    storm.set_environment("process-tasks", settings={"indexLagMs": 200, "heartbeatMs": 1000})
    assert freshq("resume", "--stack", STACK).returncode == 0
    yield storm
    assert freshq("pause", "--for", "1h", "--reason", "the end of a test", "--stack", STACK).returncode == 0
    storm.empty_queues()
    storm.wait_until_idle()


def test_messages_sent_after_a_burst_start_before_it(queue: DeployedQueue) -> None:
    burst, late = unique("old", BURST), unique("late", LATE)
    with History(queue) as history, ThreadPoolExecutor(4) as senders:
        list(senders.map(lambda ids: queue.send([{"taskId": task_id} for task_id in ids]), chunks(burst, 100)))
        queue.send([{"taskId": task_id} for task_id in late])
        wait_until(lambda: late_starts(history, late) == LATE, 180, "the start of the messages sent last", every=1)
        changes = history.changes()
    of_burst = set(burst)
    last = max(start.position for start in order.starts(changes) if start.task_id in set(late))
    before = {start.task_id for start in order.starts(changes) if start.position < last} & of_burst
    unwritten = of_burst - {change.task_id for change in changes if change.position < last}
    print(f"{len(before)} of {BURST} old messages started before the new ones; {len(unwritten)} were still in SQS")
    assert len(before) < BURST / 2
    assert unwritten, "the table took the whole burst first"


def unique(prefix: str, count: int) -> list[str]:
    """As many unique task ids."""
    run = uuid.uuid4().hex[:8]
    return [f"{prefix}-{run}-{number}" for number in range(count)]


def late_starts(history: History, late: list[str]) -> int:
    """How many of these tasks have started."""
    return len({start.task_id for start in order.starts(history.changes())} & set(late))
