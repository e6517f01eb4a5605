"""Tasks created through create-tasks reach SUCCESS."""

from __future__ import annotations

import time
import uuid

from expectations import number, takes, wait_for

from local.history import History
from local.queue import DeployedQueue
from local.waiting import now_ms


def test_tasks_reach_success_and_have_all_attributes(
    queue: DeployedQueue, history: History
) -> None:
    began = now_ms()
    payload = {"text": "ünïcode", "nested": [1, 2.5, {"deep": None}], "flag": True}
    response = queue.create([{"payload": payload}, {"payload": {"second": 2}}])
    assert response["failed"] == [] and response["duplicates"] == []
    assert [created["index"] for created in response["created"]] == [0, 1]
    ids = [created["taskId"] for created in response["created"]]
    assert [uuid.UUID(task_id).version for task_id in ids] == [7, 7]
    wait_for(queue, ids)

    item = queue.item(ids[0])
    assert item is not None
    assert began <= number(item, "taskCreated") <= number(item, "taskUpdated") <= now_ms()
    assert number(item, "attempts") == number(item, "totalAttempts") == 1
    assert time.time() < number(item, "ttl") < time.time() + 40 * 86_400, "ttl is in epoch seconds"
    assert item["leaseToken"]["S"], "the token is kept, so that a repeated write is recognised"
    assert takes(history, ids) == dict.fromkeys(ids, 1)


def test_simulated_load_creates_ordinary_tasks(queue: DeployedQueue) -> None:
    response = queue.invoke("create-tasks", {"simulate": {"count": 5}})
    ids = [created["taskId"] for created in response["created"]]
    assert len(set(ids)) == 5 and response["failed"] == []
    wait_for(queue, ids)
