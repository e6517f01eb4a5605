"""Probes for the functions of a task queue."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from local.contract import CONTROL_ITEM, KEY
from local.events import event, sqs_record
from local.http_endpoint import http_endpoint
from local.queue_reader import QueueReader
from local.queue import DeployedQueue
from local.stack import InvocationFailed
from local.waiting import now_ms, wait_until
from tests.removal.probe import PROCESS_ENDED, Probe, Unmet, demand, redelivers

#: Duration longer than the function's timeout, so that the function doesn't start a write.
_NO_TIME_MS = 600_000
_SOON_SECONDS = 5.0
#: Settings of `process-tasks` for short turns.
_BRIEF = {"indexLagMs": 200, "turnMs": 1500}
#: Durations of a pause and of the run during which it begins and ends.
_PAUSE_MS = 1500
_RUN_SECONDS = 4


@contextmanager
def endpoint() -> Iterator[str]:
    """The URL of an endpoint for tasks. The payload sets the duration (`seconds`) and the `status` of the response."""

    def respond(body: bytes, _: object) -> tuple[int, dict[str, str]]:
        payload = json.loads(body)["payload"]
        time.sleep(payload.get("seconds", 0))
        return payload.get("status", 200), {}

    with http_endpoint(respond) as address:
        yield address


class TaskProbes:
    """The probes for a deployed task queue. Only the probes invoke its functions."""

    def __init__(self, queue: DeployedQueue, address: str) -> None:
        self._queue = queue
        self._address = address
        self._shed = QueueReader(queue.client("sqs"), queue.outputs["ShedTasksQueueUrl"])
        self._dead = QueueReader(queue.client("sqs"), queue.outputs["IngestDeadLetterQueueUrl"])

    def all(self) -> list[Probe]:
        runner = {"TASK_RUNNER": json.dumps({"kind": "http", "url": self._address})}
        return [
            Probe("create-tasks", "creates a task", self._create),
            Probe("create-tasks", "writes the state of a key", self._create_state),
            Probe("ingest-tasks", "writes, sheds and rejects tasks", self._ingest),
            Probe("ingest-tasks", "writes the state of a key", self._ingest_state),
            Probe(
                "ingest-tasks",
                "makes a failed message visible soon",
                self._ingest_late,
                # With these settings, no write starts, so the message remains in the queue.
                settings={
                    "deadlineMarginMs": _NO_TIME_MS,
                    "ingest": {"visibility": {"baseMs": 1000, "maxMs": 1000}},
                },
            ),
            Probe("trigger", "wakes the queue", self._trigger),
            Probe("sweep-tasks", "wakes the queue after a lost wake-up", self._sweep),
            Probe("count-shed", "sends shed tasks to the shed queue", self._count_shed),
            Probe("process-tasks", "runs a task", self._process, runner, _BRIEF),
            Probe("process-tasks", "makes a tail call at the end of its turn", self._tail_call, runner, _BRIEF),
            Probe(
                "process-tasks",
                "wakes the queue after a pause that ended during its turn",
                self._resume,
                runner,
                {"heartbeatMs": 100},
            ),
        ]

    def with_secret(self, arn: str) -> Probe:
        """A probe that runs a task over HTTP with a header from a secret."""
        auth = {"kind": "header", "name": "Authorization", "secretArn": arn}
        runner = {"kind": "http", "url": self._address, "auth": auth}
        return self._with_runner("runs a task over HTTP with a secret", runner, self._process_afresh)

    def with_function(self, arn: str) -> Probe:
        """A probe that runs a task with another function."""
        runner = {"kind": "lambda", "functionArn": arn}
        return self._with_runner("runs a task by another function", runner, self._process)

    def with_bus(self, arn: str) -> Probe:
        """A probe that publishes an ended-task event."""
        return Probe("count-shed", "publishes events of ended tasks", self._publish, {"EVENT_BUS_ARN": arn})

    def _with_runner(self, what: str, runner: dict[str, Any], run: Callable[[], None]) -> Probe:
        return Probe("process-tasks", what, run, {"TASK_RUNNER": json.dumps(runner)}, _BRIEF)

    def _create(self) -> None:
        response = self._queue.create([{}])
        demand(len(response["created"]) == 1, response)

    def _create_state(self) -> None:
        response = self._queue.create([{"key": _fresh()}])
        demand(len(response["created"]) == 1, response)

    def _ingest_state(self) -> None:
        key = _fresh()
        response = self._queue.invoke("ingest-tasks", {"Records": [sqs_record("ingest-tasks", {"key": key})]})
        demand(response["batchItemFailures"] == [], response)
        demand(self._queue.status(key) == "PENDING", f"{key} is not in the table")

    def _ingest(self) -> None:
        good, late = _fresh(), _fresh()
        records = [
            sqs_record("ingest-tasks", {"taskId": good}),
            sqs_record("ingest-tasks", {"taskId": late, "taskCreated": now_ms() - 3_600_000, "ttlSeconds": 1}),
            sqs_record("ingest-tasks", "no task"),
        ]
        response = self._queue.invoke("ingest-tasks", {"Records": records})
        demand(response["batchItemFailures"] == [], response)
        demand(self._queue.status(good) == "PENDING", f"{good} is not in the table")
        _arrives(self._shed, late)
        _arrives(self._dead, "no task")

    def _ingest_late(self) -> None:
        message = {"MessageBody": json.dumps({"taskId": _fresh()})}
        redelivers(self._queue, "ingest-tasks", self._queue.outputs["IngestQueueUrl"], message)

    def _trigger(self) -> None:
        self._forget()
        response = self._queue.invoke("trigger", event("trigger-notification"))
        demand(response == "published", response)

    def _sweep(self) -> None:
        self._forget()
        self._put(1)
        report = self._queue.invoke("sweep-tasks", {})
        demand(report["woke"] is True, report)

    def _count_shed(self) -> None:
        response = self._queue.invoke("count-shed", event("count-shed"))
        demand(response["batchItemFailures"] == [], response)

    def _publish(self) -> None:
        images = {
            name: {KEY: {"S": "order-1"}, "taskStatus": {"S": status}}
            for name, status in (("OldImage", "TAKEN"), ("NewImage", "SUCCESS"))
        }
        change = {"eventName": "MODIFY", "eventSource": "aws:dynamodb", "dynamodb": images}
        response = self._queue.invoke("count-shed", {"Records": [change]})
        demand(response["batchItemFailures"] == [], response)

    def _process(self) -> None:
        summary = self._turn(1)
        demand((summary["succeeded"], summary["exit"]) == (1, "empty"), summary)

    def _process_afresh(self) -> None:
        """Runs a task in a new process, which hasn't read the secret yet."""
        self._queue.set_environment("process-tasks", {"PROBE": _fresh()})
        self._forget()
        try:
            self._queue.invoke("process-tasks", {})
        except InvocationFailed as error:
            # The emulator may route the first invocation to the old process and then stop that process.
            if PROCESS_ENDED not in str(error):
                raise
        self._process()

    def _tail_call(self) -> None:
        summary = self._turn(60, seconds=0.5)
        demand(summary["tail_call"] is True, summary)

    def _resume(self) -> None:
        with ThreadPoolExecutor() as pool:
            turn = pool.submit(self._turn, 1, seconds=_RUN_SECONDS)
            wait_until(lambda: self._queue.count("TAKEN") == 1, 3 * _SOON_SECONDS, "a running task")
            self._queue.client("dynamodb").update_item(
                TableName=self._queue.table,
                Key={KEY: {"S": CONTROL_ITEM}},
                UpdateExpression="SET pausedUntil = :until",
                ExpressionAttributeValues={":until": {"N": str(now_ms() + _PAUSE_MS)}},
            )
            summary = turn.result()
        demand(summary["exit"] == "paused", summary)
        # The pause ended before the run, so the turn requested a wake-up.
        control = self._queue.item(CONTROL_ITEM) or {}
        demand("notifiedUntil" in control, control)

    def _turn(self, tasks: int, **payload: Any) -> Any:
        self._forget()
        self._put(tasks, **payload)
        return self._queue.invoke("process-tasks", {})

    def _put(self, tasks: int, **payload: Any) -> None:
        """Writes tasks directly, without create-tasks."""
        dynamodb, now = self._queue.client("dynamodb"), now_ms()
        given = {name: {"N": str(value)} for name, value in payload.items()}
        for _ in range(tasks):
            item = {
                KEY: {"S": _fresh()},
                "taskStatus": {"S": "PENDING"},
                "taskCreated": {"N": str(now)},
                "payload": {"M": given},
            }
            dynamodb.put_item(TableName=self._queue.table, Item=item)

    def _forget(self) -> None:
        """Empties the table, so that it has no tasks, leases or start markers."""
        dynamodb, table = self._queue.client("dynamodb"), self._queue.table
        for page in dynamodb.get_paginator("scan").paginate(TableName=table, ProjectionExpression=KEY):
            for item in page["Items"]:
                dynamodb.delete_item(TableName=table, Key={KEY: item[KEY]})


def _fresh() -> str:
    return uuid.uuid4().hex


def _arrives(queue_reader: QueueReader, text: str) -> None:
    try:
        wait_until(
            lambda: any(text in message.body for message in queue_reader.messages()),
            _SOON_SECONDS,
            f"a message with {text}",
        )
    except TimeoutError as error:
        raise Unmet(str(error)) from error
