"""With an event bus, every ended task publishes an event.

dev has no bus. The test gives count-shed what the construct would add: the environment variable, the permission, and
the stream filter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from expectations import wait_for

from local.agents import fresh
from local.contract import ENDS_PATTERN
from local.emulator import ACCOUNT, REGION
from local.queue_reader import QueueReader, queue_of
from local.queue import DeployedQueue
from tests.removal.permissions import Permission, Role

BUS = f"arn:aws:events:{REGION}:{ACCOUNT}:event-bus/default"


@pytest.fixture
def events(queue: DeployedQueue) -> Iterator[QueueReader]:
    mapping = stream_mapping(queue)
    before = queue.set_environment("count-shed", {"EVENT_BUS_ARN": BUS})
    filters = mapping["FilterCriteria"]["Filters"]
    try:
        with Role(queue, "count-shed").with_more(Permission("events:PutEvents", BUS)), rule(queue) as queue_reader:
            change(queue, mapping, [*filters, {"Pattern": json.dumps(ENDS_PATTERN)}])
            yield queue_reader
    finally:
        change(queue, mapping, filters)
        queue.replace_environment("count-shed", before)


def stream_mapping(queue: DeployedQueue) -> dict[str, Any]:
    """The event source mapping of the table's stream to count-shed."""
    (mapping,) = queue.client("lambda").list_event_source_mappings(
        FunctionName=queue.function("count-shed")
    )["EventSourceMappings"]
    return dict(mapping)


def change(queue: DeployedQueue, mapping: dict[str, Any], filters: list[dict[str, str]]) -> None:
    queue.client("lambda").update_event_source_mapping(
        UUID=mapping["UUID"], FilterCriteria={"Filters": filters}
    )


@contextmanager
def rule(queue: DeployedQueue) -> Iterator[QueueReader]:
    """The queue's events, which a rule of the default bus sends to an SQS queue while the block runs."""
    events = queue.client("events")
    name = fresh("ends")
    pattern = {"source": ["freshq"], "detail": {"queue": [queue.table]}}
    with queue_of(queue, name, "events") as (url, arn):
        events.put_rule(Name=name, EventPattern=json.dumps(pattern))
        events.put_targets(Rule=name, Targets=[{"Id": "1", "Arn": arn}])
        try:
            yield QueueReader(queue.client("sqs"), url)
        finally:
            events.remove_targets(Rule=name, Ids=["1"])
            events.delete_rule(Name=name)


def test_each_ended_task_publishes_an_event(queue: DeployedQueue, events: QueueReader) -> None:
    response = queue.create(
        [
            {"payload": {"secret": "of the producer"}},
            {"payload": {"simulate": {"outcome": "retry", "attempts": 1}}},
            {"payload": {"simulate": {"outcome": "fail"}}},
        ]
    )
    done, retried, failed = [task["taskId"] for task in response["created"]]
    wait_for(queue, [done, retried])
    wait_for(queue, [failed], "FAILURE")

    ended = {task: one_event(events, task) for task in (done, retried, failed)}
    for task, event in ended.items():
        detail, item = event["detail"], queue.item(task) or {}
        assert detail["endedAt"] == int(item["taskUpdated"]["N"]), event
        assert detail["taskCreated"] == int(item["taskCreated"]["N"]), event
        assert "payload" not in detail and "producer" not in json.dumps(event), event
    kinds = {task: (event["detail-type"], event["detail"]["taskStatus"]) for task, event in ended.items()}
    assert kinds == {
        done: ("Task Succeeded", "SUCCESS"),
        retried: ("Task Succeeded", "SUCCESS"),
        failed: ("Task Failed", "FAILURE"),
    }
    attempts = {task: event["detail"]["attempts"] for task, event in ended.items()}
    assert attempts == {done: 1, retried: 2, failed: 1}
    assert ended[done]["detail"]["lastError"] is None
    assert ended[failed]["detail"]["lastError"]


def one_event(events: QueueReader, task: str) -> dict[str, Any]:
    """The task's event. There is exactly one, because no write was repeated."""
    of_task = events.wait_for(
        lambda message: message.json()["detail"]["taskId"] == task, 30, f"the event of {task}"
    )
    (message,) = of_task
    return dict(message.json())
