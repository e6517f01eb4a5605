"""Keys on the deployed template: the latest state wins, and only one state of a key runs at a time."""

from __future__ import annotations

import json
import threading
import time
import uuid
from dataclasses import dataclass, field
from email.message import Message
from typing import Any

from expectations import number, runs_on, wait_for

from local.http_endpoint import http_endpoint
from local.queue import DeployedQueue
from local.waiting import wait_until

RUN_SECONDS = 1.0
#: Maximum duration of a run. It is less than the task timeout.
_LONGEST_RUN_SECONDS = 20


@dataclass
class Downstream:
    """Records the calls, their idempotency keys, and the maximum number of concurrent calls for one key."""

    calls: list[dict[str, Any]] = field(default_factory=list)
    idempotency: list[str] = field(default_factory=list)
    most_at_once: int = 0
    #: Calls get no response until this event is set.
    may_respond: threading.Event = field(default_factory=threading.Event)
    _running: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def respond(self, body: bytes, headers: Message) -> tuple[int, dict[str, str]]:
        task = json.loads(body)
        key = task["taskId"]
        with self._lock:
            self.calls.append(task)
            self.idempotency.append(headers["Idempotency-Key"])
            self._running[key] = self._running.get(key, 0) + 1
            self.most_at_once = max(self.most_at_once, self._running[key])
        self.may_respond.wait(_LONGEST_RUN_SECONDS)
        time.sleep(RUN_SECONDS)
        with self._lock:
            self._running[key] -= 1
        return 200, {}

    def states(self, key: str) -> list[int]:
        """The states of a key that ran, in run order."""
        with self._lock:
            return [task["payload"]["n"] for task in self.calls if task["taskId"] == key]


def state(key: str, n: int) -> dict[str, Any]:
    return {"key": key, "sequence": n, "payload": {"n": n}}


def test_the_latest_state_wins_and_wakes_the_queue(queue: DeployedQueue) -> None:
    queue.wait_until_idle()
    downstream = Downstream()
    key = f"device-{uuid.uuid4()}"
    with http_endpoint(downstream.respond) as url:
        runs_on(queue, url)
        assert len(queue.create([state(key, 1)])["created"]) == 1
        wait_until(lambda: downstream.states(key) == [1], 30, "the first state's run")
        # These states are written during the run. After the run, only the latest of them runs.
        for n in (2, 5, 3, 4):
            queue.create([state(key, n)])
        downstream.may_respond.set()
        wait_for(queue, [key])
        assert downstream.states(key) == [1, 5]
        assert downstream.most_at_once == 1
        item = queue.item(key)
        assert item is not None and number(item, "superseded") == 1

        # Older and equal states have no effect, even after SUCCESS.
        response = queue.create([state(key, 4), state(key, 5)])
        assert [task["index"] for task in response["outdated"]] == [0]
        assert [task["index"] for task in response["duplicates"]] == [1]

        # A newer state wakes an idle queue. Sweeps don't run in this test.
        queue.wait_until_idle()
        queue.create([state(key, 6)])
        wait_until(lambda: downstream.states(key)[-1:] == [6], 30, "the newest state's run")
        wait_for(queue, [key])
        queue.wait_until_idle()
    assert downstream.states(key) == [1, 5, 6]
    assert len(set(downstream.idempotency)) == 3, "each state has its own idempotency key"
    versions = [task["version"] for task in downstream.calls]
    assert versions == sorted(versions)


def test_tasks_with_and_without_a_key_cannot_share_an_id(queue: DeployedQueue) -> None:
    plain, key = f"plain-{uuid.uuid4()}", f"key-{uuid.uuid4()}"
    queue.create([{"taskId": plain}, {"key": key}])
    failed = queue.create([{"key": plain}, {"taskId": key}, {"key": key, "sequence": 1}])["failed"]
    errors = {failure["index"]: failure["error"] for failure in failed}
    assert "task without a key" in errors[0]
    assert "is a key" in errors[1]
    assert "give every task of the key a sequence, or none" in errors[2]
    assert not any(failure["retryable"] for failure in failed)
    wait_for(queue, [plain, key])
