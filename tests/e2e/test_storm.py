"""Storms with many more messages than can run, and with many more tasks than the table can accept.

The local AWS throttles the inserts of this stack, as DynamoDB does at the limit of a partition: see `local.throttling`.
Each test causes what it needs on machines of any speed.
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
from local.contract import CONTROL_ITEM
from local.emulator import Emulator, local_environment
from local.history import Change, History
from local.queue import DeployedQueue, chunks
from local.queue_reader import QueueReader
from local.waiting import now_ms, wait_until

STACK = "Storm"
#: The limits of the table in inserts per second. The local AWS reaches the first while other tests run, and exceeds the
#: second on every machine.
INSERTS, FEW_INSERTS = 60, 5
#: The test app. A message can be received 50 times, because with the short visibility timeout of one test, 20 s of
#: throttling would use up the default of 10 receives.
APP = """
import { App, CfnOutput, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { LifoQueue, ShedQueue, TaskRunner } from 'freshq';

const stack = new Stack(new App(), 'Storm');
const removalPolicy = RemovalPolicy.DESTROY;
const shed = new ShedQueue(stack, 'shed', { removalPolicy });
const queue = new LifoQueue(stack, 'queue', {
  runner: TaskRunner.simulated({ capacity: 10, duration: Duration.millis(100) }),
  processing: { concurrency: 10, ratePerSecond: 20 },
  ingest: { admission: {}, maxReceiveCount: 50 },
  shedTasksTo: shed,
  deletionProtection: false,
  removalPolicy,
});
queue.exportOutputs();
new CfnOutput(stack, 'ShedTasksQueueUrl', { value: shed.queueUrl });
"""
#: Minimum number of messages in the overload, and number of tasks per message. Twenty tasks can run per second.
MESSAGES, TASKS_EACH = 400, 5
#: Maximum number of tasks that admission holds.
MOST_HELD = 100
#: Admission sheds tasks if more than 20 arrive per second, which even a machine under load receives from SQS.
ADMISSION = {"factor": 1, "mostHeld": MOST_HELD}
#: Errors after which SQS redelivers a message whose shed tasks were perhaps sent already, so that they can be created.
REDELIVERED = ("messages not deleted", "deadline reached before", "shed tasks not sent to their queue")
#: The number of messages in the burst, and of tasks in each. The table needs 14 minutes for all tasks, longer than the
#: test waits. A machine under load receives so few messages again and again, and still the ones behind them.
BURST, BURST_EACH = 200, 250
#: The number of tasks sent after the burst that must start. More are sent, because a message that a machine under load
#: receives more than a second after it was sent is as old as the burst to the queue.
LATE = 10


@pytest.fixture(scope="module")
def storm(local_aws: Emulator) -> DeployedQueue:
    return apps.deployed(local_aws, STACK, APP)


@pytest.fixture
def queue(storm: DeployedQueue, command: str) -> Iterator[DeployedQueue]:
    """The queue. After the test, pauses it and deletes its messages."""
    freshq = functools.partial(commands.run, command, local_environment(storm.local_endpoint))
    storm.set_environment("process-tasks", settings={"indexLagMs": 200, "heartbeatMs": 1000})
    assert freshq("resume", "--stack", STACK).returncode == 0
    before = storm.environment("ingest-tasks")
    storm.limit_inserts(INSERTS)
    yield storm
    assert freshq("pause", "--for", "1h", "--reason", "the end of a test", "--stack", STACK).returncode == 0
    storm.replace_environment("ingest-tasks", before)
    storm.empty_queues()
    storm.wait_until_idle()


def test_every_task_is_created_or_shed_during_an_overload(queue: DeployedQueue) -> None:
    soon = {"visibility": {"baseMs": 1000, "maxMs": 2000}}
    queue.set_environment("ingest-tasks", settings={"ingest": {"admission": ADMISSION, **soon}})
    reader = functools.partial(QueueReader, queue.client("sqs"))
    shed_queue, dead_letters = (reader(queue.outputs[f"{name}QueueUrl"]) for name in ("ShedTasks", "IngestDeadLetter"))
    # Admission starts when the downstream is known to be at capacity.
    queue.create([{"payload": {}} for _ in range(MOST_HELD)])
    wait_until(lambda: capacity(queue) == 20, 60, "a measured capacity")
    began, sent = now_ms(), list[str]()

    def returned() -> int:
        return sum(line.get("returned", 0) for line in queue.log_messages("ingest-tasks", began))

    def send_ten() -> None:
        ids = unique("task", 10 * TASKS_EACH)
        send(queue, ids, TASKS_EACH)
        sent.extend(ids)

    queue.limit_inserts(FEW_INSERTS)
    send_ten()
    wait_until(lambda: returned() > 0, 120, "a message returned to SQS")
    queue.limit_inserts(INSERTS)

    # Admission measures the arrivals over a second, so on a fast machine it may shed only tasks that are sent later.
    def overloaded() -> bool:
        send_ten()
        return len(sent) >= MESSAGES * TASKS_EACH and bool(shed_queue.messages())

    wait_until(overloaded, 240, "a shed task", every=0.1)

    # Waits for the tasks, because the message count can be 0 while messages are about to become visible again.
    def all_counted() -> bool:
        assert not dead_letters.messages(), "a message was received too often"
        counted = queue.statuses().keys() | {message.json()["taskId"] for message in shed_queue.messages()}
        return counted >= set(sent) and queue.messages_left() == 0

    wait_until(all_counted, 240, "the end of every task", every=1)

    created = queue.statuses().keys() & set(sent)
    # A message of the shed queue can be there twice: if SQS's response to SendMessageBatch is lost, the client repeats it.
    shed = {message.json()["taskId"] for message in shed_queue.messages()}
    print(f"{len(sent)} sent = {len(created)} created + {len(shed)} shed; {returned()} messages returned to SQS")
    assert created, "nothing was admitted"
    assert created | shed == set(sent)
    errors = [line["message"] for line in queue.log_messages("ingest-tasks", began) if line.get("level") == "ERROR"]
    print(errors)
    assert not created & shed or any(error.startswith(REDELIVERED) for error in errors)


def test_tasks_sent_after_a_burst_start_before_its_remaining_tasks(queue: DeployedQueue) -> None:
    burst, late = unique("old", BURST * BURST_EACH), set[str]()
    with History(queue) as history, ThreadPoolExecutor(4) as senders:
        list(senders.map(lambda ids: send(queue, ids, BURST_EACH), chunks(burst, 10 * BURST_EACH)))

        def late_tasks_started() -> bool:
            ids = unique("late", 1)
            send(queue, ids, 1)
            late.update(ids)
            return len(starts(history.changes(), late)) >= LATE

        wait_until(late_tasks_started, 600, "the start of tasks sent after the burst", every=1)
        changes = history.changes()
    late_starts, old_starts = starts(changes, late), starts(changes, set(burst))
    last = late_starts[-1].position
    before = sum(start.position < last for start in old_starts)
    unwritten = set(burst) - {change.task_id for change in changes if change.position < last}
    print(f"{len(late_starts)} of {len(late)} new tasks started after {before} of {len(burst)} old ones", end="; ")
    print(f"{len(unwritten)} were still in SQS")
    assert unwritten, "the table took the whole burst first"


def capacity(queue: DeployedQueue) -> float:
    """The number of runs per second that the processor measured; 0 until it is known."""
    observed = (queue.item(CONTROL_ITEM) or {}).get("observed", {"M": {}})["M"]
    measured = observed.get("capacity", {"M": {"runsPer1000S": {"N": "0"}}})["M"]
    return int(measured["runsPer1000S"]["N"]) / 1000


def send(queue: DeployedQueue, task_ids: list[str], each: int) -> None:
    queue.send([[{"taskId": task_id} for task_id in ids] for ids in chunks(task_ids, each)])


def unique(prefix: str, count: int) -> list[str]:
    run = uuid.uuid4().hex[:8]
    return [f"{prefix}-{run}-{number}" for number in range(count)]


def starts(changes: list[Change], task_ids: set[str]) -> list[order.Start]:
    """The starts of these tasks, in order."""
    return [start for start in order.starts(changes) if start.task_id in task_ids]
