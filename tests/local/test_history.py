"""`changes()` returns every change in the table's stream that was committed before the call."""

from __future__ import annotations

import json
import threading
from typing import Any, cast

import pytest

from local.history import History
from local.queue import DeployedQueue


class Stream:
    """A queue and its clients, with a single-shard stream. Each read waits for `reads`."""

    table = "tasks"

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        self.reads = threading.Semaphore(0)
        self.reading = threading.Event()
        self.failure: Exception | None = None

    def client(self, _service: str) -> Stream:
        return self

    def describe_table(self, **_: str) -> dict[str, Any]:
        return {"Table": {"LatestStreamArn": "arn"}}

    def describe_stream(self, **_: str) -> dict[str, Any]:
        return {"StreamDescription": {"Shards": [{"ShardId": "only"}]}}

    def get_shard_iterator(self, **_: str) -> dict[str, Any]:
        return {"ShardIterator": 0}

    def get_records(self, *, ShardIterator: int, Limit: int) -> dict[str, Any]:
        records: list[dict[str, Any]] = []
        size = 0
        for record in self.records[ShardIterator : ShardIterator + Limit]:
            size += len(json.dumps(record))
            if records and size > 1024 * 1024:
                break
            records.append(record)
        self.reading.set()
        assert self.reads.acquire(timeout=10)
        if self.failure is not None:
            raise self.failure
        return {"Records": records, "NextShardIterator": ShardIterator + len(records)}

    def insert(self, task_id: str, payload: str = "") -> None:
        image = {"taskStatus": {"S": "PENDING"}, "payload": {"S": payload}}
        self.records.append({"dynamodb": {"Keys": {"taskId": {"S": task_id}}, "NewImage": image}})


def opened(stream: Stream) -> History:
    return History(cast("DeployedQueue", stream))


def test_a_change_committed_during_a_read_is_returned() -> None:
    stream = Stream()
    with opened(stream) as history:
        assert stream.reading.wait(10)
        stream.insert("during-the-first-read")
        stream.reads.release(100)
        assert [change.task_id for change in history.changes()] == ["during-the-first-read"]


def test_changes_beyond_one_page_are_returned() -> None:
    stream = Stream()
    for number in range(2500):
        stream.insert(f"task-{number}")
    stream.reads.release(100)
    with opened(stream) as history:
        assert len(history.changes()) == 2500


def test_changes_beyond_a_page_of_a_megabyte_are_returned() -> None:
    stream = Stream()
    for number in range(5):
        stream.insert(f"task-{number}", payload="x" * 400_000)
    stream.reads.release(100)
    with opened(stream) as history:
        assert len(history.changes()) == 5


def test_failed_read_fails_the_call() -> None:
    stream = Stream()
    stream.failure = ConnectionError("the stream is gone")
    stream.reads.release()
    with opened(stream) as history, pytest.raises(ConnectionError, match="the stream is gone"):
        history.changes()


def test_changes_remain_after_the_end() -> None:
    stream = Stream()
    stream.insert("one")
    stream.reads.release(100)
    with opened(stream) as history:
        history.changes()
    assert [change.task_id for change in history.changes()] == ["one"]
